"""A command as CONTRIBUTING's recipe makes it."""

import click

from deniable.cli.sources import Place, reading_options


@click.command()
@click.argument("name")
@reading_options
def toy(name: str, place: Place) -> None:
    """Show how many answers the newest survey of NAME has."""
    from deniable.reading import find_version

    with place.source() as source:
        survey = find_version(name, source.manifests(name), None)
    click.echo(len(survey.categories))
