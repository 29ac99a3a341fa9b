"""Environment variables of the name ``DENIABLE_…``: which are no settings, and what was meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from deniable.server import SETTINGS

__all__ = ["KNOWN", "meant", "unknown"]

_PREFIX: Final = "DENIABLE_"
_OTHERS: Final = frozenset({"DENIABLE_DIR", "DENIABLE_CONSENT", "DENIABLE_DEBUG"})
_LIKENESS: Final = 0.7
"""Of PROT and PORT. What Kubernetes sets, such as PORT_8377_TCP, is less like any."""

KNOWN: Final = frozenset(
    variable for each in SETTINGS for variable in (each.variable, f"{each.variable}_FILE")
)
"""Every variable that is a setting."""


def unknown(environment: Iterable[str]) -> list[str]:
    """Return the variables that look like ours and are not, sorted."""
    ours = {name for name in environment if name.startswith(_PREFIX)}
    return sorted(ours - KNOWN - _OTHERS)


def meant(variable: str) -> str | None:
    """Return which setting's variable an unknown one may be meant for; None if it is like none."""
    names = [name.removeprefix(_PREFIX) for name in sorted(KNOWN)]
    like = get_close_matches(variable.removeprefix(_PREFIX), names, 1, _LIKENESS)
    return f"{_PREFIX}{like[0]}" if like else None
