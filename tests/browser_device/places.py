"""The two places where the tests run the npm package: Node, and a Chromium page."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.processes import ROOT

Tried = Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]
"""Returns what the package makes of the tests of a topic."""

_IN_NODE = """\
import { tried } from "./client/javascript/test/trials.js";
import { readFileSync } from "node:fs";
console.log(JSON.stringify(await tried(...JSON.parse(readFileSync(0, "utf8")))));
"""
_IN_PAGE = """async ([topic, tests]) =>
    (await import("/client/javascript/test/trials.js")).tried(topic, tests)"""


def node() -> str:
    """Return where Node is, of a version that has Ed25519 in WebCrypto and module sources."""
    program = shutil.which("node")
    if program is None or int(_version(program).split(".")[0]) < 20:
        pytest.skip("needs Node 20 or newer")
    return program


def _version(program: str) -> str:
    return subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout[1:]


def tried_in_node(topic: str, tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [node(), "--no-warnings", "--input-type=module", "-e", _IN_NODE],
        input=json.dumps([topic, tests]),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


@contextmanager
def tried_in_page(browser: Browser) -> Iterator[Tried]:
    with repository() as origin, browser.new_page() as page:
        page.goto(f"{origin}/tests/")
        yield lambda topic, tests: page.evaluate(_IN_PAGE, [topic, tests])


class _Files(SimpleHTTPRequestHandler):
    def guess_type(self, path: object) -> str:
        return "text/javascript" if str(path).endswith("js") else "text/html"

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def repository() -> Iterator[str]:
    """Serve the repository's files; yield the origin, which is a secure context."""
    handler = partial(_Files, directory=str(ROOT))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
