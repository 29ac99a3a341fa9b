"""What keeps a page from reporting is said, to its developer and to its visitor."""

import json
import re

import pytest
from playwright.sync_api import Browser, Route

from tests.browser_device.example import Example
from tests.browser_device.test_page import stop_clock, wait
from tests.support.processes import ROOT

KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
"""Of RFC 8032's first test: a key, and another authority's."""


PLAIN = "lifetimeEpsilon must be a plain decimal in quotes"


def test_a_survey_that_is_not_taken_says_why_and_an_option_that_is_none_is_named(
    served: Example, browser: Browser
) -> None:
    budget = r"over-budget: its epochs ahead may bring the sum to \d+, and lifetimeEpsilon is 0.5"
    with browser.new_page() as page:
        for options, reason in (
            ({"lifetimeEpsilon": "0.5"}, budget),
            ({"authority": KEY}, "the app's own was refused as bad-signature"),
            ({"collector": "http://127.0.0.1:9"}, "wrong-origin: it is for another collector"),
        ):
            device = served.open(page, **options)
            device.do("consent('on')")
            for called in ("look('theme')", "report('theme', 'dark')"):
                assert re.search(reason, device.do(called)["why"])
        wrong: list[tuple[dict[str, object], str]] = [
            ({"lifetimeEpsilon": 60}, PLAIN),
            ({"lifetimeEpsilon": "1e1"}, PLAIN),
            ({"newDevice": "now"}, "TypeError: there is no option newDevice"),
        ]
        for unknown, reason in wrong:
            with pytest.raises(Exception, match=reason):
                served.open(page, **unknown)


def test_a_collector_that_lets_no_page_ask_is_told_of(served: Example, browser: Browser) -> None:
    stranger = served.origin.replace("127.0.0.1", "localhost")
    with browser.new_page() as page:
        stop_clock(page)
        page.goto(stranger)
        page.get_by_role("button", name="I agree").click()
        page.get_by_text("Thank you. Your first answer can be given at").wait_for()
        wait(page, "document.querySelector('#state').innerText.includes('upload_origins')")
        said = page.inner_text("#state")
        assert f"its upload_origins does not name {stranger}" in said
        assert "Thank you" not in said


def test_the_readme_embeds_a_device(served: Example, browser: Browser) -> None:
    readme = (ROOT / "client" / "javascript" / "README.md").read_text("utf-8")
    (snippet,) = re.findall(r"```js\n(.*?)```", readme, re.DOTALL)
    snippet = snippet.replace('"deniable"', '"./deniable/device.js"')
    with browser.new_page() as page:
        page.goto(f"{served.origin}/style.css")
        bundle = page.evaluate("async () => (await import('/survey.js')).bundle")
        parts = {
            f"{served.origin}/theme.js": f"export default\n{json.dumps(bundle)}",
            f"{served.origin}/embed.js": f"{snippet}\nexport {{ status, why, from }};",
        }

        def fulfil(route: Route) -> None:
            route.fulfill(content_type="text/javascript", body=parts[route.request.url])

        for address in parts:
            page.route(address, fulfil)
        asked = "globalThis.ask = async () => true; return { ...await import('/embed.js') };"
        outcome = page.evaluate(f"async () => {{ {asked} }}")
    assert outcome["status"] == "not-recorded"
    assert "waits for the collector's date" in outcome["why"]
    assert outcome["from"] is not None
