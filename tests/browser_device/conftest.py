"""The places where the npm package runs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.watched import chromium, running
from tests.browser_device.example import Example, example
from tests.browser_device.places import Tried, tried_in_node, tried_in_page


# Made before any browser: while one is there, this thread can run no event loop of its own.
@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    chromium()
    with example(tmp_path_factory.mktemp("example")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as made:
        yield made


@pytest.fixture(scope="module", params=["node", pytest.param("chromium", marks=pytest.mark.long)])
def tried(request: pytest.FixtureRequest) -> Iterator[Tried]:
    if request.param == "node":
        yield tried_in_node
        return
    with tried_in_page(request.getfixturevalue("browser")) as in_page:
        yield in_page
