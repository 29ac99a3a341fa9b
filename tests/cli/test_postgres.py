"""The commands and the server on a store in PostgreSQL: the same as on a file."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.messages import UploadAnswer, pack_upload
from tests.cli.commands import Workplace, fail, run, succeed
from tests.cli.serving import Server, serving
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import free_port
from tests.support.reports import envelope
from tests.support.watched import until

STORE_LINE = "store     PostgreSQL, by DENIABLE_STORE\n"
"""How the store is named: nothing of its URL."""
MSGPACK = {"Content-Type": "application/msgpack"}


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def use(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what makes a database the store of all that follows."""
    return lambda database: monkeypatch.setenv("DENIABLE_STORE", server.url(database))


@pytest.fixture
def shared(server: PostgresServer, use: Callable[[str], None], tmp_path: Path) -> Workplace:
    """Return a new collector whose store is in a new database, which had no tables."""
    use(asyncio.run(server.create()))
    directory = tmp_path / "collector"
    succeed("init", directory)
    assert list(directory.glob("*.sqlite*")) == []
    return Workplace(directory)


def test_figures_check_and_doctor_are_those_of_the_database(shared: Workplace) -> None:
    shared.publish()
    shared.count([0, 1, 1, 2, 3, 1])
    here = ("--dir", shared.directory)
    assert json.loads(succeed("hist", "tea", "--json", *here))["n"] == 6
    assert succeed("store", "check", *here) == "the store is in order\n"
    assert "PostgreSQL answers" in succeed("doctor", *here)


def test_a_database_without_a_store_is_no_store_until_it_is_migrated(
    shared: Workplace, server: PostgresServer, use: Callable[[str], None]
) -> None:
    use(asyncio.run(server.create()))
    here = ("--dir", shared.directory)
    assert "deniable store migrate" in fail("survey", "list", *here)
    (finding,) = [each for each in examined(shared) if each["check"] == "store"]
    assert (finding["status"], "store migrate" in finding["remedy"]) == ("fail", True)
    assert succeed("store", "migrate", *here) == f"schema    version 1, was 0\n{STORE_LINE}"
    assert succeed("store", "migrate", *here) == f"schema    version 1\n{STORE_LINE}"
    shared.publish()
    assert "tea" in succeed("survey", "list", *here)


def test_a_backup_goes_from_a_database_to_a_file_and_into_another_database(
    shared: Workplace,
    server: PostgresServer,
    use: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    shared.publish()
    shared.count([0, 1, 1, 2, 3, 1])
    here = ("--dir", shared.directory)
    figures = succeed("hist", "tea", "--json", *here)
    backup = tmp_path / "monday"
    assert succeed("store", "backup", backup, *here).startswith("backup    ")
    restored = "restored  1 surveys, 1 of them signed by this authority\n"
    into_file = f"store     {shared.directory / 'store.sqlite'}\n"
    use(asyncio.run(server.create()))
    assert succeed("store", "restore", backup, *here) == restored + STORE_LINE
    assert succeed("hist", "tea", "--json", *here) == figures
    monkeypatch.delenv("DENIABLE_STORE")
    assert succeed("store", "restore", backup, *here) == restored + into_file
    assert succeed("hist", "tea", "--json", *here) == figures


def examined(place: Workplace) -> list[dict[str, str]]:
    findings: list[dict[str, str]] = json.loads(
        run("doctor", "--json", "--dir", place.directory).stdout
    )
    return findings


@pytest.mark.long
def test_the_remedy_fits_what_keeps_the_database_away(
    shared: Workplace, monkeypatch: pytest.MonkeyPatch, server: PostgresServer
) -> None:
    nobody = server.url("none").replace("deniable@", "stranger@")
    for url, remedy in (
        ("postgresql://somebody:secret-word@127.0.0.1:1/none", "does it run?"),
        ("postgres://somebody:secret-word@127.0.0.1:1/none", "does it run?"),
        (nobody, "role, password"),
        (server.url("none"), "the database's name"),
    ):
        monkeypatch.setenv("DENIABLE_STORE", url)
        (finding,) = [each for each in examined(shared) if each["check"] == "store"]
        assert finding["status"] == "fail"
        assert remedy in finding["remedy"]
        assert "secret-word" not in str(finding)


@pytest.mark.long
def test_connections_to_the_database_are_told(
    shared: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = free_port()
    monkeypatch.setenv("DENIABLE_METRICS", f"127.0.0.1:{metrics}")
    with serving(shared, "--workers", "2") as one:
        until(lambda: usage(Server(one.process, metrics, one.log))["allowed"] == 2 * 8)
        found = usage(Server(one.process, metrics, one.log))
    assert 0 <= found["in-use"] <= found["open"] <= found["allowed"]
    assert found["open"] > 0


def usage(server: Server) -> dict[str, float]:
    text = server.request("GET", "/metrics")[1].decode()
    return {
        state: float(value)
        for state, value in re.findall(
            r'^deniable_database_connections\{state="(.+)"\} ([\d.]+)$', text, re.MULTILINE
        )
    }


@pytest.mark.long
def test_two_collectors_share_a_database(shared: Workplace) -> None:
    shared.publish()
    survey = shared.manifest()
    bodies = [pack_upload([envelope(device, survey=survey)]) for device in range(10)]
    with serving(shared) as one, serving(shared, "--workers", "2") as two:
        assert [each.request("GET", "/readyz")[0] for each in (one, two)] == [200, 200]
        for server, answer in ((one, UploadAnswer(1, 0, ())), (two, UploadAnswer(0, 1, ()))):
            for body in bodies:
                status, said = server.request("POST", "/v1/reports", body, MSGPACK)
                assert (status, UploadAnswer.from_json(said, 1)) == (200, answer)
        for each in (one, two):
            assert each.end()[0] == 0
    shown = json.loads(succeed("hist", "tea", "--json", "--dir", shared.directory))
    assert shown["n"] == 10
    assert succeed("store", "check", "--dir", shared.directory) == "the store is in order\n"


@pytest.mark.long
def test_a_server_whose_database_is_away_says_so_in_a_line(
    shared: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_STORE", "postgresql://somebody:secret-word@127.0.0.1:1/none")
    said = fail("serve", "--dir", shared.directory)
    assert "cannot be reached" in said
    assert "secret-word" not in said
