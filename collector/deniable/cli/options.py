"""Options that several commands share."""

from pathlib import Path

import click

__all__ = ["confirm", "directory_option", "yes_option"]

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    envvar="DENIABLE_DIR",
    show_default="$DENIABLE_DIR, else the current one",
    help="The collector's directory.",
)

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(yes: bool, question: str) -> None:
    """Ask before what is final, unless told not to.

    Raises:
        click.Abort: if the answer is no, or there is none.
    """
    if not yes:
        click.confirm(question, abort=True, err=True)
