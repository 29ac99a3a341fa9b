"""Options that several commands share."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deniable.cli.quantities import level
from deniable.reading import EPOCHS

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    envvar="DENIABLE_DIR",
    show_default="$DENIABLE_DIR, else the current one",
    help="The collector's directory.",
)
level_option = click.option(
    "--level",
    type=level,
    default="95%",
    show_default=True,
    help="Confidence level of each interval, such as 95% or 0.95.",
)
survey_option = click.option("--survey", "survey_id", help="How its id begins.  [default: newest]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
a_file = click.Path(dir_okay=False, path_type=Path)


def confirm(yes: bool, question: str) -> None:
    """Ask before what is final, unless told not to; anything but yes aborts."""
    if not yes:
        click.confirm(question, abort=True, err=True)


def checked_epoch(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Refuse an epoch that no survey has; those of this survey are known when it is read."""
    if text is not None and re.fullmatch(EPOCHS, text, re.ASCII) is None:
        raise click.BadParameter("must be an epoch such as 3, or a range such as 0-5")
    return text


def epoch_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option of an epoch or a range, which says what holds by default."""
    explained = f"Which, such as 3; or 0-5, together.  [default: {default}]"
    return click.option("--epoch", callback=checked_epoch, help=explained)
