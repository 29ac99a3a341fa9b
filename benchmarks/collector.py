"""The collector: processor time a report, against a bare handler and a bare verification."""

import http.client
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.full_store import fill
from benchmarks.load import load
from benchmarks.rounds import Rounds, interleave
from benchmarks.servers import Server, bare_handler, collector, run_command
from benchmarks.table import Row, show
from benchmarks.uploads import BATCH, SURVEY_NAME, Uploads, make_collector, sign_uploads
from benchmarks.verification import verifications

_ROUNDS: Final = 5
_SINGLES: Final = 4_000
_BATCHES: Final = 150
_REPEATS: Final = 30
"""The bare handler gets the batches so often, or its few milliseconds were lost in clock ticks."""
_VERIFIED: Final = 1_500
_STORED: Final = 10_000_000
_READINGS: Final = 50


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        places = _Places(Path(scratch))
        # As many sets of requests as rounds, and one to warm up: a full store keeps what it got.
        sets = [sign_uploads(places.survey_id, _SINGLES, _BATCHES) for _ in range(_ROUNDS + 1)]
        rates: dict[str, list[float]] = {"one": [], "many": [], "many, two workers": []}
        with bare_handler() as bare, bare_handler(verify=True) as verifying:
            found = interleave(
                {
                    "one": _cost(places.fresh, _singles(sets), 1, rates["one"]),
                    "bare one": _bare_cost(bare, sets[0].singles, 1),
                    "verifying one": _bare_cost(verifying, sets[0].singles, 1),
                    "verifying many": _bare_cost(verifying, sets[0].batches, BATCH),
                    "many": _cost(places.fresh, _batches(sets), BATCH, rates["many"]),
                    "bare many": _bare_cost(bare, [*sets[0].batches] * _REPEATS, BATCH),
                    "one, full": _cost(places.full, _singles(sets), 1),
                    "many, full": _cost(places.full, _batches(sets), BATCH),
                    "many, two workers": _cost(
                        places.two_workers, _batches(sets), BATCH, rates["many, two workers"]
                    ),
                    "histogram": _reading_cost(places, f"/v1/surveys/{SURVEY_NAME}/histogram"),
                    "nothing": _reading_cost(places, "/healthz"),
                    **verifications(sets[0].reports[:_VERIFIED]),
                },
                _ROUNDS,
            )
    _show(found, {name: Rounds(tuple(values[1:])) for name, values in rates.items()})


def _show(found: dict[str, Rounds], rates: dict[str, Rounds]) -> None:
    verified = found["libsodium"]
    show(
        "verifying one report's signature, its key being new",
        [
            Row("the device's: OpenSSL behind our checks", found["ours"].scaled(1e6), "µs"),
            Row("cryptography (OpenSSL) alone", found["OpenSSL"].scaled(1e6), "µs"),
            Row("PyNaCl (libsodium) alone", verified.scaled(1e6), "µs"),
        ],
    )
    floor = found["bare one"] + verified
    show(
        "the collector, one report a request, each durable before its answer",
        [
            Row("rate, load on the same cores", rates["one"], "reports/s"),
            Row("collector's processor time a report", found["one"].scaled(1e6), "µs"),
            Row("a bare aiohttp handler's", found["bare one"].scaled(1e6), "µs"),
            Row("one that verifies, too", found["verifying one"].scaled(1e6), "µs"),
            Row("collector ÷ (bare handler + libsodium)", found["one"] / floor),
            Row("collector ÷ bare handler that verifies", found["one"] / found["verifying one"]),
            Row("with 10 M receipts ÷ with none", found["one, full"] / found["one"]),
        ],
    )
    show(
        f"the collector, {BATCH} reports a request, each durable before its answer",
        [
            Row("rate, load on the same cores", rates["many"], "reports/s"),
            Row("collector's processor time a report", found["many"].scaled(1e6), "µs"),
            Row("a bare aiohttp handler's", found["bare many"].scaled(1e6), "µs"),
            Row("one that verifies, too", found["verifying many"].scaled(1e6), "µs"),
            Row("collector ÷ libsodium", found["many"] / verified),
            Row("collector ÷ bare handler that verifies", found["many"] / found["verifying many"]),
            Row("with 10 M receipts ÷ with none", found["many, full"] / found["many"]),
            Row("rate of two workers ÷ of one", rates["many, two workers"] / rates["many"]),
            Row("their processor time ÷ one's", found["many, two workers"] / found["many"]),
        ],
    )
    show(
        "a histogram of 16 categories over 10 M reports, by HTTP",
        [
            Row("made anew", found["histogram"].scaled(1e3), "ms"),
            Row("GET /healthz", found["nothing"].scaled(1e3), "ms"),
        ],
    )


@dataclass
class _Places:
    """Collectors to be measured: with an empty store, anew each time, or with a full one."""

    scratch: Path
    survey_id: bytes = field(init=False)
    token: str = field(init=False, repr=False)
    _numbers: Iterator[int] = field(init=False, default_factory=count)

    def __post_init__(self) -> None:
        self._empty, self._full = self.scratch / "empty", self.scratch / "full"
        self.survey_id = make_collector(self._empty)
        shutil.copytree(self._empty, self._full)
        fill(self._full / "store.sqlite", _STORED)
        # Who has no token gets a histogram only after a rest of three times what the last one took.
        self.token = run_command("token", "new", "--dir", self._full).split()[-1]

    @contextmanager
    def fresh(self) -> Iterator[Server]:
        """Serve a collector whose store is empty."""
        with collector(self._copy()) as server:
            yield server

    @contextmanager
    def two_workers(self) -> Iterator[Server]:
        """Serve it with two processes."""
        with collector(self._copy(), workers=2) as server:
            yield server

    @contextmanager
    def full(self) -> Iterator[Server]:
        """Serve a collector whose store holds many receipts."""
        with collector(self._full) as server:
            yield server

    def _copy(self) -> Path:
        return shutil.copytree(self._empty, self.scratch / f"copy-{next(self._numbers)}")


def _singles(sets: Sequence[Uploads]) -> Iterator[Sequence[bytes]]:
    return iter([each.singles for each in sets])


def _batches(sets: Sequence[Uploads]) -> Iterator[Sequence[bytes]]:
    return iter([each.batches for each in sets])


def _cost(
    serve: Callable[[], AbstractContextManager[Server]],
    sets: Iterator[Sequence[bytes]],
    reports: int,
    rates: list[float] | None = None,
) -> Callable[[], float]:
    """Return a measurement of a collector's processor seconds a report; it notes the rate, too."""

    def measure() -> float:
        requests = next(sets)
        with serve() as server:
            before = server.cpu_seconds()
            seconds, accepted = load(server.port, requests)
            used = server.cpu_seconds() - before
        if accepted != len(requests) * reports:
            raise RuntimeError(f"only {accepted} reports were accepted")
        if rates is not None:
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


def _reading_cost(places: _Places, path: str) -> Callable[[], float]:
    """Return a measurement of the seconds that a GET takes, the mean of some."""

    def measure() -> float:
        with places.full() as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            # Another level each time, so that no histogram is made once and remembered.
            paths = [f"{path}?level=0.{9_000 + number}" for number in range(_READINGS + 1)]
            if "histogram" not in path:
                paths = [path] * len(paths)
            for number, asked in enumerate(paths):
                if number == 1:  # the first has loaded what it needs
                    started = time.perf_counter()
                connection.request(
                    "GET", asked, headers={"Authorization": f"Bearer {places.token}"}
                )
                answer = connection.getresponse()
                if answer.status != 200:
                    raise RuntimeError(f"{asked} got {answer.status}")
                answer.read()
            connection.close()
            return (time.perf_counter() - started) / _READINGS

    return measure
