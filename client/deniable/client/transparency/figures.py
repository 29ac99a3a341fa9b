"""What is told as text is told as JSON too: the fields of a thing, by their names."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from math import inf, nextafter
from typing import Any, ClassVar

__all__ = ["Figures"]


@dataclass(frozen=True, slots=True)
class Figures:
    """A thing whose fields are its form for JSON."""

    _kind: ClassVar[str] = ""
    """Told first, of things of several kinds in one list."""
    _costs: ClassVar[tuple[str, ...]] = ()
    """The fields in units of 1e-9 epsilon, as their keys say."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: bytes in hex, costs in units of 1e-9 epsilon."""
        told = {
            f"{each.name}_nano_epsilon" if each.name in self._costs else each.name: _plain(
                getattr(self, each.name)
            )
            for each in fields(self)
        }
        return {"kind": self._kind, **told} if self._kind else told


def _plain(value: Any) -> Any:
    if isinstance(value, Figures):
        return value.to_dict()
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Fraction):  # bounds of what a response tells: rounded up
        return near if (near := float(value)) >= value else nextafter(near, inf)
    return value.value if isinstance(value, Enum) else value
