"""The published surveys, as commands name them."""

import click

from deniable.messages import Manifest
from deniable.publishing.collector_directory import signed_surveys
from deniable.server import Config
from deniable.stores import Store


async def published(store: Store, config: Config) -> list[Manifest]:
    """Return the surveys that this collector's authority signed, by name, the newest first."""
    manifests, others = await signed_surveys(store, config)
    if others:
        surveys = "stored survey is" if others == 1 else "stored surveys are"
        click.echo(f"{others} {surveys} not signed by this collector's authority", err=True)
    return manifests


async def find_survey(
    store: Store, config: Config, name: str, survey_id: str | None = None
) -> Manifest:
    """Return the newest survey of a name, or the newest whose id begins as given.

    Raises:
        click.ClickException: if there is none.
    """
    for manifest in await published(store, config):
        if manifest.name == name and manifest.survey_id.hex().startswith(survey_id or ""):
            return manifest
    which = f"{name!r}" if survey_id is None else f"{name!r} with this id"
    raise click.ClickException(f"no survey {which} is published; see: deniable survey list")
