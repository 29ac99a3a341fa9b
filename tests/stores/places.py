"""Where stores are kept, so that one contract can be tested against every database.

A further database needs a class like :class:`SqlitePlace` and a line in :data:`PLACES`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from deniable.messages import Manifest, sign_manifest
from deniable.messages.receipt import Receipt
from deniable.stores import SqliteStore, Store, Verdict
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST

A, D, C, S = Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.CONFLICT, Verdict.SEALED
K = len(MANIFEST.categories)


class Place(Protocol):
    """Where one collector's data are; every call opens them by another connection."""

    async def open(self, most_waiting: int = 20_000) -> Store:
        """Return an open store."""


class SqlitePlace:
    """A file in a directory."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "store.sqlite"

    async def open(self, most_waiting: int = 20_000) -> Store:
        return await SqliteStore.open(self.file, most_waiting)


PLACES: dict[str, Callable[[Path], Place]] = {"sqlite": SqlitePlace}


async def publish(store: Store, manifest: Manifest = MANIFEST) -> bytes:
    """Publish a survey; return its envelope."""
    envelope = sign_manifest(manifest, AUTHORITY)
    await store.publish(manifest, envelope)
    return envelope


async def counts(store: Store, epoch: int = 0, survey: Manifest = MANIFEST) -> list[int]:
    """Return the counts of a survey's epoch."""
    return await store.counts(survey.survey_id, epoch, len(survey.categories))


def reports(
    devices: Sequence[int], response: int = 0, *, epoch: int = 0, survey: Manifest = MANIFEST
) -> list[Receipt]:
    """Return one report of each device."""
    return [report(device, response, epoch=epoch, survey=survey) for device in devices]
