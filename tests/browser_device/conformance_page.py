"""The device of client/javascript as the conformance kit drives it, in a Chromium page.

A line of JSON for a line of JSON. A state is a browser's profile, which is started as an app is
opened. Profiles are in a folder that is the argument: whoever kills a browser cannot at once delete
what it writes.
"""

import json
import os
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Playwright, Route, sync_playwright

from tests.browser.watched import chromium
from tests.support.processes import ROOT

_PAGE = "http://localhost/"
"""No server: its origin has to be the same whenever a profile is opened."""

_OFFERS = {"own_connections": False}
_LOAD = """async (offers) => {
    const { answering } = await import("/tests/browser_device/conformance_answers.mjs");
    const { indexedDbStorage } = await import("/client/javascript/src/device.js");
    window.answer = answering(() => indexedDbStorage(), offers);
}"""
_ANSWER = "(command) => answer(command)"


def fulfil(route: Route) -> None:
    """Answer with a file of the repository."""
    path = ROOT / route.request.url.removeprefix(_PAGE)
    if path.is_file():
        route.fulfill(body=path.read_bytes(), content_type="text/javascript")
    else:
        route.fulfill(body="", content_type="text/html")


class Browser:
    """The browser of a profile: in this process's group, so that whoever kills that kills it."""

    def __init__(self, playwright: Playwright, profile: Path) -> None:
        self.profile = profile
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)  # of a browser that was killed
        self._process = subprocess.Popen(
            [
                *(chromium(), "--headless", "--no-sandbox", "--no-first-run", "--disable-gpu"),
                *("--disable-background-networking", "--disable-component-update"),
                # Of a page that comes from no server nobody knows that it is this machine's.
                "--disable-features=LocalNetworkAccessChecks",
                *("--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        words: list[str] = []
        while len(words) < 2:  # its port, and where it listens
            time.sleep(0.01)
            words = port.read_text("ascii").split() if port.exists() else []
        number, path = words
        self._browser = playwright.chromium.connect_over_cdp(f"ws://127.0.0.1:{number}{path}")
        self.page = self._opened()

    def reopen(self) -> None:
        """Close the page, and open another: an app that ended in order is opened again."""
        self.page.close()
        self.page = self._opened()

    def close(self) -> None:
        """End it in order."""
        self._browser.new_browser_cdp_session().send("Browser.close")
        self._process.wait(30)

    def _opened(self) -> Page:
        page = self._browser.contexts[0].new_page()
        page.route(f"{_PAGE}**", fulfil)
        page.goto(_PAGE)
        page.evaluate(_LOAD, _OFFERS)
        return page


def main() -> None:
    """Answer until the input ends."""
    browser: Browser | None = None
    folder = Path(sys.argv[1])
    with sync_playwright() as playwright:
        for line in sys.stdin:
            command: dict[str, Any] = json.loads(line)
            if browser is None or command["do"] == "open":
                name = sha256(command.get("state", str(os.getpid())).encode()).hexdigest()
                if browser is not None and browser.profile == folder / name:
                    browser.reopen()
                else:
                    if browser is not None:
                        browser.close()
                    browser = Browser(playwright, folder / name)
            print(json.dumps(browser.page.evaluate(_ANSWER, command)), flush=True)
        if browser is not None:
            browser.close()


if __name__ == "__main__":
    main()
