"""Options that several commands share."""

from pathlib import Path

import click

__all__ = ["directory_option"]

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    envvar="DENIABLE_DIR",
    show_default="$DENIABLE_DIR, else the current one",
    help="The collector's directory.",
)
