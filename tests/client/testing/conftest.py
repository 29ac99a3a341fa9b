"""What the tests of ``deniable.client.testing`` share."""

from collections.abc import Iterator

import pytest

from deniable.client.testing import FakeCollector


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with FakeCollector() as collector:
        yield collector
