"""A local app with pages in the browser: synchronous, standard library only.

Run it and open the address that it prints: python examples/web_app.py
It starts its own collector. With --collector, --authority and --state, it is a device of yours.
(A service for many users would still be a single device.)
"""

import argparse
import html
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import make_server

from deniable.client import Client, Outcome, Survey
from deniable.fakes import FakeCollector

RATING = Survey(
    name="rating-of-search",
    question="How well did the search work for you?",
    categories=("badly", "so-so", "well"),
    max_epsilon="1",
)
PAGE = """<!doctype html><title>Settings</title><h1>Settings</h1>
<p>{said}</p><pre>{explained}</pre>
<form method=post action=/consent>
<button name=consent value=on>Take part</button> <button name=consent value=off>Do not</button>
</form>
<form method=post action=/rate><p>{question}</p>{answers}</form>"""
ANSWER = "<button name=answer value='{0}'>{0}</button> "


class App:
    """A WSGI application: Flask, Django and others would call the client in the same places.

    Args:
        client: one for the whole process; it is safe to share between threads.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., object]
    ) -> Iterable[bytes]:
        """Answer one request."""
        size = int(environ.get("CONTENT_LENGTH") or 0)
        form = parse_qs(environ["wsgi.input"].read(size).decode())
        said = ""
        if environ["REQUEST_METHOD"] == "POST" and not _is_own(environ):
            said = "That came from another site."
        elif environ["PATH_INFO"] == "/consent":
            wants = form.get("consent") == ["on"]
            stored = self._client.set_consent("on" if wants else "off", origin="settings page")
            if wants:  # so that the next answer counts; the thread refreshes at a random time
                self._client.refresh()
            said = "Thank you." if wants else "Nothing is sent, and what waited is erased."
            if not stored:  # a refusal lasts while the app runs
                said = "Your decision could not be stored. Please try again."
        elif environ["PATH_INFO"] == "/rate":
            answer = form.get("answer", [""])[0]
            if answer in RATING.categories:  # an undeclared answer is a bug in the app, and raises
                said = _said(self._client.report(RATING.name, answer))
        if self._client.uncovered:  # on first start, and after an update that asks for more
            said = f"{said} Please decide whether you take part."
        page = PAGE.format(
            said=html.escape(said),
            explained=html.escape(self._client.explain().brief()),
            question=html.escape(RATING.question),
            answers="".join(ANSWER.format(html.escape(each)) for each in RATING.categories),
        )
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [page.encode()]


def _is_own(environ: dict[str, Any]) -> bool:
    return environ.get("HTTP_ORIGIN") == f"http://{environ.get('HTTP_HOST')}"


def _said(outcome: Outcome) -> str:
    # Nothing here may reveal the answer: no log or session stores it.
    return "Thank you." if outcome.ok else f"Nothing was recorded: {outcome.error}"


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collector", help="its origin, as https://host")
    parser.add_argument("--authority", help="its public key, 64 hex digits")
    parser.add_argument("--state", help="where this device remembers", type=Path)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        if chosen.collector is None:
            fake = stack.enter_context(FakeCollector())
            fake.publish(RATING)
            chosen.collector, chosen.authority = fake.origin, fake.authority
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        state = chosen.state or place / "telemetry.sqlite"
        client = stack.enter_context(
            Client(chosen.collector, authority=chosen.authority, surveys=[RATING], state=state)
        )
        server = stack.enter_context(make_server("127.0.0.1", 0, App(client)))
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
