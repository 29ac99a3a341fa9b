"""Each page as people see it: by day and at night, on a screen, on a phone, by a screen reader."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from deniable.server.pages import page_table
from tests.browser.served import EPOCH, LENGTHS, MARRIAGE, SURVEYS, USAGE, Served
from tests.browser.visits import log_in
from tests.browser.watched import Watched
from tests.support.processes import ROOT

PAGES: Final = (
    "/",
    "/login",
    "/share",
    f"/surveys/{MARRIAGE}/share",
    *(f"/surveys/{name}" for name in SURVEYS),
    f"/surveys/{MARRIAGE}?epoch=0-{EPOCH - 1}&raw=1&group=good&group=very+good&view=projected",
    *(
        f"/{page.address(MARRIAGE)}"
        + (f"?epoch={EPOCH - 1}&against={EPOCH - 3}" if "against" in page.takes else "")
        for page in page_table.PAGES
        if page.tab
    ),
)
DESKTOP: Final[ViewportSize] = {"width": 1000, "height": 800}
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
SIDEWAYS: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BRIGHTNESS: Final = """() => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g);
    return (Number(red) + Number(green) + Number(blue)) / 3;
}"""
"""Of the background, from 0 to 255."""


@pytest.fixture(scope="module")
def analyst(collector: Served, browser: Browser) -> Iterator[Watched]:
    """Return the page of somebody who has logged in."""
    with browser.new_context(base_url=collector.origin) as context:
        made = Watched(context.new_page(), collector.origin)
        log_in(made.page, collector.token)
        yield made


@pytest.mark.long
@pytest.mark.parametrize("address", PAGES)
def test_everybody_can_read_it(analyst: Watched, address: str) -> None:
    page = analyst.page
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    page.goto(address, wait_until="networkidle")  # the list's lines are there, too
    assert analyst.barriers() == []
    assert page.evaluate(BRIGHTNESS) > 128
    page.emulate_media(color_scheme="dark")
    assert analyst.barriers("color-contrast") == []
    assert page.evaluate(BRIGHTNESS) < 128
    page.set_viewport_size(PHONE)
    assert page.evaluate(SIDEWAYS) == 0
    assert analyst.barriers("target-size") == []
    assert analyst.problems == []


@pytest.mark.long
def test_figures_come_first_on_a_phone_and_a_question_lacks_its_answers(analyst: Watched) -> None:
    page = analyst.page
    options = page.locator("#options")
    sentence = page.locator("#live .sentence").first
    page.set_viewport_size({"width": 390, "height": 844})
    for address in (MARRIAGE, f"{MARRIAGE}/compare", USAGE, f"{USAGE}/ask", LENGTHS):
        page.goto(f"/surveys/{address}")
        expect(options).not_to_have_attribute("open", "")
        assert (sentence.bounding_box() or {"y": 999})["y"] < 300, address
    # Three steps lead to the share of a range: the tab, and both ends.
    for step in (
        lambda: page.get_by_role("link", name="Ask").click(),
        lambda: page.locator("[name=answer]").select_option("8"),
        lambda: page.locator("[name=last]").select_option("20"),
    ):
        step()
    expect(sentence).to_contain_text('answered "8 – 20" (')
    page.goto(f"/surveys/{MARRIAGE}/ask?ask=ahead")
    expect(options).to_have_attribute("open", "")


@pytest.mark.long
def test_a_question_of_one_long_word_pushes_no_list_sideways(analyst: Watched) -> None:
    page = analyst.page
    page.set_viewport_size(PHONE)
    page.goto("/")
    page.evaluate("document.querySelector('.surveys a').textContent = 'A'.repeat(150)")
    assert page.evaluate(SIDEWAYS) == 0


@pytest.mark.long
def test_the_readme_s_picture(watched: Watched, tmp_path: Path) -> None:
    """It goes into the documents only where TESTS_PICTURES is 1."""
    kept = os.environ.get("TESTS_PICTURES") == "1"
    page = watched.page
    page.set_viewport_size({"width": 1000, "height": 850})
    page.goto(f"/surveys/{MARRIAGE}?epoch={EPOCH - 1}")
    file = (ROOT / "docs" if kept else tmp_path) / "page.png"
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000
