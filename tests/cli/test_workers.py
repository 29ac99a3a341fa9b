"""``deniable serve --workers``: processes on one port, and what happens when one of them dies."""

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory import read_authority_key
from deniable.messages import Schedule, UploadAnswer, pack_upload
from deniable.stores import SqliteStore
from tests.cli.commands import Workplace
from tests.cli.serving import SECONDS, Reached, Server, serving
from tests.support.processes import DENIABLE, free_port, run
from tests.support.reports import envelope, report
from tests.support.surveys import manifest
from tests.support.watched import until

MSGPACK = {"Content-Type": "application/msgpack"}


def children(server: Server) -> set[int]:
    """Return the workers' processes."""
    pid = server.process.pid
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def metrics_folder(server: Server) -> Path:
    """Return where the workers have their meters."""
    maps = Path(f"/proc/{max(children(server))}/maps").read_text("utf-8")
    (folder,) = {Path(file).parent for file in re.findall(r"/\S+/counter_\d+\.db", maps)}
    return folder


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Stop a process; let it go on at the end, if it is still there."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def is_gone(pid: int) -> bool:
    """Return if a process is no more, or only its exit status is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def ask_until_answered(server: Reached, path: str = "/readyz") -> tuple[int, bytes]:
    """Ask; again, where the kernel still deals connections to a worker that has died."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return server.request("GET", path)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_so_many_workers_serve_one_port_and_one_store(place: Workplace) -> None:
    place.publish()
    survey = place.manifest()
    bodies = [pack_upload([envelope(device, survey=survey)]) for device in range(12)]
    with serving(place, "--workers", "3") as server:
        assert len(children(server)) == 3
        # Each on a connection of its own, so that several workers get some.
        answers = [server.request("POST", "/v1/reports", body, MSGPACK) for body in bodies * 2]
        read = [UploadAnswer.from_json(body, 1) for _, body in answers]
        assert read == [UploadAnswer(1, 0)] * len(bodies) + [UploadAnswer(0, 1)] * len(bodies)
        workers = children(server)
        status, rest = server.end()
        assert (status, "everything acknowledged is stored" in rest) == (0, True)
        assert all(is_gone(worker) for worker in workers)


@pytest.mark.parametrize(
    "command",
    [DENIABLE, pytest.param(("env", "--ignore-signal=CHLD", *DENIABLE), marks=pytest.mark.long)],
)
def test_a_worker_that_is_killed_is_started_anew_and_what_it_counted_stays(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    place.publish()
    survey, metrics = place.manifest(), free_port()
    bodies = [pack_upload([envelope(device, survey=survey)]) for device in range(8)]
    monkeypatch.setenv("DENIABLE_METRICS", f"127.0.0.1:{metrics}")
    with serving(place, "--workers", "2", command=command) as server:
        for body in bodies:
            assert server.request("POST", "/v1/reports", body, MSGPACK)[0] == 200
        before, folder = children(server), metrics_folder(server)
        files = {*folder.iterdir()}
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(children(server) - before) == 2)
        assert ask_until_answered(server)[0] == 200
        text = ask_until_answered(Reached(metrics), "/metrics")[1]
        assert b"\ndeniable_reports_accepted_total 8.0\n" in text
        until(lambda: {*folder.iterdir()} == files)  # and so it is, however many die
        assert folder.stat().st_mode & 0o777 == 0o700
        assert server.end()[0] == 0
    assert not folder.exists()
    assert "worker" in server.log.read_text("utf-8")


@pytest.mark.long
def test_no_connection_waits_for_a_worker_that_stands_still(place: Workplace) -> None:
    with serving(place, "--workers", "2") as server:
        before = children(server)
        with standing_still(max(before)):
            for _ in range(20):
                assert server.request("GET", "/readyz")[0] == 200
            assert children(server) == before
        assert server.end()[0] == 0


@pytest.mark.long
def test_while_a_worker_stands_still_another_keeps_the_surveys_up(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = manifest(schedule=Schedule(int(time.time()) - 60, 1, 1, 0))
    monkeypatch.setenv("DENIABLE_UPKEEP_SECONDS", "0.1")

    async def sealed() -> bool:
        store = await SqliteStore.open(place.directory / "store.sqlite")
        try:
            await store.publish(survey, sign_manifest(survey, read_authority_key(place.key_file)))
            await store.add([report(1, survey=survey)])
            return len(await store.seals(survey.survey_id)) == 1
        finally:
            await store.close()

    with serving(place, "--workers", "2") as server:
        # Their parent, too: it would kill the one that leads.
        with standing_still(server.process.pid), standing_still(min(children(server))):
            until(lambda: asyncio.run(sealed()))
        assert server.end()[0] == 0


@pytest.mark.long
def test_a_port_is_taken_by_other_workers_and_not_by_one_that_closed_its_connections(
    place: Workplace,
) -> None:
    with serving(place, "--workers", "1") as server:
        # Whose end comes from the server's side, so that the kernel keeps it for a minute.
        server.exchange(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert server.end()[0] == 0
    with serving(place, "--workers", "2", port=server.port) as several:
        assert several.port == server.port
        workers = children(several)
        for number in ("1", "2"):
            done = run(
                [*DENIABLE, "serve", "--dir", place.directory, "--workers", number], status=1
            )
            assert "cannot listen on" in done.stderr
        assert several.end(signal.SIGINT)[0] == 0
        assert all(is_gone(worker) for worker in workers)


@pytest.mark.long
def test_a_worker_that_cannot_begin_says_why_and_nothing_is_served(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_PORT", str(free_port()))
    store = place.directory / "store.sqlite"
    store.write_bytes(b"this is no database, whoever looks" * 100)
    done = run([*DENIABLE, "serve", "--dir", place.directory, "--workers", "2"], status=1)
    assert "store.sqlite cannot be opened" in done.stderr
    assert "Traceback" not in done.stderr
    assert subprocess.run(["pgrep", "-f", str(place.directory)], check=False).returncode == 1
