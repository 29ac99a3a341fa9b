"""Options that several commands share."""

from pathlib import Path

import click

from deniable.cli.quantities import level

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
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
a_file = click.Path(dir_okay=False, path_type=Path)


def confirm(yes: bool, question: str) -> None:
    """Ask before what is final, unless told not to; anything but yes aborts."""
    if not yes:
        click.confirm(question, abort=True, err=True)
