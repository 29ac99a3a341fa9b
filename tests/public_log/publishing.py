"""A collector that publishes with the real files, store and witnesses."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from deniable.directory import Config, create_collector, default_key_file, signed_surveys
from deniable.key_files import read_key_file
from deniable.logs import SignedCheckpoint, VerifierKey, log_origin
from deniable.messages import Manifest
from deniable.public_log.publish.public_log import PublicLog
from deniable.public_log.publish.publisher import (
    log_key_file,
    read_record,
    record_file,
    verifier_key,
)
from deniable.publishing.publish import publish
from deniable.publishing.survey_file import EXAMPLE, SurveyFile
from deniable.stores import Store, open_store
from tests.support.witnesses import RunningWitness


@dataclass
class Site:
    """A collector's directory, its keys beside it, and the witnesses that it asks."""

    directory: Path
    witnesses: list[RunningWitness] = field(default_factory=list)

    @property
    def config(self) -> Config:
        given = tuple(running.witness for running in self.witnesses)
        return replace(Config.load(self.directory, {}), witnesses=given)

    @property
    def key_file(self) -> Path:
        return default_key_file(self.directory)

    @property
    def record(self) -> Path:
        return record_file(log_key_file(self.key_file), log_origin(self.config.origin))

    @property
    def verifier_key(self) -> VerifierKey:
        key = read_key_file(log_key_file(self.key_file))
        return verifier_key(log_origin(self.config.origin), key)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        store = await open_store(self.config.store, create=True)
        try:
            yield store
        finally:
            await store.close()

    async def publish(self, name: str, store: Store | None = None) -> Manifest:
        """Publish a survey of this name, by a store that is open or by one of its own."""
        if store is None:
            async with self.store() as opened:
                return await self.publish(name, opened)
        file = self.directory / "survey.toml"
        file.write_text(EXAMPLE.replace('name = "rating-of-marriage"', f'name = "{name}"'), "utf-8")
        surveys, _ = await signed_surveys(store, self.config)
        written = SurveyFile.load(file)
        assert written.name == name
        return await publish(store, self.config, written, surveys, self.key_file)

    async def log(self) -> PublicLog:
        async with self.store() as store:
            return PublicLog(await store.log())

    async def newest(self) -> SignedCheckpoint:
        """Return the newest checkpoint of the log, which has one."""
        newest = (await self.log()).newest
        assert newest is not None
        return newest

    def recorded(self) -> SignedCheckpoint:
        """Return what the record beside the key holds."""
        record = read_record(log_key_file(self.key_file), self.verifier_key.name)
        assert record is not None
        return record

    async def names(self) -> set[str]:
        """Return the names of the surveys that are offered."""
        async with self.store() as store:
            return {survey.name for survey in (await signed_surveys(store, self.config))[0]}

    def move_to_port(self, port: int) -> None:
        """Give the collector another port, and so its log another name."""
        settings = self.directory / "collector.toml"
        settings.write_text(settings.read_text("utf-8").replace(":8377", f":{port}"), "utf-8")

    def copied(self, place: Path) -> "Site":
        """Return a copy of everything, such as a backup or another machine has."""
        place.mkdir()
        shutil.copytree(self.directory, place / self.directory.name)
        for file in self.directory.parent.glob(f"{self.directory.name}-*"):
            shutil.copy(file, place / file.name)
        return Site(place / self.directory.name, self.witnesses)

    def put_back(self, older: "Site") -> None:
        """Put the store of a copy in the place of this one's, as from a backup."""
        for file in self.directory.glob("store.sqlite*"):
            file.unlink()
        for file in older.directory.glob("store.sqlite*"):
            shutil.copy(file, self.directory / file.name)


def made_site(place: Path) -> Site:
    place.mkdir(exist_ok=True)
    directory = place / "collector"
    key_file = default_key_file(directory)
    create_collector(directory, "http://127.0.0.1:8377", 8377, key_file, EXAMPLE)
    return Site(directory)


@pytest.fixture
async def site(tmp_path: Path) -> Site:
    import asyncio

    return await asyncio.to_thread(made_site, tmp_path)
