"""Documents on a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable.documents.caution import Caution, Level

if TYPE_CHECKING:  # rich takes longer to import than most commands take
    from rich.console import Console


def print_alerts(cautions: Iterable[Caution], screen: "Console") -> None:
    """Print, above a result, why it is not to be used, if so."""
    for caution in cautions:
        if caution.level is Level.ALERT:
            screen.print(f"{caution}\n", style="bold red")


def print_notes(cautions: Iterable[Caution], screen: "Console", *others: str) -> None:
    """Print, below a result, what else is to be known of it; and other notes."""
    lines = [str(caution) for caution in cautions if caution.level is not Level.ALERT]
    screen.print("\n".join([*others, *lines]), style="dim")
