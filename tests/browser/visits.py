"""What visitors do at a page again and again, and what they see there."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.served import EPOCH


def log_in(page: Page, token: str) -> None:
    """Log in as somebody does who has a token."""
    page.goto("login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("main[data-page=list]")).to_be_visible()


def choose_epoch(page: Page, epoch: int, control: str = "epoch") -> str:
    """Choose an epoch from a list, which has the newest first, with their reports; return it."""
    chosen = page.locator(f"[name={control}]")
    option = chosen.locator("option", has_text="(").nth(EPOCH - epoch)
    chosen.select_option(option.get_attribute("value"))
    return (chosen.locator("option:checked").text_content() or "").partition(" (")[0]


def row(page: Page, **about: object) -> Locator:
    """Return a row of a table, by some of its data."""
    wanted = "".join(f'[data-{key}="{value}"]' for key, value in about.items())
    return page.locator(f"#live tr{wanted}")


def expect_data(line: Locator, **data: object) -> None:
    """Wait until a row has these data, numbers in full precision."""
    for key, value in data.items():
        text = "" if value is None else value if isinstance(value, str) else repr(value)
        expect(line).to_have_attribute(f"data-{key.replace('_', '-')}", text)


def expect_figures(page: Page, histogram: dict[str, Any]) -> None:
    """Wait until the page shows what a program gets as a histogram.

    Intervals are those that hold all at once.
    """
    value = "shown" if "view" in histogram else "estimate"
    for each in histogram["categories"]:
        expect_data(
            row(page, category=each["category"]),
            **{value: each[value]},
            low=each["simultaneous_low"],
            high=each["simultaneous_high"],
            standard_error=each["standard_error"],
        )
