"""The example's page as a visitor has it, on a real collector."""

import pytest
from playwright.sync_api import Browser, Page

from deniable.messages.bundle import read_bundle
from deniable.terms.sentences import catalogue, summary
from tests.browser.watched import Watched
from tests.browser_device.example import Example


def stop_clock(page: Page) -> None:
    """Have the page's time pass only in :func:`wait`, and never while an answer is on its way.

    Otherwise, a request that is slow beside other tests would seem to get no answer for minutes.
    """
    page.clock.install()
    page.add_init_script("""
        const send = fetch;
        let answered;
        window.fetch = (...request) => {
            const answer = send(...request);
            answered = Promise.allSettled([answered, answer.then((a) => a.clone().arrayBuffer())]);
            return answer;
        };
        window.answered = () => answered;
    """)


def wait(page: Page, condition: str) -> None:
    """Let the page's clock run, a second at a time, until a condition holds."""
    for _ in range(400):
        if page.evaluate(condition):
            return
        page.clock.run_for(1000)
        page.evaluate("answered()")
    raise AssertionError(page.inner_text("main"))


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_a_visitor_is_asked_agrees_answers_is_counted_and_withdraws(
    served: Example, browser: Browser, scheme: str
) -> None:
    before = len(served.receipts())
    with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        stop_clock(page)
        watched, asked = Watched(page, served.origin), []
        context.on("request", lambda request: asked.append(request))
        page.goto(served.origin)
        page.get_by_role("button", name="I agree").wait_for()
        for text in ("Which theme do you use?", "light · dark · as the system"):
            assert page.locator("#consent").get_by_text(text, exact=True).is_visible()
        page.get_by_text("All details in plain words").click()
        assert page.get_by_text("These may be few.").is_visible()
        assert watched.barriers() == []
        # Before consent nothing is stored, and nobody asked but who serves the page.
        page.clock.run_for(60_000)
        assert page.evaluate("indexedDB.databases()") == []
        kept = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert kept == [0, 0, ""]
        assert watched.problems == []
        page.get_by_role("button", name="I agree").click()
        page.get_by_text("Thank you. Your first answer can be given at").wait_for()
        wait(page, "!document.querySelector('#send').disabled")
        assert watched.barriers() == []
        page.get_by_label("dark").check()
        page.get_by_role("button", name="Answer").click()
        wait(page, "document.querySelector('#state').innerText.includes('counted')")
        assert len(served.receipts()) == before + 1
        page.reload()
        wait(page, "document.querySelector('#state').innerText.includes('counted')")
        assert page.get_by_role("button", name="Answer").is_disabled()
        page.get_by_role("button", name="Withdraw").click()
        page.get_by_role("button", name="Ask me again").wait_for()
        page.reload()
        page.get_by_role("button", name="Ask me again").wait_for()
        sent = len(asked)
        page.clock.run_for(300_000)
        assert len(asked) == sent, "nothing is asked once consent has ended"
        to_collector = [request for request in asked if not request.url.startswith(served.origin)]
        assert [request.method for request in to_collector] == ["GET", "POST"]
        for request in to_collector:
            headers = request.all_headers()
            assert not {"cookie", "authorization", "referer", "if-none-match"} & headers.keys()
        assert {problem.split("/v1/")[0] for problem in watched.problems} <= {
            f"asked {request.url.split('/v1/')[0]}" for request in to_collector
        }


@pytest.mark.long
def test_whoever_said_no_can_be_asked_again(served: Example, browser: Browser) -> None:
    with browser.new_page() as page:
        stop_clock(page)
        page.goto(served.origin)
        page.get_by_role("button", name="No", exact=True).click()
        again = page.get_by_role("button", name="Ask me again")
        again.wait_for()
        assert page.inner_text("#said") == "Nothing is drawn or sent."
        for decision in ("No", "I agree"):
            again.click()
            page.clock.run_for(60_000)
            page.get_by_role("button", name=decision, exact=True).click()
        page.get_by_text("Thank you. Your first answer can be given at").wait_for()


_BLANK = """<!doctype html><html lang="{}"><title>A form</title>
<main><h1>A form</h1><deniable-consent></deniable-consent></main>"""
_FORM = """async () => {
    const { Device } = await import("/deniable/device.js"), { bundle } = await import("/survey.js");
    window.happened = [];
    for (const kind of ["consent", "refusal"]) {
        document.addEventListener(kind, ({ detail }) => happened.push(kind, ...detail.surveys));
    }
    window.device = new Device({ collector: bundle.origin, authority: bundle.authority,
        surveys: [bundle.declaration], manifests: bundle.manifests });
    window.form = document.querySelector("deniable-consent");
    form.device = device;  // before there is such an element
    await import("/deniable/consent.js");
}"""
_LOOKS = """() => [...form.shadowRoot.querySelectorAll("button")].map((button) => {
    const { width, height } = button.getBoundingClientRect(), style = getComputedStyle(button);
    return [width, height, style.color, style.backgroundColor, style.borderColor, style.font]
        .join();
})"""


@pytest.mark.parametrize(
    ("language", "agree", "decline"), [("en", "I agree", "No"), ("de", "Ich stimme zu", "Nein")]
)
def test_the_form_asks_alike_for_yes_and_no_by_keyboard_and_keeps_nothing_itself(
    served: Example, browser: Browser, language: str, agree: str, decline: str
) -> None:
    (manifest,) = read_bundle((served.folder / "theme.json").read_bytes()).opened
    with browser.new_page() as page:
        watched = Watched(page, served.origin)
        blank = _BLANK.format(language)
        page.route("**/blank", lambda route: route.fulfill(body=blank, content_type="text/html"))
        page.goto(f"{served.origin}/blank")
        page.evaluate(_FORM)
        form = page.locator("deniable-consent")
        form.get_by_role("button", name=agree).wait_for()
        assert form.get_by_text(manifest.question).is_visible()
        assert form.locator("li").all_inner_texts() == [*summary(manifest, catalogue(language))]
        assert len({*page.evaluate(_LOOKS)}) == 1, "the buttons look alike"
        assert watched.barriers() == []
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # the second button
        form.wait_for(state="hidden")
        assert page.evaluate("device.consent()") == "off"
        page.evaluate("form.ask()")
        form.get_by_role("button", name=decline).wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        form.wait_for(state="hidden")
        assert page.evaluate("device.consent()") == "on"
        assert page.evaluate("happened") == ["refusal", "theme", "consent", "theme"]
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
