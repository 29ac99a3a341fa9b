"""The example's page and its collector, and a device in a page that a test drives by itself."""

import importlib.util
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Page

from deniable.messages.bundle import read_bundle
from tests.support.processes import ROOT

EPOCH_SECONDS = 120
"""Devices whose clock is ahead by less than five minutes are taken: a page's may jump an epoch."""

_DEVICE = """async ({ ahead = 0, ...options }) => {
    const { Device } = await import("/deniable/device.js"), { bundle } = await import("/survey.js");
    window.ahead ??= ahead;
    const clock = {
        now: () => Date.now() / 1000 + window.ahead,
        running: () => performance.now() / 1000 + window.ahead,
    };
    window.device = new Device({ collector: bundle.origin, authority: bundle.authority, clock,
        surveys: [bundle.declaration], manifests: bundle.manifests, firstEpoch: "now",
        ...options });
}"""
_STATE = """async () => {
    const state = await (await import("/deniable/device.js")).indexedDbStorage().read();
    return state && Object.fromEntries(Object.entries(state).map(
        ([key, kept]) => [key, kept instanceof Map ? Object.fromEntries(kept) : kept]));
}"""


@dataclass(frozen=True, slots=True)
class Example:
    """What examples/browser/serve.py serves."""

    origin: str
    folder: Path

    def receipts(self) -> list[tuple[bytes, int]]:
        """Return key and response of each report that was counted."""
        with closing(sqlite3.connect(self.folder / "collector" / "store.sqlite")) as store:
            return store.execute("SELECT key, response FROM receipts").fetchall()

    def next_epoch(self) -> float:
        """Return the seconds until an epoch begins."""
        bundle = read_bundle((self.folder / "theme.json").read_bytes())
        return EPOCH_SECONDS - (time.time() - bundle.opened[0].schedule.start) % EPOCH_SECONDS

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
