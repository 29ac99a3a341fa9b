"""``deniable survey list``: the published surveys and their states."""

import time

import click

from deniable.cli.options import json_option
from deniable.cli.reading import Place, reading_options
from deniable.cli.screen import show_rows
from deniable.directory.survey_list import surveys_document


@click.command("list", short_help="List the published surveys.")
@reading_options
@json_option
def list_surveys(place: Place, *, as_json: bool) -> None:
    """List the published surveys and their states, the newest of each name first."""
    with place.source() as source:
        document = surveys_document(source, time.time())
    show_rows(document, as_json=as_json)
