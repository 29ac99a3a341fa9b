"""Fixtures: stores of either kind, against which the contract runs, and their places."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deniable.stores import PostgresStore, Store
from tests.stores.places import PLACES, Place, publish
from tests.support.effort import THOROUGH
from tests.support.postgres import PostgresServer, postgres_server


@pytest.fixture(params=sorted(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return PLACES[request.param](tmp_path)


@pytest.fixture(params=["the other kind", "its kind"] if THOROUGH else ["the other kind"])
def other_place(request: pytest.FixtureRequest, place: Place, tmp_path: Path) -> Place:
    """Return a second place that holds nothing yet, of the other kind than the first or of its."""
    directory = tmp_path / "other"
    directory.mkdir()
    (other,) = [
        kind for kind in PLACES.values() if (kind is type(place)) is (request.param == "its kind")
    ]
    return other(directory)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    store = await place.open()
    await publish(store)
    yield store
    await store.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a SQLite store is to be."""
    return tmp_path / "store.sqlite"


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
async def url(server: PostgresServer) -> str:
    """Return the URL of a store with MANIFEST; a later test gets it emptied."""
    return await _published(server.url(await server.empty_store()))


@pytest.fixture
async def spoilt(server: PostgresServer) -> str:
    """Return the URL of such a store that no later test gets."""
    return await _published(server.url(await server.create_store()))


async def _published(url: str) -> str:
    store = await PostgresStore.open(url)
    await publish(store)
    await store.close()
    return url
