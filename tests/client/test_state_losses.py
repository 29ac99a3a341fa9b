"""States that are lost, rot, are copied or put back (D5): no epoch is decided again."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from deniable.client import (
    IN_MEMORY,
    Client,
    Consent,
    Delivery,
    EpochUndecidable,
    Outcome,
    OutcomeStatus,
    ReportDropped,
    StateUnavailable,
)
from deniable.client.client import engine_of
from deniable.client.console import as_json
from deniable.client.explaining.explain import explain_stored
from deniable.client.state import mark as mark_module
from deniable.client.state.state import State
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench, took
from tests.support.effort import THOROUGH, some
from tests.support.losses import decided
from tests.support.surveys import DAY, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda content: b"\xa5" * len(content),
    "text": lambda _: b"this is no database\n" * 100,
    "truncated to half": lambda content: content[: len(content) // 2],
    "truncated within the header": lambda content: content[:50],
    "a header of zeros": lambda content: bytes(100) + content[100:],
}
STATE, MARK = "device.sqlite", "device.sqlite.mark"


@pytest.mark.parametrize("damage", DAMAGES)
def test_d5_a_damaged_state_is_deleted_and_replaced(bench: Bench, damage: str) -> None:
    bench.path.write_bytes(DAMAGES[damage](decided(bench)))
    client = bench.ready()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert (client.flush(), bench.draw.count) == (Delivery(), 1)
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
    assert bench.rows("SELECT fresh_from FROM device") == [(START + DAY - 1,)]


def test_d5_no_zeroed_page_or_truncation_is_a_second_draw(bench: Bench, tmp_path: Path) -> None:
    whole = decided(bench)
    mark = bench.mark.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    pages = range(0, len(whole), page)
    assert len(pages) >= 4
    damaged = [whole[:first] + bytes(page) + whole[first + page :] for first in some(pages)]
    damaged += [whole[:length] for length in range(0, len(whole), 1024 if THOROUGH else 9 * 1024)]
    for number, content in enumerate([*damaged, whole[:-1], whole]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Bench(folder) as other:
            other.path.write_bytes(content)
            other.mark.write_bytes(mark)
            client = other.client()
            client.refresh(force=True)
            status = client.report(NAME, "good").status
            assert status is REPEATED if content == whole else status is not RECORDED


def test_d5_an_app_that_need_never_refresh_is_told_to_after_a_loss(bench: Bench) -> None:
    bundled = {"manifests": bench.transport.envelopes}
    decided(bench)
    bench.path.unlink()
    client = bench.client(**bundled)
    for day in (1, 2):
        bench.clock.time = START + day * DAY + 1
        client.flush()
        error = client.report(NAME, "good").error
        assert isinstance(error, EpochUndecidable)
        assert "refresh() or the background thread requests" in str(error)
    assert client.refresh().ready == ()
    bench.clock.time = START + 3 * DAY
    assert client.report(NAME, "good").status is RECORDED


@pytest.mark.parametrize("lost_at", [0, 0.5, DAY - 1, DAY - 0.25, DAY])
def test_d5_every_epoch_that_had_begun_counts_as_decided(bench: Bench, lost_at: float) -> None:
    decided(bench)
    bench.path.unlink()
    client = bench.client()
    fresh = START + DAY * (1 + (lost_at == DAY))  # what begins at the very second has begun
    for now in (START + lost_at, fresh - 0.125):
        bench.clock.time = now
        client.refresh(force=True)
        assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert client.flush() == Delivery()
    bench.clock.time = fresh
    assert client.report(NAME, "good").status is RECORDED
    assert bench.draw.count == 2


def test_nothing_is_left_of_a_damaged_state(bench: Bench, tmp_path: Path) -> None:
    bench.path = tmp_path / "app[1]*.sqlite"
    client = bench.reported()
    envelope = bench.envelope
    client.close()
    damaged = bytearray(bench.path.read_bytes())
    damaged[:100] = bytes(100)
    bench.path.write_bytes(damaged)
    again = bench.client()
    assert again.consent == "on"
    assert bench.on_disk(envelope[-60:-10]) == []


def test_d5_the_mark_is_on_the_disk_before_it_takes_the_old_ones_place(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, synced = bench.ready(), list[tuple[bytes, bytes]]()
    before, new = bench.mark.read_bytes(), bench.mark.with_name(f"{bench.mark.name}.new")
    monkeypatch.setattr(
        os, "fsync", lambda _: synced.append((new.read_bytes(), bench.mark.read_bytes()))
    )
    assert client.report(NAME, "good").ok
    assert synced == [(bench.mark.read_bytes(), before)]


@contextmanager
def clone(bench: Bench, *names: str) -> Iterator[Bench]:
    """Copy some of a device's files to another folder; give the bench of the copy."""
    folder = bench.path.parent / "clone"
    folder.mkdir()
    for name in names:
        shutil.copy(bench.path.parent / name, folder / name)
    with Bench(folder) as copied:
        copied.clock.time = bench.clock.time
        copied.transport = bench.transport
        yield copied


def test_d5_a_state_lost_with_its_log_alone_is_noticed_too(bench: Bench) -> None:
    # What was decided last may still be in the write-ahead log, which somebody tidies away.
    bench.reported()
    with clone(bench, STATE, MARK) as moved:
        assert isinstance(moved.ready().report(NAME, "good").error, EpochUndecidable)
        assert moved.draw.count == 0


def test_d9_bytes_erased_just_before_a_crash_do_not_live_on_in_the_log(bench: Bench) -> None:
    client = bench.reported()
    envelope = bench.envelope
    engine_of(client).state.erase_remains = lambda: None  # type: ignore[method-assign]
    client.purge()
    with clone(bench, STATE, f"{STATE}-wal", MARK) as crashed:
        assert crashed.on_disk(envelope) != []
        assert crashed.client().consent == "on"
        assert crashed.on_disk(envelope) == []


def prepared(bench: Bench, days: int) -> bytes:
    """Hold the manifest, decide so many days, and close; return the state file's bytes."""
    client = bench.ready()
    bench.report_daily(client, range(days))
    client.close()
    return bench.path.read_bytes()


def erased(bench: Bench, how: str) -> None:
    """Have the user withdraw consent, or purge, and close."""
    client = bench.client()
    if how == "purge":
        client.purge()
    else:
        client.set_consent(how)
    client.close()


def secret(bench: Bench) -> bytes:
    ((found,),) = bench.rows("SELECT secret FROM device")
    return bytes(found)


def becomes_new(bench: Bench, old_secret: bytes) -> None:
    """Check that this state is a stranger's: no consent, and no epoch before the date was told."""
    client = bench.client()
    assert client.consent == "unset"
    client.set_consent("on")
    assert client.flush().pending == 0
    assert secret(bench) != old_secret
    bench.clock.time += DAY
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert took(client.refresh(force=True))
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time += DAY
    assert client.report(NAME, "good").status is RECORDED
    fresh = secret(bench)
    client.close()
    bench.clock.time += DAY
    assert bench.client().report(NAME, "good").status is RECORDED
    assert secret(bench) == fresh  # once is enough


def stays(bench: Bench, old_secret: bytes) -> None:
    """Check that this state goes on as the device that it was."""
    assert bench.client().report(NAME, "good").status is RECORDED
    assert secret(bench) == old_secret


@pytest.mark.parametrize("copy", ["no mark", "another's mark", "rotten mark", "within the minute"])
def test_d5_a_copy_is_another(bench: Bench, monkeypatch: pytest.MonkeyPatch, copy: str) -> None:
    prepared(bench, 0)
    monkeypatch.setattr(mark_module, "_COPY_SECONDS", -1)  # as if some seconds had passed
    with clone(bench, STATE, *[MARK] * (copy == "within the minute")) as copied:
        if copy == "another's mark":
            other = copied.path.parent / "other"
            with Bench(other) as unrelated:
                unrelated.client().set_consent("on")
            shutil.copy(other / MARK, copied.mark)
        if copy == "rotten mark":
            copied.mark.write_bytes(b"token notanumber")
        becomes_new(copied, secret(bench))
    stays(bench, secret(bench))


@pytest.mark.parametrize("has_id", [True, False])
def test_d5_a_copy_on_another_machine_is_a_new_device(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_id: bool
) -> None:
    machine = tmp_path / "machine-id"
    if has_id:
        prepared(bench, 0)
        machine.write_text("another machine\n")
    monkeypatch.setattr(mark_module, "_MACHINE_ID", machine)
    if not has_id:
        prepared(bench, 0)
    (becomes_new if has_id else stays)(bench, secret(bench))


@pytest.mark.parametrize("lost", [False, True])
def test_d5_a_mark_that_holds_what_nobody_wrote_is_no_mark(bench: Bench, lost: bool) -> None:
    backup = prepared(bench, 0)
    for rotten in (
        *("1 1 1 0 banana -", f"{10**20} 1 1 0 on -", f"1 {10**30} 1 0 on -"),
        *(f"1 1 {2**63} 0 on -", "-1 1 1 0 on -", "1 1 -1 0 on -"),
        *("1 1 1 0 on 5", "1 1 1 0 on 5:-1", "1 1 1 0 on -5:1", f"1 1 1 0 on 5:{2**63}"),
        *(f"1 1 1 0 on {2**50}:1", f"1 1 1 0 on 5:{2**62},6:{2**62}"),
    ):
        bench.path.write_bytes(backup)
        if lost:
            bench.path.unlink()
        bench.mark.write_text(f"token {rotten} {int(time.time())}\n", "ascii")
        client = bench.client()  # of which a person can always withdraw
        client.set_consent("off")
        client.purge()
        assert client.consent == "off"
        client.close()


@pytest.mark.parametrize("what", ["newest", "older", "with another log"])
def test_d5_a_backup_decides_nothing_twice(bench: Bench, what: str) -> None:
    backup = prepared(bench, 1)
    if what == "with another log":
        bench.report_daily(bench.client(), [1])
        with clone(bench, STATE, f"{STATE}-wal", MARK) as crashed:
            crashed.path.write_bytes(backup)
            assert crashed.ready().report(NAME, "good").status is not RECORDED
    elif what == "older":
        again = bench.client()
        bench.report_daily(again, (1, 2))
        again.close()
        bench.path.write_bytes(backup)
        becomes_new(bench, secret(bench))
        assert bench.draw.count == 5  # days 0 to 2 before the restoration, 4 and 5 after it
    else:
        bench.path.unlink()
        bench.path.write_bytes(backup)
        bench.clock.time = START + DAY
        stays(bench, secret(bench))


def test_d5_a_copys_standing_decision_stands_and_the_original_alone_sends_it(bench: Bench) -> None:
    prepared(bench, 1)
    with clone(bench, STATE) as copied:
        client: Client = copied.client(consent="unset")
        shown = " ".join(str(client.explain()).split())
        assert "unset: you will be asked again, since this state may be a copy" in shown
        assert "Decided on" not in shown
        client.set_consent("on")
        assert isinstance(client.report(NAME, "poor").error, ReportDropped)
        assert copied.rows("SELECT verdict FROM decisions") == [("state-doubted",)]
        assert client.flush().delivered == 0
        assert bench.client().flush().delivered == 1
        assert copied.draw.count == 0


@pytest.mark.parametrize("how", ["off", "purge"])
@pytest.mark.parametrize("lost", ["", "state", "mark"])
def test_d5_an_old_backup_sends_nothing_erased(bench: Bench, how: str, lost: str) -> None:
    backup = prepared(bench, 1)
    erased(bench, how)
    if how != "purge":
        bench.client().set_consent("on")
        bench.close()
    if lost == "state":
        bench.path.unlink()
        another = bench.client()
        assert another.consent == "on"  # it is there now
        another.close()
    bench.path.write_bytes(backup)
    if lost == "mark":
        bench.mark.unlink()
    restored = bench.client()
    # A purge alone was the last change, which the mark tells; else nobody knows what came between.
    assert restored.consent == ("on" if how == "purge" and not lost else "unset")
    restored.set_consent("on")
    assert restored.flush().delivered == 0
    assert bench.transport.uploads == []
    assert bench.rows("SELECT count(*) FROM decisions WHERE envelope IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("in_memory", [True, False])
def test_d5_who_was_not_asked_begins_with_the_next_epoch(bench: Bench, in_memory: bool) -> None:
    def start(**changes: Any) -> Client:
        """Return what a container makes at each start, where nothing outlives it."""
        bench.close()
        for file in bench.path.parent.glob("device.sqlite*"):
            file.unlink()
        state: dict[str, Any] = {"state": IN_MEMORY} if in_memory else {}
        return bench.client(**{"first_epoch": "next", **state, **changes})

    for _ in range(3):
        client = start(manifests=bench.transport.envelopes)
        assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
        # A machine without a clock of its own may be set right after its start.
        bench.clock.time += 10
        assert "sends the date" in str(client.report(NAME, "good").error)
        bench.transport.publish(  # which began before, too
            manifest(sequence=1, schedule=Schedule(START - DAY // 2, DAY, 8, DAY))
        )
        client.refresh(force=True)
        assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert bench.draw.count == 0
    bench.clock.time += DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    if not in_memory:  # whoever was asked, or so the app says, may answer at once
        asked = start(consent="unset", manifests=bench.transport.envelopes)
        asked.set_consent("on")
        assert asked.report(NAME, "good").status is OutcomeStatus.RECORDED


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
        assert "\x1b" not in str(page) + as_json(page)
        with suppress(StateUnavailable):
            journal = looking.journal()
            assert "\x1b" not in str(journal) + as_json(journal)
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
