"""Who sees what: strangers, whoever has a token, and other sites' pages."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.served import MARRIAGE, MINUTES, Served
from tests.browser.visits import log_in
from tests.browser.watched import Watched

FOREIGN = "http://elsewhere.test/"


def at(page: Page, what: str) -> None:
    expect(page.locator(f"main[data-page={what}]")).to_be_visible()


@pytest.mark.long
def test_a_stranger_sees_public_figures_and_no_others(watched: Watched) -> None:
    page = watched.page
    page.goto("/")
    page.locator(f"a[href$='surveys/{MARRIAGE}']").click()
    at(page, "survey")
    expect(page.locator("#live tr[data-category]")).to_have_count(5)
    page.goto("/")
    watched.refusals = {401}
    page.locator(f"a[href$='surveys/{MINUTES}']").click()
    at(page, "login")
    expect(page.locator("#live table")).to_have_count(0)


@pytest.mark.long
def test_a_token_leads_on_to_what_was_asked_for_until_its_holder_leaves(
    collector: Served, watched: Watched
) -> None:
    page, private = watched.page, f"{collector.origin}/surveys/{MINUTES}?epoch=3"
    watched.refusals = {401}
    page.goto(private)
    page.get_by_label("Token").fill("deniable_" + "0" * 64)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    at(page, "login")
    page.get_by_label("Token").fill(collector.token)
    page.get_by_label("Token").press("Enter")
    at(page, "survey")
    expect(page).to_have_url(private)
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert page.evaluate("document.cookie") == ""
    page.reload()
    at(page, "survey")
    page.get_by_role("button", name="Log out").click()
    at(page, "list")
    assert page.context.cookies() == []
    page.goto(private)
    at(page, "login")


@pytest.mark.long
@pytest.mark.parametrize("path", ["login", "logout"])
def test_another_site_can_send_no_form(collector: Served, browser: Browser, path: str) -> None:
    with browser.new_context(base_url=collector.origin) as context:
        page = context.new_page()
        log_in(page, collector.token)
        form = (
            f"<form method=post action={collector.origin}/{path}>"
            f"<input name=token value={collector.token}><button>Win</button></form>"
        )
        page.route(FOREIGN, lambda route: route.fulfill(body=form, content_type="text/html"))
        page.goto(FOREIGN)
        with page.expect_navigation() as gone:
            page.get_by_role("button").click()
        assert gone.value is not None
        assert gone.value.status == 403
        assert "set-cookie" not in gone.value.headers
        page.goto(f"/surveys/{MINUTES}")
        at(page, "survey")
