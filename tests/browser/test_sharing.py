"""A link to one survey's figures: made on a page, opened by whoever has it."""

import re
from functools import partial

import pytest
from playwright.sync_api import Browser, Request, expect

from tests.browser.served import MINUTES, USAGE, Served
from tests.browser.visits import log_in
from tests.browser.watched import Watched


@pytest.mark.long
def test_a_link_is_made_and_revoked(collector: Served, watched: Watched, browser: Browser) -> None:
    page = watched.page
    log_in(page, collector.token)
    page.goto(f"/surveys/{MINUTES}")
    page.locator("[name=level]").select_option("0.99")
    share = page.get_by_role("link", name="Share this view")
    expect(share).to_have_attribute("href", re.compile("level%3D0.99"))  # without a reload
    share.click()
    page.get_by_label("For whom").fill("the board")
    page.get_by_role("button", name="Create a link").click()
    field = page.get_by_label("The link, shown only once")
    view = f"surveys%2F{MINUTES}%3Flevel%3D0.99"
    address = re.compile(
        re.escape(f"{collector.origin}/share?next={view}#deniable_") + "[0-9a-f]{64}"
    )
    expect(field).to_have_value(address)
    link = field.input_value()
    assert watched.barriers() == []
    for scripts in (True, False):
        with browser.new_context(base_url=collector.origin, java_script_enabled=scripts) as other:
            reader, sent = other.new_page(), list[Request]()
            other.on("request", partial(list.append, sent))
            reader.goto(link)
            if not scripts:
                reader.get_by_label("Link").fill(link)
                reader.get_by_role("button", name="Open").click()
            expect(reader.locator("main[data-page=survey]")).to_be_visible()
            expect(reader).to_have_url(f"{collector.origin}/surveys/{MINUTES}?level=0.99")
            expect(reader.locator("#live table").first).to_be_visible()
            secret = link.partition("#")[2]
            assert all(secret not in request.url.partition("#")[0] for request in sent)
            assert all(secret not in request.headers.get("referer", "") for request in sent)
            reader.go_back()
            assert (secret in reader.url) is not scripts
            answer = reader.goto(f"/surveys/{USAGE}")
            assert answer is not None
            assert answer.status == 401
            if scripts:
                page.get_by_role("button", name="Revoke").click()
                expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
                answer = reader.goto(f"/surveys/{MINUTES}")
                assert answer is not None
                assert answer.status == 401
                page.get_by_role("button", name="Create a link").click()
                link = field.input_value()
