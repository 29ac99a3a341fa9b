"""Networks that are away, hang, or could tell of every start: what a device asks of them, and when.

Real sockets throughout. Where hours go by, they are those of a clock that naps move.
"""

import errno
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from deniable.client import Client, ClientSettings
from deniable.client.sending import uploader
from deniable.client.sending.delays import Wake
from deniable.fakes import FakeCollector, Misbehaviour
from tests.support.clock import FakeClock
from tests.support.processes import run
from tests.support.script_app import SURVEYS
from tests.support.watched import SECONDS

HANGS = 18.0  # seconds of a script that may take two: one request that nobody bounds takes twenty
SLOW = 20.0  # seconds until a resolver without a network gives up
THEME = SURVEYS[-1]


def script(collector: FakeCollector, folder: Path, mode: str, *bundled: Path) -> str:
    app = [sys.executable, "-W", "error", "-m", "tests.support.script_app"]
    folder.mkdir(exist_ok=True)
    there: list[str | Path] = [collector.origin, collector.authority, folder / "state.sqlite", mode]
    return run([*app, *there, *bundled], seconds=HANGS).stdout.strip()


def without_route(monkeypatch: pytest.MonkeyPatch, clock: FakeClock, back: float) -> None:
    class Socket(socket.socket):
        def connect(self, address: Any) -> None:
            if clock.time < back:
                raise OSError(errno.ENETUNREACH, "Network is unreachable")
            super().connect(address)

    monkeypatch.setattr(socket, "socket", Socket)


def without_names(monkeypatch: pytest.MonkeyPatch, clock: FakeClock, back: float) -> None:
    resolve = socket.getaddrinfo

    def getaddrinfo(*arguments: Any, **named: Any) -> Any:
        if clock.time < back:
            clock.time += SLOW
            raise socket.gaierror(socket.EAI_AGAIN, "no name server")
        return resolve(*arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize("outage", [2.0, 155.0, 4000.0])
@pytest.mark.parametrize("goes_away", [without_route, without_names])
@pytest.mark.parametrize("is_bundled", [False, True])
def test_d10_who_starts_offline_is_served_soon_after_the_networks_return(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    goes_away: Callable[[pytest.MonkeyPatch, FakeClock, float], None],
    outage: float,
    is_bundled: bool,
) -> None:
    clock = FakeClock()
    back = clock.time + outage
    late = 60 if outage < 600 else 660  # looks come at least every ten minutes, at first more often
    # Who has the survey already may take its time: whoever runs the name's server sees each try.
    latest = {"GET": back + (3600 if is_bundled else 0) + late}
    served: dict[str, float] = {}
    over = threading.Event()

    class Naps(Wake):
        """What the thread waits for: time goes by, until all has come."""

        def wait(self, seconds: float) -> None:
            for request in collector.requests:
                served.setdefault(request.method, clock.time)
            if latest.keys() - served:
                clock.time += seconds
            else:
                over.set()
                super().wait(SECONDS)

    monkeypatch.setattr(uploader, "Wake", Naps)
    with FakeCollector(clock=clock) as collector:
        envelope = collector.publish(THEME)
        goes_away(monkeypatch, clock, back)
        with Client(
            collector.origin,
            authority=collector.authority,
            surveys=[THEME],
            state=tmp_path / "state.sqlite",
            consent="on",
            settings=ClientSettings(
                first_epoch="now", manifests=[envelope] * is_bundled, clock=clock
            ),
        ) as client:
            if is_bundled:  # then the survey is no hurry, and the report is due within an hour
                latest = {"POST": max(back, clock.time + 3600) + late}
            assert client.report(THEME, "this").ok is is_bundled
            assert over.wait(SECONDS)
            assert client.report(THEME, "this").ok
    assert served.keys() >= latest.keys()
    assert all(served[method] <= latest[method] for method in latest)


def test_a_script_ends_in_time_without_an_answer(tmp_path: Path) -> None:
    with FakeCollector() as collector, ThreadPoolExecutor(2) as pool:
        files = [tmp_path / survey.name for survey in SURVEYS]
        for file, survey in zip(files, SURVEYS, strict=True):
            file.write_bytes(collector.publish(survey))
        collector.misbehave(Misbehaviour.STALL, times=100)
        ran = [
            pool.submit(script, collector, tmp_path / mode, mode, *files)
            for mode in ("alone", "thread")
        ]
        for done in ran:
            assert done.result() == "editor shell theme recorded 0 3"
        assert collector.requests  # how many leave in this time depends on the machine


@pytest.mark.long
def test_d10_a_tool_that_starts_fifty_times_a_day_asks_once_for_each_survey(tmp_path: Path) -> None:
    with FakeCollector() as collector:
        for survey in SURVEYS:
            collector.publish(survey)
        shown = Counter(script(collector, tmp_path, mode) for mode in ["alone", "thread"] * 25)
        asked = Counter(request.path for request in collector.requests)
    assert shown == {"editor shell theme recorded 3 0": 1, "editor shell theme repeated 0 0": 49}
    manifests = {f"/v1/surveys/{survey.name}/manifests": 1 for survey in SURVEYS}
    assert asked == manifests | {"/v1/reports": 3}
