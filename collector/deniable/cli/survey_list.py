"""``deniable survey list`` and ``survey epochs``: the published surveys, and their epochs."""

import time

import click

from deniable.cli.options import Form, form_options, json_option, survey_option
from deniable.cli.reading import Place, reading_options
from deniable.cli.screen import show_rows, show_table
from deniable.directory.survey_list import surveys_document
from deniable.reading import find_version
from deniable.reading.asking import epochs_document


@click.command("list", short_help="List the published surveys.")
@reading_options
@json_option
def list_surveys(place: Place, *, as_json: bool) -> None:
    """List the published surveys and their states, the newest of each name first."""
    with place.source() as source:
        document = surveys_document(source, time.time())
    show_rows(document, as_json=as_json)


@click.command("epochs", short_help="List the epochs that have figures.")
@click.argument("name")
@reading_options
@survey_option
@form_options
def list_epochs(place: Place, name: str, survey_id: str | None, form: Form) -> None:
    """List the epochs of NAME that have figures: dates, reports, and whether they are final."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
        epochs = [epoch for epoch in source.epochs(manifest) if epoch.n]
        document = epochs_document(manifest, epochs, source.distrusted(manifest))
    show_table(document, form)
