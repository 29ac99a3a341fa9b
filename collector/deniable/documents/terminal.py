"""Documents on a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from deniable.documents.caution import Caution, Level

if TYPE_CHECKING:  # rich takes longer to import than most commands take
    from rich.console import Console

MARKS: Final = {Level.ALERT: "!! ", Level.WARNING: "! ", Level.NOTE: ""}
"""What stands before a caution's sentence, in plain text."""


def caution_lines(cautions: Iterable[Caution]) -> list[str]:
    """Return a line a caution."""
    return [f"{MARKS[caution.level]}{caution.text}" for caution in cautions]


def print_alerts(cautions: Iterable[Caution], screen: "Console") -> None:
    """Print, above a result, why it is not to be used, if so."""
    for line in caution_lines(one for one in cautions if one.level is Level.ALERT):
        screen.print(f"{line}\n", style="bold red")


def print_notes(cautions: Iterable[Caution], screen: "Console", *others: str) -> None:
    """Print, below a result, what else is to be known of it; and other notes."""
    lines = caution_lines(one for one in cautions if one.level is not Level.ALERT)
    screen.print("\n".join([*others, *lines]), style="dim")
