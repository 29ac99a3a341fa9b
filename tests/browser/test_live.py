"""A survey fills while it is watched."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.served import FILLING, MARRIAGE, Served
from tests.browser.visits import expect_data, row


@pytest.mark.long
def test_reports_appear_without_anybody_asking_for_them(collector: Served, page: Page) -> None:
    page.goto(f"/surveys/{FILLING}")
    expect(page.locator("#live table")).to_have_count(0)
    page.evaluate("window.stayed = true")
    collector.report(FILLING, *[0] * 20, *[1] * 30)
    expect(row(page, category="yes")).to_be_visible()
    expect(page.locator("#live dd", has_text=re.compile("^50 devices"))).to_be_visible()
    page.get_by_text("For statisticians").click()
    page.get_by_label("raw counts").check()
    expect_data(row(page, category="yes"), raw="30")
    fold = page.locator("#live details").first
    fold.locator("summary").click()
    collector.report(FILLING, *[1] * 12)
    expect_data(row(page, category="yes"), raw="42")
    expect(fold).to_have_attribute("open", "")
    expect(page.get_by_label("raw counts")).to_be_checked()
    assert page.evaluate("window.stayed")


@pytest.mark.long
def test_a_choice_is_not_lost_to_an_answer_that_was_under_way(page: Page) -> None:
    held: list[Route] = []
    path = re.compile(f"/surveys/{MARRIAGE}")
    page.clock.install()
    page.goto(f"/surveys/{MARRIAGE}")
    page.get_by_text("For statisticians").click()
    page.route(path, lambda route: held.append(route))
    with page.expect_request(path):
        page.clock.fast_forward(4_000)
    page.get_by_label("raw counts").check()
    with page.expect_response(path):
        held.pop(0).continue_()
    page.unroute(path)
    for route in held:
        route.continue_()
    expect(page.locator("#live th", has_text="raw")).to_be_visible()
    page.get_by_label("projected").check()
    expect(page.locator("#live thead")).to_contain_text("projected")
