"""Unlinkable reports: an issuer, a relay, a collector and ten devices on one machine.

Run it: python examples/unlinkable/run.py
It needs nginx and takes two minutes. It prints what each party saw, and then the histogram.
For real users, use three operators (docs/tutorials/unlinkable.md).
"""

import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom

from backend import NAME, backend
from device import device
from relay import nginx, relay, seen_by

from deniable.messages.bundle import read_bundle

ACCOUNTS = ("ann", "bob", "cleo", "dan", "eve", "finn", "gina", "hugo", "iris", "jan")
ANSWERS = ("light", "dark", "auto")
EPOCH_SECONDS = 60  # a week or a day for real users
SURVEY = """\
name = "theme"
question = "Which theme do you use?"
categories = ["light", "dark", "auto"]
mechanism = "randomised-response"
epsilon = "2"
epoch = "{seconds} seconds"
epochs = 1
grace = "1 hour"
start = {start}
minimum_reports = 10
enrolment = "blind"
issuer = "{issuer}"
issuer_keys = "{keys}"
"""


def deniable(*words: str | Path) -> str:
    """Run the command; return what it prints."""
    command = [sys.executable, "-m", "deniable.cli", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def publish(folder: Path, keys: Path) -> float:
    """Make a collector, its gateway and its survey; return when the survey begins."""
    here = folder / "collector"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{free.getsockname()[1]}"
    deniable("init", here, "--origin", origin)
    with (here / "collector.toml").open("a", encoding="utf-8") as settings:
        settings.write('relays = ["127.0.0.1"]\nrelayed_from = "2026-01-01"\n')
    deniable("gateway", "new", "--dir", here)
    deniable("issuer", "keys", keys, "--epochs", "1")
    start = int(time.time()) + 20  # until all parties are running
    public = keys / "issuer-keys.json"
    written = SURVEY.format(
        seconds=EPOCH_SECONDS,
        start=datetime.fromtimestamp(start, UTC).isoformat(),
        issuer=NAME,
        keys=public,
    )
    (folder / "theme.toml").write_text(written, "utf-8")
    deniable("survey", "publish", folder / "theme.toml", "--dir", here)
    deniable("survey", "export", "theme", "--dir", here, "--out", folder / "theme.json")
    return start


@contextmanager
def collector(directory: Path) -> Iterator[None]:
    """Serve the collector."""
    command = [sys.executable, "-m", "deniable.cli", "serve", "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        while b"listening" not in process.stdout.readline():
            pass
        try:
            yield
        finally:
            process.terminate()


def received(directory: Path) -> list[str]:
    """Return what the collector has of each report."""
    with closing(sqlite3.connect(directory / "store.sqlite")) as store:
        rows = store.execute("SELECT key, response FROM receipts").fetchall()
    return [f"key {key.hex()[:14]}…: response {ANSWERS[response]}" for key, response in rows]


def show(party: str, seen: list[str]) -> None:
    """Print what a party saw."""
    print(f"\n{party} saw")
    for line in seen:
        print(f"  {line}")


def main(folder: Path) -> None:
    """Run all parties through one epoch."""
    nginx()  # the relay needs it
    keys, directory, way = folder / "keys", folder / "collector", folder / "relay"
    start = publish(folder, keys)
    bundle = read_bundle((folder / "theme.json").read_bytes())
    authority, manifest = bundle.authority.hex(), bundle.manifests[0]
    with (
        collector(directory),
        backend(folder, keys, authority, manifest) as (issuer, seen_by_issuer),
        relay(way, bundle.origin) as url,
    ):
        clients = [
            device(folder / "theme.json", folder / account, issuer, url, account)
            for account in ACCOUNTS
        ]
        time.sleep(max(0, start - time.time()))
        for number, client in enumerate(
            clients
        ):  # in the epoch's first half: a token and an answer
            client.refresh()
            client.report("theme", ANSWERS[number % len(ANSWERS)], strict=True)
        time.sleep(max(0, start + 3 * EPOCH_SECONDS / 4 - time.time()))
        tokens_asked = len(seen_by(way))
        # Each drew its own time in the third quarter, which has passed.
        SystemRandom().shuffle(clients)
        for client in clients:
            client.flush(timeout=20)
            client.close()
    show("the issuer (accounts, and tokens that it cannot read)", seen_by_issuer)
    show("the relay (addresses, and requests that it cannot read)", seen_by(way)[tokens_asked:])
    show("the collector (responses, and nobody's address)", received(directory))
    print()
    print(deniable("hist", "theme", "--dir", directory))
    print(deniable("ask", "reveals", "theme", "--dir", directory))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
