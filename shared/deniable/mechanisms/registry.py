"""The kinds of mechanism that there are."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from deniable.mechanisms.kind import Kind

_MODULES: Final = {
    "randomised-response": "deniable.mechanisms.randomised_response",
    "two-round": "deniable.mechanisms.two_round",
    "ordinal": "deniable.mechanisms.ordinal",
    "numeric": "deniable.mechanisms.numeric",
    "matrix": "deniable.mechanisms.matrix",
    "subset": "deniable.mechanisms.subset",
    "affine": "deniable.mechanisms.affine",
    "difference-set": "deniable.mechanisms.difference_set",
    "one-question": "deniable.mechanisms.one_question",
    "joint": "deniable.mechanisms.joint",
    "levels": "deniable.mechanisms.levels",
}
"""By the name on the wire, the module whose ``KIND`` it is.

What freezes apps finds these modules by the imports under ``if TYPE_CHECKING`` of the package.
"""


class _Kinds(Mapping[str, Kind]):
    # A device never needs most kinds, and starts with the app that embeds it: a module is imported
    # when its kind is first asked for.
    def __getitem__(self, name: str) -> Kind:
        kind: Kind = import_module(_MODULES[name]).KIND
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


KINDS: Final[Mapping[str, Kind]] = _Kinds()
"""Every kind of mechanism by its name; its module is imported when it is first looked up."""
