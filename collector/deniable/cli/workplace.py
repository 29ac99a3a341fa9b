"""A collector's directory, as the commands open it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from deniable.messages import Manifest, open_manifest
from deniable.server import Config
from deniable.stores import SqliteStore

__all__ = ["find_survey", "published", "with_store"]

Result = TypeVar("Result")


def with_store(config: Config, work: Callable[[SqliteStore], Awaitable[Result]]) -> Result:
    """Open the collector's store, do the work, and close it; the server may be running."""

    async def run() -> Result:
        store = await SqliteStore.open(config.store)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def published(store: SqliteStore, config: Config) -> list[Manifest]:
    """Return all published surveys, by name, the newest of each name first."""
    return [open_manifest(envelope, config.authority) for envelope in await store.surveys()]


async def find_survey(store: SqliteStore, config: Config, name: str) -> Manifest | None:
    """Return the newest survey of a name."""
    for manifest in await published(store, config):
        if manifest.name == name:
            return manifest
    return None
