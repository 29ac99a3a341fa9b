"""The commands and the server on a store in PostgreSQL: the same as on a file."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Workplace, succeed
from tests.cli.serving import Reached, serving
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import free_port
from tests.support.watched import until

STORE_LINE = "store     PostgreSQL, set by DENIABLE_STORE\n"
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


def test_a_database_without_a_store_is_no_store_until_it_is_migrated(
    shared: Workplace, server: PostgresServer, use: Callable[[str], None]
) -> None:
    assert "PostgreSQL responds" in shared.succeed("doctor")
    use(asyncio.run(server.create()))
    assert "deniable store migrate" in shared.fail("survey list")
    finding = examined(shared)
    assert (finding["status"], "store migrate" in finding["remedy"]) == ("fail", True)
    assert shared.succeed("store migrate") == f"schema    version 1, was 0\n{STORE_LINE}"
    assert shared.succeed("store migrate") == f"schema    version 1\n{STORE_LINE}"
    shared.publish()
    assert "tea" in shared.succeed("survey list")


def test_a_backup_goes_from_a_database_to_a_file_and_into_another_database(
    shared: Workplace,
    server: PostgresServer,
    use: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    shared.publish()
    shared.count([0, 1, 1, 2, 3, 1])
    figures = shared.succeed("hist tea --json")
    assert json.loads(figures)["n"] == 6
    assert shared.succeed("store check") == "the store is in order\n"
    backup = tmp_path / "monday"
    assert shared.succeed("store backup", backup).startswith("backup    ")
    restored = "restored  1 surveys, 1 of them signed by this authority\n"
    into_file = f"store     {shared.directory / 'store.sqlite'}\n"
    use(asyncio.run(server.create()))
    assert shared.succeed("store restore", backup) == restored + STORE_LINE
    assert shared.succeed("hist tea --json") == figures
    monkeypatch.delenv("DENIABLE_STORE")
    assert shared.succeed("store restore", backup) == restored + into_file
    assert shared.succeed("hist tea --json") == figures


def examined(place: Workplace) -> dict[str, str]:
    """Return what doctor finds of the store."""
    findings = json.loads(place.run("doctor --json").stdout)
    (finding,) = [finding for finding in findings if finding["check"] == "store"]
    return dict(finding)


@pytest.mark.long
def test_the_remedy_fits_what_keeps_the_database_away(
    shared: Workplace, monkeypatch: pytest.MonkeyPatch, server: PostgresServer
) -> None:
    nobody = server.url("none").replace("deniable@", "stranger@")
    for url, remedy in (
        ("postgresql://somebody:secret-word@127.0.0.1:1/none", "check the database server"),
        ("postgres://somebody:secret-word@127.0.0.1:1/none", "check the database server"),
        (nobody, "the role, the password"),
        (server.url("none"), "database name"),
    ):
        monkeypatch.setenv("DENIABLE_STORE", url)
        finding = examined(shared)
        assert finding["status"] == "fail"
        assert remedy in finding["remedy"]
        assert "secret-word" not in str(finding)
        if remedy == "check the database server":
            said = shared.fail("serve")
            assert ("cannot be reached" in said, "secret-word" in said) == (True, False)


@pytest.mark.long
def test_connections_to_the_database_are_told(
    shared: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = free_port()
    monkeypatch.setenv("DENIABLE_METRICS", f"127.0.0.1:{metrics}")
    with serving(shared, "--workers", "2"):
        until(lambda: usage(Reached(metrics))["allowed"] == 2 * 8)
        found = usage(Reached(metrics))
    assert 0 <= found["in-use"] <= found["open"] <= found["allowed"]
    assert found["open"] > 0


def usage(server: Reached) -> dict[str, float]:
    text = server.request("GET", "/metrics")[1].decode()
    return {
        state: float(value)
        for state, value in re.findall(
            r'^deniable_database_connections\{state="(.+)"\} ([\d.]+)$', text, re.MULTILINE
        )
    }
