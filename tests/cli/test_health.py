"""``deniable health``: whether the collector of these settings answers, over whatever it speaks."""

import signal

import pytest

from deniable.cli.health_command import _host
from deniable.server import Config
from tests.cli.commands import Workplace, fail, succeed
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
    assert _host(Config(origin="http://127.0.0.1:1", authority=bytes(32), host=host)) == reached


def test_a_collector_is_up_ready_or_away(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(place) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        here = ("health", "--dir", place.directory)
        assert succeed(*here) == "up\n"
        assert succeed(*here, "--ready") == "ready\n"
        for file in place.directory.glob("store.sqlite*"):
            file.unlink()
        assert succeed(*here) == "up\n"
        server.end(signal.SIGTERM)
        assert "does not answer" in fail(*here)


def test_a_store_that_takes_nothing_is_not_ready(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(place) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        for file in place.directory.glob("store.sqlite*"):
            file.unlink()
        here = ("health", "--dir", place.directory)
        assert "answers 503" in fail(*here, "--ready")


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
        assert succeed("health", "--dir", place.directory) == "up\n"
