"""One collector for all of these tests, a browser a module, and a page a test that is watched."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.served import SURVEYS, Served, served
from tests.browser.watched import Watched, chromium, running


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    chromium()  # without which there is nobody to serve
    with served(tmp_path_factory.mktemp("served"), *SURVEYS) as made:
        yield made


# Not for the whole session: while it is there, this thread can run no event loop of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as made:
        yield made


@pytest.fixture
def watched(collector: Served, browser: Browser) -> Iterator[Watched]:
    """Return a new visitor's page at the collector; fail if anything has gone wrong in it."""
    with browser.new_context(base_url=collector.origin) as context:
        made = Watched(context.new_page(), collector.origin)
        yield made
        assert made.problems == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page
