"""``deniable doctor --ready``: whether the collector of these settings takes reports."""

import signal
import socket
import subprocess
import sys

import pytest

from deniable.directory import Config
from deniable.doctor import readiness
from deniable.doctor.readiness import local_address
from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import serving
from tests.support.certificates import certificate
from tests.support.processes import DENIABLE, await_line, child, free_port


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
