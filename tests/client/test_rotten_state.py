"""Bits that rot inside the state: nothing is raised at the app, and no epoch is decided twice."""

import json
import sqlite3
from contextlib import closing, suppress
from itertools import product

import pytest

from deniable.client import Consent, Delivery, Outcome, StateUnavailable
from deniable.client.explaining.explain import explain_stored
from deniable.client.state.state import State
from tests.support.devices import NAME, Bench
from tests.support.effort import THOROUGH
from tests.support.surveys import DAY, START


def edit(bench: Bench, statement: str) -> None:
    """Change the file as a bad disk would: without the application's knowledge."""
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute(statement)


def raises_nothing(bench: Bench, days: int) -> None:
    """Do on so many days what an app does."""
    client = bench.client()
    for day in range(days):
        bench.clock.time = START + day * DAY
        assert isinstance(client.report(NAME, "good"), Outcome)
        client.refresh(force=True)
        assert isinstance(client.flush(), Delivery)


@pytest.mark.parametrize("offset", range(0, 16_384, 257 if THOROUGH else 9 * 257))
def test_a_byte_that_flips_anywhere_raises_nothing(bench: Bench, offset: int) -> None:
    bench.reported().close()
    content = bytearray(bench.path.read_bytes())
    assert offset < len(content), "the state became smaller; shorten the range"
    content[offset] ^= 0xFF
    bench.path.write_bytes(content)
    raises_nothing(bench, 2)
    assert bench.draw.count <= 3


@pytest.mark.parametrize("table", ["device", "manifests", "decisions", "events", "consents"])
def test_whatever_rots_nothing_is_raised(bench: Bench, table: str) -> None:
    client = bench.ready()
    client.set_consent("on")
    client.report(NAME, "good")
    client.close()
    sound = bench.path.read_bytes()
    columns = [name for name, *_ in bench.rows(f"SELECT name FROM pragma_table_info('{table}')")]
    values = ("-1", str(2**62), "'\x1b'", "x'00'", "9e999")
    whole = list(product(columns, values))
    for column, value in whole if THOROUGH else whole[2::7]:
        bench.path.write_bytes(sound)
        with suppress(sqlite3.IntegrityError):
            edit(bench, f"UPDATE {table} SET {column} = {value}")
        looking = bench.client()
        assert isinstance(looking.report(NAME, "good"), Outcome)
        looking.refresh(force=True)
        assert isinstance(looking.flush(), Delivery)
        page = looking.explain()
        assert "\x1b" not in str(page) + json.dumps(page.to_dict())
        with suppress(StateUnavailable):
            journal = looking.journal()
            assert "\x1b" not in str(journal) + json.dumps(journal.to_dict())
        looking.close()


def test_without_the_app_a_survey_whose_manifest_rotted_is_left_out(bench: Bench) -> None:
    bench.ready().close()
    sound = bench.path.read_bytes()
    for rot in ("envelope = x'00'", "signer = x'00'", "name = x'00'"):
        bench.path.write_bytes(sound)
        edit(bench, f"UPDATE manifests SET {rot}")
        state = State(bench.path, Consent.UNSET, {})
        surveys = explain_stored(state, bench.clock.now()).surveys
        assert [survey.name for survey in surveys] == ([NAME] if "name" in rot else [])
        state.close()
