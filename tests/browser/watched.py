"""A page of the real browser, and whatever goes wrong in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

_SECONDS = 60.0  # longer than anything here takes on a busy machine
_GRAVE = {"serious", "critical"}


def chromium() -> str:
    """Return where the machine's Chromium is: none is downloaded, and without one we skip."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs chromium")
    return found


@contextmanager
def running() -> Iterator[Browser]:
    """Run the browser, without a window."""
    program = chromium()
    expect.set_options(timeout=_SECONDS * 1000)
    with sync_playwright() as playwright:
        # Its sandbox refuses to be root, or needs what containers lack; it visits nothing but us.
        options = ["--no-sandbox"]
        with playwright.chromium.launch(executable_path=program, args=options) as browser:
            yield browser


class Watched:
    """A page, and what must not happen in it.

    Attributes:
        problems: what the browser or the page complained of, what was asked of another host, and
            answers by which the collector says that it failed.
        refusals: the statuses that a test brings about; the browser complains of each such answer.
    """

    def __init__(self, page: Page, origin: str) -> None:
        page.set_default_timeout(_SECONDS * 1000)
        self.page = page
        self.problems: list[str] = []
        self.refusals: set[int] = set()
        self._origin = f"{origin}/"
        page.on("console", lambda said: self._complain(said.type, said.text, said.location["url"]))
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.context.on("request", lambda asked: self._asked(asked.url))
        page.context.on("response", lambda answer: self._answered(answer.status, answer.url))

    def _complain(self, kind: str, text: str, where: str) -> None:
        refused = any(f"status of {status} " in text for status in self.refusals)
        if kind in {"error", "warning"} and not refused:
            self.problems.append(f"{kind} at {where}: {text}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self._origin, "data:")):
            self.problems.append(f"asked {url}")

    def _answered(self, status: int, url: str) -> None:
        if status >= 500:
            self.problems.append(f"HTTP {status} of {url}")

    def barriers(self, *rules: str) -> list[str]:
        """Return what axe-core finds serious in what is shown now, each with what it is about.

        Args:
            rules: those that are checked; without any, all but those that axe-core leaves out.
        """
        options: dict[str, object] = {"resultTypes": ["violations"]}
        options |= {"runOnly": list(rules)} if rules else {}
        return [
            f"{each['id']}: {node['html']}: {node['failureSummary']}"
            for each in Axe().run(self.page, options=options).response["violations"]
            if each["impact"] in _GRAVE
            for node in each["nodes"]
        ]
