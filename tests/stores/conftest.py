"""Fixtures of the store's contract: every test runs against every database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deniable.stores import Store
from tests.stores.places import PLACES, Place, publish
from tests.support.effort import THOROUGH


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
