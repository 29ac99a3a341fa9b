"""The published surveys, as commands that write to the store name them."""

import click

from deniable.directory import Config, signed_surveys
from deniable.messages import Manifest
from deniable.reading import find_version
from deniable.stores import Store


def warn_of_unsigned(others: int) -> None:
    """Tell how many stored surveys are another authority's."""
    if others:
        surveys = "stored survey is" if others == 1 else "stored surveys are"
        click.echo(f"{others} {surveys} not signed by this collector's authority", err=True)


async def published(store: Store, config: Config) -> list[Manifest]:
    """Return the surveys that this collector's authority signed, by name, the newest first."""
    manifests, others = await signed_surveys(store, config)
    warn_of_unsigned(others)
    return manifests


async def find_survey(
    store: Store, config: Config, name: str, survey_id: str | None = None
) -> Manifest:
    """Return the newest survey of a name, or the one whose id begins as given.

    Raises:
        ReadingError: if there is none, or more than one.
    """
    surveys = await published(store, config)
    return find_version(name, [survey for survey in surveys if survey.name == name], survey_id)
