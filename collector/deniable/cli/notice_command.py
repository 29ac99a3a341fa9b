"""``deniable survey notice``: what a survey collects, in plain words, for whoever is asked."""

import click

from deniable.cli.options import program_option, survey_option
from deniable.cli.reading import Place, reading_options
from deniable.documents import Column, Document, Table
from deniable.documents.html import documents_page
from deniable.publishing.notice import Notice
from deniable.reading import find_version


@click.command()
@click.argument("name")
@survey_option
@reading_options
@click.option(
    "--relayed",
    is_flag=True,
    help="Describe an app that reports through a relay.  [default: as relayed_from in --dir says]",
)
@program_option("--html", "as_html", "Print a page that stands alone, not Markdown.")
def notice(name: str, survey_id: str | None, place: Place, *, relayed: bool, as_html: bool) -> None:
    """Print the notice of NAME: what it collects, who sees it, and how to stop, in plain words."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
    relayed = relayed or place.relays(manifest)
    made = Notice.of(manifest, relayed=relayed)
    if not as_html:
        click.echo(made.markdown(), nl=False)
        return
    sections = [("", made.summary), *made.sections]
    parts = [Document(heading=heading, notes=said) for heading, said in sections]
    learnt = made.coalitions
    columns = [*map(Column, ("what", "who"), learnt.heads)]
    rows = [{"what": what, "who": who} for what, who in learnt.rows]
    notes = [learnt.condition] * bool(learnt.condition)
    parts.append(Document(heading=learnt.title, tables=[Table(columns, rows)], notes=notes))
    click.echo(documents_page(parts, made.title), nl=False)
