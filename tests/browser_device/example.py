"""The example's page and its collector, and a device in a page that a test drives by itself."""

import importlib.util
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Page

from tests.support.processes import ROOT

EPOCH_SECONDS = 120
"""Devices whose clock is ahead by less than five minutes are taken: a page's may jump an epoch."""

_DEVICE = """async (options) => {
    const { Device } = await import("/deniable.js"), { bundle } = await import("/survey.js");
    window.ahead ??= options.ahead ?? 0;
    const clock = {
        now: () => Date.now() / 1000 + window.ahead,
        running: () => performance.now() / 1000 + window.ahead,
    };
    window.device = new Device({ collector: bundle.origin, authority: bundle.authority, clock,
        surveys: [bundle.declaration], manifests: bundle.manifests, newDevice: true, ...options });
}"""
_STATE = """async () =>
    (await import("/deniable.js")).indexedDbStorage().read()"""


@dataclass(frozen=True, slots=True)
class Example:
    """What examples/browser/serve.py serves."""

    origin: str
    folder: Path

    def receipts(self) -> list[tuple[bytes, int]]:
        """Return key and response of each report that was counted."""
        with closing(sqlite3.connect(self.folder / "collector" / "store.sqlite")) as store:
            return store.execute("SELECT key, response FROM receipts").fetchall()

    def open(self, page: Page, **options: Any) -> "Driven":
        """Return a device of the test's own, in a page that has none: what it does is seen."""
        page.goto(f"{self.origin}/style.css")
        page.evaluate(_DEVICE, options)
        return Driven(page)


@dataclass(frozen=True, slots=True)
class Driven:
    """A device in a page."""

    page: Page

    def do(self, called: str) -> Any:
        """Return what a method returns; Infinity is None."""
        return self.page.evaluate(f"async () => device.{called}")

    def report(self, answer: str = "dark") -> str:
        status: str = self.do(f"report('theme', '{answer}')")["status"]
        return status

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.page.evaluate(_STATE)
        return state

    def jump(self, seconds: float) -> None:
        self.page.evaluate("(seconds) => { window.ahead += seconds; }", seconds)

    def run(self, seconds: float) -> None:
        """Do what is due within so many seconds of the page's clocks."""
        steps = """async (seconds) => {
            const end = window.ahead + seconds;
            for (;;) {
                const nap = await device.step();
                if (window.ahead + nap > end) break;
                window.ahead += nap + 0.001;
            }
            window.ahead = Math.max(end, window.ahead);
        }"""
        self.page.evaluate(steps, seconds)


@contextmanager
def example(folder: Path) -> Iterator[Example]:
    """Serve the example."""
    specification = importlib.util.spec_from_file_location(
        "browser_example", ROOT / "examples" / "browser" / "serve.py"
    )
    assert specification is not None
    assert specification.loader is not None
    serve = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(serve)
    with serve.serving(folder, 0, EPOCH_SECONDS) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Example(f"http://127.0.0.1:{server.server_port}", folder)
        server.shutdown()
