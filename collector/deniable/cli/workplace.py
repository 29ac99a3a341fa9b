"""A collector's directory, as the commands open it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import click

from deniable.messages import Manifest, Refusal, open_manifest_of_chain
from deniable.server import Config, InvalidConfig, authority_chain
from deniable.stores import CopyableStore, Store, open_store

__all__ = [
    "check_store",
    "find_survey",
    "published",
    "signed_surveys",
    "store_text",
    "with_store",
]

Result = TypeVar("Result")


def with_store(
    config: Config,
    work: Callable[[CopyableStore], Awaitable[Result]],
    *,
    create: bool = False,
    migrate: bool = False,
) -> Result:
    """Open the collector's store, do the work, and close it; the server may be running.

    Raises:
        InvalidConfig: if there is none, and it is not to be created.
        UnknownSchema: if another version of deniable wrote it; an older one's SQLite file is
            migrated only on request, or where it is created otherwise.
        StoreError: if it cannot be opened.
    """
    if not create:
        check_store(config)

    async def run() -> Result:
        store = await open_store(config.store, create=create, migrate=migrate)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def check_store(config: Config) -> None:
    """Check that the store is there: a misspelt path must not start an empty one.

    Raises:
        InvalidConfig: if it is not.
    """
    if isinstance(config.store, Path) and not config.store.exists():
        raise InvalidConfig(f"{config.store} does not exist; is `store` in collector.toml right?")


def store_text(config: Config) -> str:
    """Return which store that is: a file, or what names the database, whose URL is not shown."""
    if isinstance(config.store, Path):
        return str(config.store)
    return f"PostgreSQL, by {config.places.get('store', 'store')}"


async def signed_surveys(store: Store, config: Config) -> tuple[list[Manifest], int]:
    """Return the surveys that this collector's authority signed, and how many others there are.

    They come by name, the newest first.
    """
    manifests: list[Manifest] = []
    envelopes = await store.surveys()
    # After the surveys: whatever key signed those is known then.
    chain = await authority_chain(store, config.authority)
    for envelope in envelopes:
        with suppress(Refusal):
            manifests.append(open_manifest_of_chain(envelope, chain)[0])
    return manifests, len(envelopes) - len(manifests)


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
