"""Public figures on other sites' pages: a chart as an image, and no page in a frame."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.served import FILLING, MARRIAGE, MINUTES, Served, served
from tests.browser.visits import log_in

PUBLIC, PRIVATE = MARRIAGE, MINUTES


class Elsewhere(BaseHTTPRequestHandler):
    """Another site of this machine, since browsers keep those of the network from its addresses."""

    body = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.body.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def elsewhere() -> Iterator[int]:
    """Serve the site; yield its port."""
    with ThreadingHTTPServer(("localhost", 0), Elsewhere) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def framing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, int]]:
    """Yield a collector whose cards one origin may frame, and the port of that."""
    with elsewhere() as port:
        folder = tmp_path_factory.mktemp("framing")
        with served(folder, PUBLIC, PRIVATE, FILLING) as collector:
            yield collector, port


@pytest.mark.long
def test_another_site_shows_what_it_may(framing: tuple[Served, int], browser: Browser) -> None:
    collector, port = framing
    at = f"{collector.origin}/surveys"
    images = (PUBLIC, PRIVATE)
    frames = {
        "page": PUBLIC,
        "share": f"{PRIVATE}/share",
    }
    parts = [f"<img id={name} src={at}/{name}/chart.svg>" for name in images]
    parts += [f"<iframe name={name} src={at}/{path}></iframe>" for name, path in frames.items()]
    Elsewhere.body = "".join(parts)
    with browser.new_context(base_url=collector.origin) as context:
        page = context.new_page()
        log_in(page, collector.token)
        page.goto(f"http://localhost:{port}")
        page.wait_for_load_state("networkidle")
        loaded = [
            name
            for name in images
            if page.evaluate(f"document.getElementById('{name}').naturalWidth > 0")
        ]
        assert loaded == [PUBLIC], "whoever is logged in"
        within = {name: page.frame_locator(f"[name={name}]") for name in frames}
        seen = {name for name, frame in within.items() if frame.locator("[data-page]").count()}
        assert seen == set()


@pytest.mark.long
def test_a_chart_says_when(framing: tuple[Served, int], browser: Browser) -> None:
    collector, _ = framing
    with browser.new_context(base_url=collector.origin) as context:
        page = context.new_page()
        log_in(page, collector.token)
        for name, text in ((FILLING, "No figures yet"), (PRIVATE, "reflect only chance")):
            assert text in page.request.get(f"/surveys/{name}/chart.svg").text()
        page.goto(f"/surveys/{FILLING}")
        expect(page.locator("#live")).to_contain_text("No figures yet")
        expect(page.locator("#downloads")).to_have_count(0)
