"""Fixtures of the store's contract: every test runs against every database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from deniable.stores import Store
from tests.stores.places import PLACES, Place, publish


@pytest.fixture(params=sorted(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return a place that holds nothing yet."""
    return PLACES[request.param](tmp_path)


@pytest_asyncio.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    """Yield an open store in which MANIFEST is published."""
    store = await place.open()
    await publish(store)
    yield store
    await store.close()
