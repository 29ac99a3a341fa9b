"""Copies and old backups of a state become new devices, from the next epoch on (D5)."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deniable.client import Client, EpochUndecidable, OutcomeStatus, ReportDropped
from deniable.client.state import mark as mark_module
from tests.support.devices import NAME, Bench, read_upload, took
from tests.support.surveys import DAY, START

RECORDED = OutcomeStatus.RECORDED
STATE, MARK = "device.sqlite", "device.sqlite.mark"


@contextmanager
def clone(bench: Bench, *names: str) -> Iterator[Bench]:
    """Copy some of a device's files to another folder; give the bench of the copy."""
    folder = bench.path.parent.with_name("clone")
    folder.mkdir()
    for name in names:
        shutil.copy(bench.path.parent / name, folder / name)
    with Bench(folder) as copied:
        copied.clock.time = bench.clock.time
        copied.transport = bench.transport
        yield copied


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder = tmp_path / "original"
    folder.mkdir()
    with Bench(folder) as bench:
        yield bench


def prepared(bench: Bench, days: int) -> None:
    """Hold the manifest, decide so many days, and close."""
    client = bench.ready()
    for day in range(days):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").status is RECORDED
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


def test_d5_a_copy_without_its_mark_is_a_new_device(bench: Bench) -> None:
    prepared(bench, 0)
    with clone(bench, STATE) as copied:
        becomes_new(copied, secret(bench))
    stays(bench, secret(bench))


def test_d5_a_copy_with_another_states_mark_is_a_new_device(bench: Bench) -> None:
    prepared(bench, 0)
    with clone(bench, STATE) as copied:
        other = copied.path.parent / "other"
        with Bench(other) as unrelated:
            unrelated.client().set_consent("on")
        shutil.copy(other / MARK, copied.path.with_name(MARK))
        becomes_new(copied, secret(bench))


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"one", b"a b c", b"token notanumber", b"\0" * 64]
)
def test_d5_a_mark_that_cannot_be_read_is_no_mark(bench: Bench, content: bytes) -> None:
    prepared(bench, 0)
    before = secret(bench)
    bench.path.with_name(MARK).write_bytes(content)
    becomes_new(bench, before)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    "rotten",
    [
        "token 1 1 1 0 banana -",
        f"token {10**20} 1 1 0 on -",
        f"token 1 {10**30} 1 0 on -",
        f"token 1 1 {2**63} 0 on -",
        "token -1 1 1 0 on -",
        "token 1 1 -1 0 on -",
        "token 1 1 1 0 on 5",
        "token 1 1 1 0 on 5:-1",
        "token 1 1 1 0 on -5:1",
        f"token 1 1 1 0 on 5:{2**63}",
        f"token 1 1 1 0 on {2**50}:1",
        f"token 1 1 1 0 on 5:{2**62},6:{2**62}",
    ],
)
def test_d5_a_mark_that_holds_what_nobody_wrote_is_no_mark(
    bench: Bench, rotten: str, lost: bool
) -> None:
    prepared(bench, 0)
    if lost:
        bench.path.unlink()
    bench.path.with_name(MARK).write_text(f"{rotten} {int(time.time())}\n", "ascii")
    client = bench.client()  # of which a person can always withdraw
    client.set_consent("off")
    client.purge()
    assert client.consent == "off"


def test_d5_a_copy_on_another_machine_is_a_new_device(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(bench, 0)
    before = secret(bench)
    machine = tmp_path / "machine-id"
    machine.write_text("another machine\n")
    monkeypatch.setattr(mark_module, "_MACHINE_ID", machine)
    becomes_new(bench, before)


def test_a_machine_without_an_id_still_keeps_its_state(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mark_module, "_MACHINE_ID", tmp_path / "missing")
    prepared(bench, 0)
    stays(bench, secret(bench))


def test_d5_an_older_backup_is_a_new_device_and_decides_nothing_twice(bench: Bench) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    again = bench.client()
    for day in (1, 2):
        bench.clock.time = START + day * DAY
        assert again.report(NAME, "good").status is RECORDED
    again.close()
    bench.path.write_bytes(backup)
    becomes_new(bench, secret(bench))
    assert bench.draw.count == 5  # days 0 to 2 before the restoration, 4 and 5 after it


def test_d5_what_a_kill_before_the_commit_leaves_costs_an_epoch_and_nothing_else(
    bench: Bench,
) -> None:
    # One change behind its genuine mark; a backup from before the last change is the same.
    prepared(bench, 1)
    before, old_secret = bench.path.read_bytes(), secret(bench)
    bench.clock.time = START + DAY
    client = bench.client()
    assert client.report(NAME, "good").status is RECORDED
    client.close()
    bench.path.write_bytes(before)
    restarted = bench.client()
    assert restarted.consent == "on"
    assert isinstance(restarted.report(NAME, "good").error, EpochUndecidable)
    assert secret(bench) != old_secret
    assert restarted.flush().delivered == 1
    bench.clock.time += DAY
    assert restarted.report(NAME, "good").status is RECORDED


def test_d5_a_backup_restored_with_a_log_that_is_not_its_own_decides_nothing_twice(
    bench: Bench,
) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    client = bench.client()
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
    with clone(bench, STATE, f"{STATE}-wal", MARK) as crashed:
        crashed.path.write_bytes(backup)
        assert crashed.ready().report(NAME, "good").status is not RECORDED


def test_d5_the_newest_backup_goes_on_as_the_same_device(bench: Bench) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    bench.path.unlink()
    bench.path.write_bytes(backup)
    bench.clock.time = START + DAY
    stays(bench, secret(bench))


def test_d5_a_copys_standing_decision_stands_and_the_original_alone_sends_it(bench: Bench) -> None:
    prepared(bench, 1)
    with clone(bench, STATE) as copied:
        client: Client = copied.client()
        client.set_consent("on")
        assert isinstance(client.report(NAME, "poor").error, ReportDropped)
        assert copied.rows("SELECT verdict FROM decisions") == [("state-doubted",)]
        assert client.flush().delivered == 0
        assert bench.client().flush().delivered == 1
        assert copied.draw.count == 0


def test_d5_original_and_copy_share_no_key_afterwards(bench: Bench) -> None:
    prepared(bench, 0)
    with clone(bench, STATE) as copied:
        stranger = copied.client()
        stranger.set_consent("on")
        assert took(stranger.refresh(force=True))
        for device in (bench, copied):
            device.clock.time = START + DAY
            client = device.client()
            assert client.report(NAME, "good").status is RECORDED
            client.flush()
    first, second = (read_upload(body) for body in bench.transport.uploads)
    assert first.public_key != second.public_key
    assert first.report.epoch == second.report.epoch == 1


@pytest.mark.parametrize("consent", ["off", "unset", "local"])
def test_d5_what_was_withdrawn_since_a_backup_stays_withdrawn(bench: Bench, consent: str) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    set_aside = bench.path.with_name(f"{STATE}.damaged-1")
    client = bench.client()
    client.set_consent(consent)
    client.close()
    bench.path.write_bytes(backup)
    set_aside.write_bytes(backup)
    restored = bench.client()
    assert restored.consent == consent
    assert bench.on_disk(envelope) == []
    assert not set_aside.exists()
    restored.set_consent("on")
    restored.flush()
    assert bench.transport.uploads == []


@pytest.mark.parametrize("how", ["off", "purge"])
def test_d5_a_state_put_back_without_its_mark_sends_nothing_that_was_erased(
    bench: Bench, how: str
) -> None:
    # The mark alone knew: without it withdrawn consent came back, and erased reports were sent.
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    client = bench.client()
    if how == "purge":
        client.purge()
    else:
        client.set_consent("off")
    client.close()
    bench.path.write_bytes(backup)
    bench.path.with_name(MARK).unlink()
    restored = bench.client(consent="on")
    assert (restored.consent, restored.consent_record.origin) == ("unset", "state-doubted")
    restored.set_consent("on")
    assert restored.flush().delivered == 0
    assert bench.transport.uploads == []
    assert bench.rows("SELECT verdict, envelope FROM decisions") == [("state-doubted", None)]


@pytest.mark.parametrize("how", ["off", "local", "purge"])
@pytest.mark.parametrize("lost", [False, True])
def test_an_old_backup_sends_nothing_that_the_user_had_erased_since(
    bench: Bench, how: str, lost: bool
) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    client = bench.client()
    if how == "purge":
        client.purge()
    else:
        client.set_consent(how)
        client.set_consent("on")
    client.close()
    if lost:
        bench.path.unlink()
        another = bench.client()
        assert another.consent == "on"  # it is there now
        another.close()
    bench.path.write_bytes(backup)
    restored = bench.client()
    # A purge alone was the last change, which the mark tells; else nobody knows what came between.
    assert restored.consent == ("on" if how == "purge" and not lost else "unset")
    restored.set_consent("on")
    assert restored.flush().delivered == 0
    assert bench.transport.uploads == []
    assert bench.rows("SELECT count(*) FROM decisions WHERE envelope IS NOT NULL") == [(0,)]


def test_an_old_backup_sends_what_nobody_had_erased(bench: Bench) -> None:
    prepared(bench, 1)
    backup = bench.path.read_bytes()
    bench.clock.time = START + DAY
    client = bench.client()
    assert client.report(NAME, "good").status is RECORDED
    client.close()
    bench.path.write_bytes(backup)
    assert bench.client().flush().delivered == 1


def test_d5_a_copy_of_both_files_within_the_minute_is_a_new_device(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(bench, 0)
    monkeypatch.setattr(mark_module, "_COPY_SECONDS", -1)  # as if some seconds had passed
    with clone(bench, STATE, MARK) as copied:
        becomes_new(copied, secret(bench))
    stays(bench, secret(bench))
