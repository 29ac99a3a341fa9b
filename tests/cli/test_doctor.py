"""``deniable doctor`` finds what is wrong, says what to do, and changes nothing."""

import json
import os
import re
import socket
import sqlite3
import ssl
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from deniable.directory import Config
from deniable.doctor import network
from deniable.doctor.diagnosis import Diagnosis, Status
from deniable.doctor.examination import examine
from deniable.doctor.network import check_origin_answers, check_server
from tests.cli.commands import Workplace
from tests.cli.serving import serving
from tests.support.certificates import certificate
from tests.support.processes import DENIABLE, ROOT, await_line, child, free_port
from tests.support.raw_server import RawServer, answer
from tests.support.surveys import AUTHORITY, DAY, ORIGIN, START

OK, WARN, FAIL = Status.OK, Status.WARN, Status.FAIL


def config(**settings: Any) -> Config:
    return replace(Config(origin=ORIGIN, authority=AUTHORITY.public_key), **settings)


def examined(place: Workplace, *options: str) -> tuple[int, dict[str, Diagnosis]]:
    """Return the exit status, and what was found by the name of the check."""
    result = place.run("doctor --json", *options)
    told = json.loads(result.stdout)
    found = {
        each["check"]: Diagnosis(Status(each["status"]), each["found"], each["remedy"])
        for each in told
    }
    assert len(found) == len(told)
    return result.exit_code, found


def everything(directory: Path) -> dict[str, tuple[int, object]]:
    """Return what is in a directory: files, and of a store its rows but where it was touched."""

    def content(file: Path) -> object:
        if file.name != "store.sqlite":
            return file.read_bytes()
        with closing(sqlite3.connect(file)) as store:
            return [line for line in store.iterdump() if not line.startswith('INSERT INTO "state"')]

    files = [file for file in directory.iterdir() if not file.name.endswith(("-wal", "-shm"))]
    return {file.name: (file.stat().st_mode, content(file)) for file in files}


def test_a_new_collector_has_nothing_wrong_and_stays_as_it_is(place: Workplace) -> None:
    before = everything(place.directory)
    status, found = examined(place)
    assert status == 0
    assert {name for name, finding in found.items() if finding.status is FAIL} == set()
    assert found["store"].status is OK
    assert found["recount"].status is OK
    assert found["surveys"].status is WARN, "no survey is published"
    assert found["authority key"].status is WARN, "it is on this machine"
    assert everything(place.directory) == before


def test_the_operations_guide_lists_every_check(place: Workplace) -> None:
    guide = (ROOT / "docs" / "operations" / "troubleshooting.md").read_text("utf-8")
    listed = re.findall(
        r"^\| `([^`]+)` \|", guide.partition("| check |")[2].partition("\n\n")[0], re.MULTILINE
    )
    _, found = examined(place, "--online")
    names = [check for check, _ in examine(place.directory, os.environ, online=True)]
    assert set(found) <= {*listed} == {*names}


def test_a_secret_from_the_environment_is_not_shown(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_STORE", "mysql://me:hunter2@db.example/reports")
    result = place.run("doctor")
    assert result.exit_code == 1
    assert "hunter2" not in result.output


def test_epochs_that_should_be_sealed_and_are_not_are_counted(place: Workplace) -> None:
    # Epochs without reports have nothing that could be sealed.
    past = datetime.now(UTC) - timedelta(days=10)
    place.publish(start=past.isoformat(timespec="seconds"))
    assert examined(place)[1]["seals"].status is OK
    place.count([0, 1], epoch=2)
    seals = examined(place)[1]["seals"]
    assert (seals.status, seals.text) == (WARN, "epochs overdue: 3, such as epoch 0 of tea")
    place.run("survey seal tea 0 --yes")


def test_a_store_that_another_program_keeps_locked_is_named_as_such(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.doctor.store_checks._LOCK_SECONDS", 0.05)
    with closing(sqlite3.connect(place.directory / "store.sqlite")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        status, found = examined(place)
    assert (status, found["store"].status) == (1, FAIL)
    assert "another program" in found["store"].text
    assert "fuser" in found["store"].remedy


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        (answer("200 OK", b'{"workers": 2, "workers_wanted": 2}'), OK, "is ready"),
        (answer("200 OK", b'{"workers": 1, "workers_wanted": 2}'), WARN, "1 of 2 workers"),
        (answer("503 Unavailable", b'{"detail": "it was moved"}'), FAIL, "503: it was moved"),
        (answer("404 Not Found"), FAIL, "not a collector"),
    ],
)
def test_a_server_that_runs_is_asked_if_it_is_ready(said: bytes, status: Status, told: str) -> None:
    with RawServer(said) as server:
        finding = check_server(config(port=server.port))
    assert finding is not None
    assert (finding.status, told in finding.text) == (status, True)
    assert check_server(config(port=server.port)) is None


def pretending(status: str, tag: str, tls: ssl.SSLContext | None = None) -> RawServer:
    """Return a server that answers everything alike."""
    return RawServer(answer(status, b"", f'ETag: "{tag}"'), tls)


def test_the_origin_must_lead_to_this_collector() -> None:
    key = AUTHORITY.public_key
    with pretending("200 OK", key.hex()) as server:
        origin = server.origin
        assert check_origin_answers(config(origin=origin), key, START).status is OK
        assert server.requests[0].startswith(b"GET /v1/authority HTTP/1.1\r\n")
        finding = check_origin_answers(config(origin=origin), bytes(32), START)
        assert (finding.status, "another collector" in finding.text) == (FAIL, True)
        assert finding.remedy.startswith("check DNS")
    with pretending("404 Not Found", key.hex()) as server:
        origin = server.origin
        finding = check_origin_answers(config(origin=origin), key, START)
        assert (finding.status, "responds with 404" in finding.text) == (FAIL, True)
    finding = check_origin_answers(config(origin=origin), key, START)
    assert (finding.status, "does not respond" in finding.text) == (FAIL, True)
    assert finding.remedy == "is the server running?"


def test_a_private_authority_is_told_from_a_server_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = AUTHORITY.public_key
    file, tls = certificate(tmp_path, "127.0.0.1", 100)
    with pretending("200 OK", key.hex(), tls) as server:
        origin = server.origin
        finding = check_origin_answers(config(origin=origin), key, START)
        assert (finding.status, "SSL_CERT_FILE" in finding.remedy) == (FAIL, True)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        ends = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc.timestamp()
        for days, status in ((22, OK), (20, WARN)):
            finding = check_origin_answers(config(origin=origin), key, ends - days * DAY)
            assert (finding.status, "is valid until" in finding.text) == (status, status is WARN)
    file, expired = certificate(tmp_path, "127.0.0.1", -1)
    with pretending("200 OK", key.hex(), expired) as server:
        finding = check_origin_answers(config(origin=server.origin), key, START)
    assert (finding.status, "has expired" in finding.text) == (FAIL, True)
    assert finding.remedy.startswith("renew the certificate")


def test_a_setting_that_names_no_survey_is_found_and_an_origin_that_is_away_once(
    place: Workplace,
) -> None:
    place.set(public='["tpyo"]')
    found = examined(place, "--online")[1]
    named = found["named surveys"]
    assert (named.status, "'tpyo' in public" in named.text) == (WARN, True)
    assert found["origin"].status is FAIL


def test_the_origin_is_asked_only_if_told_to(place: Workplace) -> None:
    assert "origin" not in examined(place)[1]
    status, found = examined(place, "--online")
    assert found["origin"].status in {OK, FAIL}
    assert status == (found["origin"].status is FAIL)


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        *(("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1")),
        *(("10.1.2.3", "10.1.2.3"), ("localhost", "localhost")),
    ],
)
def test_this_machine_is_reached_where_the_collector_listens(host: str, reached: str) -> None:
    assert network.local_address(config(host=host)) == reached


def test_a_collector_is_ready_or_away_or_stands_still(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(place) as server:
        monkeypatch.setenv("DENIABLE_PORT", str(server.port))
        assert place.succeed("doctor --ready") == "ready\n"
        server.end()
    assert "does not respond" in place.fail("doctor --ready")
    monkeypatch.setattr(network, "SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("DENIABLE_PORT", str(silent.getsockname()[1]))
        assert "hangs" in place.fail("doctor --ready")


@pytest.mark.long
def test_over_tls_the_certificate_may_be_for_another_name(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate(place.directory, "telemetry.example.org")
    monkeypatch.setenv("DENIABLE_PORT", str(free_port()))
    place.set(tls_certificate='"certificate.pem"', tls_key='"key.pem"')
    with child([*DENIABLE, "serve", "--dir", place.directory], stdout=-1) as process:
        await_line(process, b"listening on https")
        assert place.succeed("doctor --ready") == "ready\n"


def test_readiness_stands_alone_and_loads_no_check(place: Workplace) -> None:
    for option in ("--online", "--json"):
        assert place.run("doctor --ready", option).exit_code == 2
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "deniable.cli", "doctor", "--ready"],
        cwd=place.directory,
        env={**os.environ, "DENIABLE_PORT": str(free_port())},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "deniable.doctor.network" in done.stderr
    assert "deniable.doctor.examination" not in done.stderr
    assert "deniable.publishing" not in done.stderr
