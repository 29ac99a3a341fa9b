"""``deniable doctor --ready``: whether the collector of these settings takes reports."""

import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from deniable.directory import Config
from deniable.doctor import readiness
from deniable.doctor.readiness import local_address
from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import serving
from tests.support.certificates import certificate
from tests.support.processes import DENIABLE, await_line, child, free_port
from tests.support.raw_server import RawServer, answer


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("10.1.2.3", "10.1.2.3"),
        ("localhost", "localhost"),
    ],
)
def test_this_machine_is_reached_where_the_collector_listens(host: str, reached: str) -> None:
    assert (
        local_address(Config(origin="http://127.0.0.1:1", authority=bytes(32), host=host))
        == reached
    )


def test_a_collector_is_ready_or_away(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ("doctor", "--ready", "--dir", place.directory)
    with serving(place) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        assert succeed(*here) == "ready\n"
        server.end(signal.SIGTERM)
        assert "does not answer" in fail(*here)


@pytest.mark.long
def test_a_store_that_takes_nothing_is_not_ready(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(place) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        for file in place.directory.glob("store.sqlite*"):
            file.unlink()
        assert "answers 503" in fail("doctor", "--ready", "--dir", place.directory)


@pytest.mark.long
def test_why_a_store_is_not_ready_is_told(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(place) as server, closing(sqlite3.connect(place.directory / "store.sqlite")) as it:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        it.execute("BEGIN IMMEDIATE")
        assert "another program keeps" in fail("doctor", "--ready", "--dir", place.directory)


def test_workers_that_do_not_serve_are_told_of(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(server: RawServer, connection: socket.socket) -> None:
        if server.connections == 1:  # it falls to a worker that is taken off the port
            connection.shutdown(socket.SHUT_WR)
        else:
            connection.sendall(answer("200 OK", b'{"workers": 1, "workers_wanted": 2}'))

    with RawServer(reply) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        ready = succeed("doctor", "--ready", "--dir", place.directory)
    assert ready == "ready: 1 of 2 workers serve; its log says why\n"


def test_a_collector_that_stands_still_is_told_from_one_that_is_away(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("DENIABLE_PORT", str(silent.getsockname()[1]))
        assert "stands still" in fail("doctor", "--ready", "--dir", place.directory)


@pytest.mark.long
def test_over_tls_the_certificate_may_be_for_another_name(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate(place.directory, "telemetry.example.org")
    for name, value in {
        "PORT": str(free_port()),
        "TLS_CERTIFICATE": "certificate.pem",
        "TLS_KEY": "key.pem",
    }.items():
        monkeypatch.setenv(f"DENIABLE_{name}", value)
    with child([*DENIABLE, "serve", "--dir", place.directory], stdout=-1) as process:
        await_line(process, b"listening on https")
        assert succeed("doctor", "--ready", "--dir", place.directory) == "ready\n"


def test_readiness_stands_alone_and_loads_no_check(place: Workplace) -> None:
    for option in ("--online", "--json"):
        assert run("doctor", "--ready", option, "--dir", place.directory).exit_code == 2
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "deniable.cli", "doctor", "--ready"],
        cwd=place.directory,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "deniable.doctor.readiness" in done.stderr
    assert "deniable.doctor.examination" not in done.stderr
    assert "deniable.publishing" not in done.stderr
