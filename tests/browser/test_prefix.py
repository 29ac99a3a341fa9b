"""The page behind the nginx of examples/operations: over TLS, at a longer path."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from deniable.server.pages.page_table import PAGES
from tests.browser.served import MARRIAGE, MINUTES, served
from tests.browser.visits import choose_epoch, log_in, row
from tests.browser.watched import Watched, running
from tests.support import nginx
from tests.support.processes import free_port


@pytest.mark.long
def test_behind_a_proxy_nothing_leads_out_of_the_longer_path(tmp_path: Path) -> None:
    port = free_port()
    origin = f"https://{nginx.HOST}:{port}"
    with (
        served(tmp_path, MARRIAGE, MINUTES, origin=origin) as collector,
        nginx.serving(tmp_path / "nginx", collector.port, port),
        running() as browser,
        browser.new_context(base_url=f"{origin}/telemetry/", ignore_https_errors=True) as context,
    ):
        watched = Watched(context.new_page(), f"{origin}/telemetry")
        page = watched.page
        page.goto("")
        page.locator(f"a[href$='surveys/{MARRIAGE}']").click()
        choose_epoch(page, 2)
        expect(page).to_have_url(re.compile(r"/telemetry/surveys/[a-z-]+\?.*epoch=20"))
        for tab in reversed([page.tab for page in PAGES if page.tab]):
            page.get_by_role("link", name=tab, exact=True).click()
            expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute(
                "aria-current", "page"
            )
        log_in(page, collector.token)
        (cookie,) = context.cookies()
        assert (cookie["secure"], cookie["path"]) == (True, "/telemetry")
        page.locator(f"a[href$='surveys/{MINUTES}']").click()
        expect(row(page, statistic="mean")).to_be_visible()
        for link in page.locator("#downloads a[download]").all():
            with page.expect_download() as download:
                link.click()
            assert download.value.failure() is None
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(f"{origin}/telemetry/")
        assert context.cookies() == []
        assert watched.problems == []
