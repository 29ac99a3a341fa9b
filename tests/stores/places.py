"""Where stores are kept, so that one contract can be tested against every database.

A further database needs a class like :class:`SqlitePlace` and a line in :data:`PLACES`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from deniable.counterparts.signing import sign_manifest
from deniable.messages import Manifest
from deniable.stores import PostgresStore, SqliteStore, Store, Verdict
from deniable.stores.values import Receipt
from tests.support.postgres import postgres_server
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST

A, D, C, S = Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.CONFLICT, Verdict.SEALED
E, X = Verdict.ENDED, Verdict.DISTRUSTED
K = len(MANIFEST.categories)

NOW = MANIFEST.schedule.closes(0)
"""A time at which epoch 0 may be sealed; stores take what they are told for the time."""

ISSUER, OTHER_ISSUER = b"issuer".ljust(32, b"\1"), b"issuer".ljust(32, b"\2")
"""Keys of issuers; a store does not look at signatures."""


COLUMNS = {
    "surveys": {"survey", "survey_id", "name", "sequence", "minimum", "envelope", "published_at"},
    "issuers": {"issuer", "public_key", "distrusted_at"},
    "receipts": {"survey", "epoch", "key", "response", "issuer"},
    "counts": {"survey", "epoch", "issuer", "response", "reports"},
    "published_counts": {"survey", "epoch", "issuer", "response", "reports"},
    "seals": {*("survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at")},
    "ends": {"survey", "ended_at"},
    "rotations": {"rotation", "old_key", "new_key", "sequence", "envelope"},
    "notes": {"name", "at", "text"},
    "log_entries": {"position", "entry"},
    "log_checkpoints": {"role", "checkpoint"},
    "tokens": {"digest", "role", "label", "created_at", "survey", "ends_at"},
}
"""Columns of either kind of store: an address, a time or a batch would link or order devices."""


class Place(Protocol):
    """Where one collector's data are; every call opens them by another connection."""

    async def open(self) -> Store:
        """Return an open store."""


class SqlitePlace:
    """A file in a directory."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "store.sqlite"

    async def open(self) -> Store:
        return await SqliteStore.open(self.file)


class PostgresPlace:
    """A database of its own in the test run's server; made when it is first opened."""

    def __init__(self, _: Path) -> None:
        self.server = postgres_server()
        self._database: str | None = None

    @property
    def url(self) -> str:
        assert self._database is not None
        return self.server.url(self._database)

    async def open(self) -> PostgresStore:
        if self._database is None:
            self._database = await self.server.empty_store()
        return await PostgresStore.open(self.url)


PLACES: dict[str, Callable[[Path], Place]] = {"postgres": PostgresPlace, "sqlite": SqlitePlace}


async def publish(store: Store, manifest: Manifest = MANIFEST) -> bytes:
    envelope = sign_manifest(manifest, AUTHORITY)
    await store.publish(manifest, envelope)
    return envelope


async def counts(store: Store, epoch: int = 0, survey: Manifest = MANIFEST) -> list[int]:
    by_issuer = await store.counts(survey.survey_id, epoch)
    responses = range(len(survey.categories))
    return [sum(each.get(y, 0) for each in by_issuer.values()) for y in responses]


def reports(
    devices: Sequence[int],
    response: int = 0,
    *,
    epoch: int = 0,
    survey: Manifest = MANIFEST,
    issuer: bytes | None = None,
) -> list[Receipt]:
    return [
        report(device, response, epoch=epoch, survey=survey, issuer=issuer) for device in devices
    ]
