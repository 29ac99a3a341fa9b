"""What a visitor reads: the figures are those that the collector gives to a program."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from deniable.estimates import estimate_histogram
from tests.browser.served import EPOCH, FLIGHTS, MARRIAGE, MINUTES, USAGE, VOUCHED, Served
from tests.browser.visits import choose_epoch, expect_data, expect_figures, log_in, row

FIGURES = f"/surveys/{MARRIAGE}"


def told(page: Page, collector: Served, name: str = MARRIAGE, **query: object) -> dict[str, Any]:
    """Return the histogram that a program gets."""
    answer = page.request.get(
        f"/v1/surveys/{name}/histogram?{urlencode(query)}",
        headers={"Authorization": f"Bearer {collector.token}"},
    )
    assert answer.ok
    histogram: dict[str, Any] = answer.json()
    return histogram


@pytest.mark.long
def test_the_figures_are_what_a_program_gets(collector: Served, page: Page) -> None:
    log_in(page, collector.token)
    for name in (USAGE, VOUCHED):
        page.goto(f"/surveys/{name}")
        expect_figures(page, told(page, collector, name))
    page.goto(f"/surveys/{MINUTES}")
    mean = told(page, collector, MINUTES)["numeric"]["mean"]
    expect_data(row(page, statistic="mean"), low=mean["low"], high=mean["high"])


def test_each_control_changes_it_and_the_way_back_undoes_it(collector: Served, page: Page) -> None:
    page.goto(FIGURES)
    expect_figures(page, told(page, collector))
    choose_epoch(page, 2)
    expect_figures(page, told(page, collector, epoch=2))
    page.locator("[name=level]").select_option("0.99")
    expect_figures(page, told(page, collector, epoch=2, level=0.99))
    page.get_by_text("For statisticians").click()
    page.get_by_label("projected").check()
    expect(page.locator("#live thead")).to_contain_text("projected")
    page.get_by_label("raw counts").check()
    for each in told(page, collector, epoch=2)["categories"]:
        expect_data(row(page, category=each["category"]), raw=str(each["raw"]))
    address, chosen = page.url, page.locator("[name=epoch]").input_value()
    page.goto(f"{FIGURES}?epoch=1-3")
    page.locator("[name=level]").select_option("0.9")
    expect_figures(page, told(page, collector, epoch="1-3", level=0.9))
    page.goto(address)
    last = page.locator("[name=epoch] option").count() - 1  # all together
    page.locator("[name=epoch]").select_option(index=last)
    shown: dict[str, Any] = {"level": 0.99, "view": "projected"}
    expect_figures(page, told(page, collector, epoch=f"0-{EPOCH}", **shown))
    page.go_back()
    expect(page).to_have_url(address)
    expect_figures(page, told(page, collector, epoch=2, **shown))
    expect(page.locator("[name=epoch]")).to_have_value(chosen)
    page.reload()
    expect_figures(page, told(page, collector, epoch=2, **shown))


@pytest.mark.long
def test_answers_are_added_up(collector: Served, page: Page) -> None:
    page.goto(FIGURES)
    page.locator("#groups summary").click()
    page.locator("#groups").get_by_label("good", exact=True).check()
    page.locator("#groups").get_by_label("very good").check()
    raw = [each["raw"] for each in told(page, collector)["categories"]]
    histogram = estimate_histogram(collector.surveys[MARRIAGE], [EPOCH - 1], raw)
    sentence = page.locator("section[aria-labelledby=document-title] > .sentence")
    share = histogram.share(["good", "very good"])
    expect(sentence).to_have_text(share.sentence)
    expect(page.locator("#groups").get_by_label("very good")).to_be_visible()
    page.get_by_label("Is their share above").fill("2")
    page.get_by_label("Is their share above").press("Enter")
    verdict = share.above(0.02)
    expect(sentence).to_have_text(verdict.sentence)
    expect(page.locator("#live")).to_contain_text(verdict.note)


@pytest.mark.long
def test_epochs_stand_side_by_side(collector: Served, page: Page) -> None:
    page.goto(FIGURES)
    page.get_by_role("link", name="Over time").click()
    expect(page.locator("#live tr[data-epoch]")).to_have_count(5 * (EPOCH + 1))
    for epoch in range(EPOCH + 1):
        for each in told(page, collector, epoch=epoch)["categories"]:
            table = page.locator("table").filter(
                has=page.locator("caption", has_text=re.compile(f"^{each['category']}$"))
            )
            line = table.locator(f"tr[data-epoch='{epoch}']")
            assert float(line.get_attribute("data-estimate") or "nan") == pytest.approx(
                each["estimate"]
            )


@pytest.mark.long
def test_two_epochs_are_compared(collector: Served, page: Page) -> None:
    page.goto(FIGURES)
    page.get_by_role("link", name="Compare").click()
    facts = page.locator("#live .facts").first
    for side, epoch in (("epoch", 3), ("against", 1)):
        expect(facts).to_contain_text(choose_epoch(page, epoch, side))
    now, before = (told(page, collector, epoch=epoch)["categories"] for epoch in (3, 1))
    expect(page.locator("#live tr[data-answers]")).to_have_count(5)
    for each, other in zip(now, before, strict=True):
        line = row(page, answers=each["category"])
        difference, low, high = (
            float(line.get_attribute(f"data-{key}") or "nan") for key in ("estimate", "low", "high")
        )
        assert difference == pytest.approx(each["estimate"] - other["estimate"], abs=1e-12)
        assert low < difference < high
        expect_data(line, mark="not clear" if low <= 0 <= high else "clear")


@pytest.mark.long
def test_the_plan_follows_its_choices(page: Page) -> None:
    page.goto(f"{FIGURES}/plan")
    asked = page.locator("#plan tbody tr").first
    expect(asked).to_contain_text("this survey")

    def reports() -> int:
        return int(asked.locator("td").last.inner_text().replace(",", ""))

    some, few = reports(), page.locator("#plan").inner_text()
    page.locator("[name=width]").select_option("0.01")
    expect(page.locator("#plan")).not_to_have_text(few)
    expect(page.locator("#plan .sentence")).to_contain_text("± 1 ")
    assert reports() > some


@pytest.mark.long
def test_many_answers_are_cut_to_the_largest_and_found_by_name(
    collector: Served, page: Page
) -> None:
    page.goto(f"/surveys/{FLIGHTS}")
    histogram = told(page, collector, FLIGHTS, view="projected")  # which comes first
    lines = page.locator("#live tr[data-category]")
    expect(lines).to_have_count(50)
    least = min(histogram["categories"], key=lambda each: each["estimate"])
    expect(row(page, category=least["category"])).to_have_count(0)
    page.locator("[name=find]").fill(least["category"].lower())
    page.locator("[name=find]").press("Enter")
    expect(lines).to_have_count(1)
    expect_figures(page, {**histogram, "categories": [least]})
    page.get_by_text("For statisticians").click()
    page.get_by_label("unbiased").check()
    expect_data(
        lines.first,
        estimate=least["estimate"],
        low=least["simultaneous_low"],
        high=least["simultaneous_high"],
    )
    expect(page.locator("#live thead")).not_to_contain_text("projected")


@pytest.mark.long
def test_what_is_shown_can_be_downloaded(collector: Served, page: Page, tmp_path: Path) -> None:
    page.goto(f"{FIGURES}?epoch=2&level=0.99")
    kept = {}
    for name in ("CSV", "JSON", "SVG"):
        with page.expect_download() as download:
            page.locator("#downloads").get_by_role("link", name=name).click()
        download.value.save_as(tmp_path / name)
        kept[name] = (tmp_path / name).read_text("utf-8")
    histogram = told(page, collector, epoch=2, level=0.99)
    assert json.loads(kept["JSON"]) == histogram
    for each in histogram["categories"]:
        assert f"{each['estimate']:.6g}" in kept["CSV"]
    assert kept["SVG"].lstrip().startswith("<svg")


@pytest.mark.long
def test_without_scripts_a_button_shows_what_is_chosen(collector: Served, browser: Browser) -> None:
    with browser.new_context(base_url=collector.origin, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(FIGURES)
        choose_epoch(page, 1)
        page.get_by_role("button", name="Show").click()
        expect_figures(page, told(page, collector, epoch=1))


@pytest.mark.long
def test_answers_are_found_as_their_names_are_typed(collector: Served, page: Page) -> None:
    page.goto(f"/surveys/{FLIGHTS}")
    length = page.evaluate("history.length")
    rows = page.locator("#live tr[data-category]")
    expect(rows).to_have_count(50)
    page.get_by_label("Find").press_sequentially("DC", delay=20)
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"find=DC"))
    assert page.evaluate("history.length") == length, "no letter is a step of the way back"
    expect(page.get_by_label("Find")).to_be_focused()


@pytest.mark.long
def test_terms_and_notes_stand_once_in_full(collector: Served, page: Page) -> None:
    page.goto(FIGURES)
    expect(page.locator("#privacy li").first).to_be_visible()
    page.get_by_role("link", name="Over time").click()
    expect(page.locator("#privacy li")).to_have_count(0)
    expect(page.locator("[data-caution=chance-alone]")).to_be_visible()
    expect(page.locator("[data-caution=hidden-by-steps]")).to_be_hidden()
    page.locator("#live summary", has_text="Details").click()
    expect(page.locator("[data-caution=hidden-by-steps]")).to_be_visible()
    page.get_by_role("link", name="what devices promise").click()
    expect(page).to_have_url(re.compile(f"{FIGURES}#privacy$"))


@pytest.mark.long
def test_a_term_is_explained_by_pointer_and_by_keyboard(page: Page) -> None:
    page.goto(FIGURES)
    term, meaning = page.locator("#live th .term").first, page.locator("#term-interval")
    assert term.get_attribute("title") == (meaning.text_content() or "").partition(": ")[2]
    expect(meaning).to_be_hidden()
    term.click()
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    term.press("Enter")
    expect(meaning).to_be_visible()


@pytest.mark.long
def test_a_question_is_asked_by_keyboard_alone(page: Page) -> None:
    page.goto(f"{FIGURES}/ask?ask=ahead")
    first, second = (page.locator(f"[name={name}]") for name in ("answer", "other"))
    for _ in range(30):
        page.keyboard.press("Tab")
        if first.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.type("good")
    page.keyboard.press("Tab")
    assert second.evaluate("field => field === document.activeElement")
    page.keyboard.type("fair")
    page.keyboard.press("Tab")
    expect(page.locator("#live .sentence")).to_contain_text(re.compile('"good" .* "fair"'))
