"""What the other tests rely on: nothing that goes wrong in a page escapes them."""

import pytest
from playwright.sync_api import Browser

from tests.browser.served import Served
from tests.browser.watched import Watched

WRONG = {
    "console.error('a complaint')": "a complaint",
    "setTimeout(() => { throw Error('thrown') })": "uncaught: thrown",
    "fetch('http://127.0.0.2/').catch(() => 0)": "127.0.0.2",
    "document.body.setAttribute('style', 'color: red')": "style-src",
    "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))": "script",
}


@pytest.mark.long
@pytest.mark.parametrize("program", WRONG)
def test_what_goes_wrong_is_seen(collector: Served, browser: Browser, program: str) -> None:
    with browser.new_context(base_url=collector.origin) as context:
        watched = Watched(context.new_page(), collector.origin)
        watched.page.goto("/v1/surveys")
        assert watched.problems == []
        with watched.page.expect_event("pageerror" if "throw" in program else "console"):
            watched.page.evaluate(program)
        assert WRONG[program] in "".join(watched.problems)


@pytest.mark.long
def test_what_keeps_people_out_is_found(watched: Watched) -> None:
    watched.page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src=data:,>")
    (barrier,) = watched.barriers()
    assert barrier.startswith("image-alt: ")
