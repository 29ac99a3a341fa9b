"""One response a name and epoch: several tabs, a killed browser, full and lost storage, clocks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route

from tests.browser.watched import chromium
from tests.browser_device.example import EPOCH_SECONDS, Driven, Example
from tests.browser_device.profiles import kill

LAUNCH_AND_SPREAD = 90


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as made:
        yield made


def consenting(served: Example, page: Page, **options: object) -> Driven:
    device = served.open(page, **options)
    device.do("consent('on')")
    return device


def test_of_several_tabs_one_draws_for_all(served: Example, context: BrowserContext) -> None:
    before, ahead = len(served.receipts()), served.next_epoch()  # none ends while it runs
    tabs = [
        consenting(served, context.new_page(), deliverySeconds=0, ahead=ahead) for _ in range(3)
    ]
    for tab in tabs:  # each at the same time as the others, and several times
        tab.page.evaluate(
            """() => { window.reports = Promise.all(["dark", "light", "dark", "light"].map(
                (answer) => device.report("theme", answer))) }"""
        )
    outcomes = [each["status"] for tab in tabs for each in tab.page.evaluate("() => reports")]
    assert sorted(outcomes) == ["recorded"] + ["repeated"] * 11
    state = tabs[0].state()
    assert all(tab.state() == state for tab in tabs)
    assert len(state["outbox"]) == 1
    for tab in tabs:
        tab.page.evaluate("() => { window.sent = device.step(); }")
    for tab in tabs:
        tab.page.evaluate("() => sent")
        tab.run(LAUNCH_AND_SPREAD)
    assert tabs[0].state()["outbox"] == []
    assert len(served.receipts()) == before + 1


def test_a_response_outlives_reload_and_clock(served: Example, context: BrowserContext) -> None:
    page, early = context.new_page(), served.next_epoch()  # no epoch ends while it runs
    device = consenting(served, page, ahead=early)
    assert device.report() == "recorded"
    (kept,) = device.state()["outbox"]
    for moved in (0, 3 * 365 * 86_400, -EPOCH_SECONDS / 100, -3 * 365 * 86_400):
        device = served.open(page, ahead=early + moved)
        assert device.report("light") == ("repeated" if moved <= 0 else "not-recorded")
        (again,) = device.state()["outbox"]
        assert (again["envelope"], again["epoch"]) == (kept["envelope"], kept["epoch"])
        assert device.state()["spent"] == {"theme": 1_000_000_000}
    device = served.open(page, ahead=early)
    device.do("consent('off')")
    device.do("consent('on')")
    assert device.report("light") == "repeated", "withdrawal undoes no decision"
    assert device.state()["outbox"] == []


_FILL = """async () => {
    const opened = indexedDB.open("filler", 1);
    opened.onupgradeneeded = () =>
        opened.result.createObjectStore("filler", { autoIncrement: true });
    await new Promise((resolve) => { opened.onsuccess = resolve; });
    for (let size = 1 << 16; size >= 1;) {
        const store = opened.result.transaction("filler", "readwrite", { durability: "strict" });
        const bytes = crypto.getRandomValues(new Uint8Array(size));
        store.objectStore("filler").add(bytes);
        await new Promise((resolve) => {
            store.oncomplete = resolve;
            store.onabort = () => { size >>= 1; resolve(); };
        });
    }
    opened.result.close();
}"""


def test_full_storage_is_no_report_and_says_so(served: Example, context: BrowserContext) -> None:
    page = context.new_page()
    session = context.new_cdp_session(page)
    quota = {"origin": served.origin, "quotaSize": 1 << 20}
    session.send("Storage.overrideQuotaForOrigin", quota)
    device = consenting(served, page)
    page.evaluate(_FILL)
    outcome = device.do("report('theme', 'dark')")
    assert outcome["status"] == "not-recorded"
    assert outcome["why"] == "the browser keeps nothing (QuotaExceededError)"
    assert (device.state()["outbox"], device.state()["spent"]) == ([], {})
    page.evaluate("() => indexedDB.deleteDatabase('filler')")
    session.send("Storage.overrideQuotaForOrigin", {"origin": served.origin})
    page.close()
    device = served.open(context.new_page())
    assert device.report() == "recorded"


@pytest.mark.long
def test_lost_storage_is_a_new_device_that_waits_for_the_next_epoch(
    served: Example, context: BrowserContext
) -> None:
    page = context.new_page()
    device = consenting(served, page)
    assert device.report() == "recorded"
    (kept,) = device.state()["outbox"]
    context.new_cdp_session(page).send(
        "Storage.clearDataForOrigin", {"origin": served.origin, "storageTypes": "all"}
    )
    assert device.report() == "not-recorded"
    assert device.do("consent()") == "unset", "who is new has agreed to nothing"
    assert device.do("step()") in {None, float("inf")}
    # From an epoch's beginning on, so that none ends while it runs.
    ahead = kept["starts"] + EPOCH_SECONDS + 1 - time.time()
    device = consenting(served, page, firstEpoch="next", deliverySeconds=10, ahead=ahead)
    assert "waits for the collector's date" in device.do("look('theme')")["why"]
    device.run(30)
    looked = device.do("look('theme')")
    assert "begins with the next time slice" in looked["why"]
    assert device.report() == "not-recorded"
    assert device.state()["outbox"] == []
    device.jump(looked["from"] - page.evaluate("Date.now() / 1000 + window.ahead"))
    assert device.report() == "recorded"
    (fresh,) = device.state()["outbox"]
    assert fresh["epoch"] > kept["epoch"]


@pytest.mark.long
def test_a_private_window_is_a_device_of_its_own(served: Example, browser: Browser) -> None:
    keys = set()
    for _ in range(2):
        with browser.new_context() as context:
            device = consenting(served, context.new_page())
            assert device.report() == "recorded"
            keys.add(device.state()["secret"])
    assert len(keys) == 2


@contextmanager
def profile(browser: Browser, folder: Path) -> Iterator[BrowserContext]:
    with browser.browser_type.launch_persistent_context(
        folder, executable_path=chromium(), args=["--no-sandbox"]
    ) as context:
        yield context


@pytest.mark.long
@pytest.mark.parametrize("answered", [False, True])
def test_a_killed_browser_sends_the_same_bytes_and_is_counted_once(
    served: Example, browser: Browser, tmp_path: Path, answered: bool
) -> None:
    before = len(served.receipts())
    ahead = served.next_epoch()  # both browsers are early in it, however slow the machine
    with profile(browser, tmp_path) as context:
        page = context.new_page()
        device = consenting(served, page, deliverySeconds=0, ahead=ahead)
        assert device.report() == "recorded"
        (kept,) = device.state()["outbox"]
        if answered:  # the collector has it, and the browser dies before it knows

            def withhold(route: Route) -> None:
                route.fetch()
                kill(tmp_path)

            page.route("**/v1/reports", withhold)
            with pytest.raises(Exception, match="closed"):
                device.run(LAUNCH_AND_SPREAD)
        else:
            with context.expect_event("close"):  # or leaving the block asks a browser that is gone
                kill(tmp_path)
    assert len(served.receipts()) == before + answered
    with profile(browser, tmp_path) as context:
        device = served.open(context.new_page(), deliverySeconds=0, ahead=ahead)
        (again,) = device.state()["outbox"]
        assert again["envelope"] == kept["envelope"]
        assert again["attempts"] == answered
        assert device.report("light") == "repeated"
        device.run(2 * LAUNCH_AND_SPREAD)
        assert device.state()["outbox"] == []
        became = device.state()["decided"]["theme"]["became"]
        assert became == ("duplicate" if answered else "accepted")
    assert len(served.receipts()) == before + 1
