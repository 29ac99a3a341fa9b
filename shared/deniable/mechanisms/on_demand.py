"""Names that a package imports when they are first asked for (PEP 562).

A device starts with the app that embeds it, and never needs most of the mathematics. A package
names the same modules under ``if TYPE_CHECKING``: what freezes apps reads those imports.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a ``__getattr__`` for a package's ``__init__``, by the module that has each name."""

    def load(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module}"), name)

    return load
