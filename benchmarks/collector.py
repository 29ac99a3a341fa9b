"""The collector: processor time a report, against a bare handler and a bare verification."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.load import load
from benchmarks.rounds import Rounds, interleave
from benchmarks.servers import Server, bare_handler, collector
from benchmarks.table import Row, show
from benchmarks.uploads import BATCH, make_collector, sign_uploads
from benchmarks.verification import verifications

__all__ = ["run"]

_ROUNDS: Final = 5
_SINGLES: Final = 4_000
_BATCHES: Final = 200
_REPEATS: Final = 30
"""The bare handler gets the batches so often, or its few milliseconds were lost in clock ticks."""
_VERIFIED: Final = 1_500


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        template = Path(scratch) / "template"
        uploads = sign_uploads(make_collector(template), _SINGLES, _BATCHES)
        fresh = _Fresh(template)
        rates: dict[str, list[float]] = {"one": [], "many": []}
        with bare_handler() as bare:
            found = interleave(
                {
                    "one": _collector_cost(fresh, uploads.singles, 1, rates["one"]),
                    "bare one": _bare_cost(bare, uploads.singles, 1),
                    "many": _collector_cost(fresh, uploads.batches, BATCH, rates["many"]),
                    "bare many": _bare_cost(bare, [*uploads.batches] * _REPEATS, BATCH),
                    **verifications(uploads.reports[:_VERIFIED]),
                },
                _ROUNDS,
            )
    show(
        "verifying one report's signature, its key being new",
        [
            Row("deniable.messages.verify", found["ours"].scaled(1e6), "µs"),
            Row("cryptography (OpenSSL) alone", found["OpenSSL"].scaled(1e6), "µs"),
            Row("PyNaCl (libsodium) alone", found["libsodium"].scaled(1e6), "µs"),
        ],
    )
    for name, title in (("one", "one report a request"), ("many", f"{BATCH} reports a request")):
        ours, handler = found[name], found[f"bare {name}"]
        floors = {library: handler + found[library] for library in ("OpenSSL", "libsodium")}
        show(
            f"the collector, {title}, each durable before its answer",
            [
                Row("rate, load on the same cores", Rounds(tuple(rates[name][1:])), "reports/s"),
                Row("collector's processor time a report", ours.scaled(1e6), "µs"),
                Row("a bare aiohttp handler's", handler.scaled(1e6), "µs"),
                *(
                    Row(f"collector ÷ (bare handler + {library})", ours / floor)
                    for library, floor in floors.items()
                ),
            ],
        )


class _Fresh:
    """Serves a collector whose store is empty each time, with the same survey published in it."""

    def __init__(self, template: Path) -> None:
        self._template = template
        self._numbers = count()

    @contextmanager
    def __call__(self) -> Iterator[Server]:
        directory = self._template.with_name(f"copy-{next(self._numbers)}")
        shutil.copytree(self._template, directory)
        with collector(directory) as server:
            yield server


def _collector_cost(
    serve: Callable[[], AbstractContextManager[Server]],
    requests: Sequence[bytes],
    reports: int,
    rates: list[float],
) -> Callable[[], float]:
    """Return a measurement of a collector's processor seconds a report; it notes the rate, too."""

    def measure() -> float:
        with serve() as server:
            before = server.cpu_seconds()
            seconds, accepted = load(server.port, requests)
            used = server.cpu_seconds() - before
        if accepted != len(requests) * reports:
            raise RuntimeError(f"only {accepted} reports were accepted")
        rates.append(accepted / seconds)
        return used / accepted

    return measure


def _bare_cost(server: Server, requests: Sequence[bytes], reports: int) -> Callable[[], float]:
    """Return a measurement of the bare handler's processor seconds a report."""

    def measure() -> float:
        before = server.cpu_seconds()
        load(server.port, requests)
        return (server.cpu_seconds() - before) / (len(requests) * reports)

    return measure
