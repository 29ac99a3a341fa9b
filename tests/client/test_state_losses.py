"""What is lost or damaged (D5): no epoch that may have been decided is decided again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.client import EpochUndecidable, OutcomeStatus, StateUnavailable
from deniable.client.client import engine_of
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.effort import THOROUGH
from tests.support.losses import after_a_loss, decided
from tests.support.surveys import DAY, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
_HALF, _SHORT = 2, 50


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda content: b"\xa5" * len(content),
    "text": lambda _: b"this is no database\n" * 100,
    "truncated to half": lambda content: content[: len(content) // _HALF],
    "truncated within the header": lambda content: content[:_SHORT],
    "a header of zeros": lambda content: bytes(100) + content[100:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_d5_a_damaged_state_is_set_aside_and_replaced(bench: Bench, damage: str) -> None:
    damaged = DAMAGES[damage](decided(bench))
    bench.path.write_bytes(damaged)
    after_a_loss(bench)
    kept = bench.path.with_name(f"device.sqlite.damaged-{int(START)}")
    # SQLite may have begun to write its header; nothing of the content is thrown away.
    assert kept.read_bytes()[100:] == damaged[100:]
    assert bench.rows("SELECT fresh_from FROM device") == [(START + DAY - 1,)]


def test_d5_no_zeroed_page_lets_an_epoch_be_decided_again(bench: Bench, tmp_path: Path) -> None:
    whole = decided(bench)
    mark = bench.path.with_name("device.sqlite.mark").read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    assert len(whole) // page >= 4
    for first in range(0, len(whole), page):
        zeroed = whole[:first] + bytes(page) + whole[first + page :]
        assert _status_after(tmp_path / f"zeroed-{first}", zeroed, mark) is not RECORDED


def test_d5_no_truncation_lets_an_epoch_be_decided_again(bench: Bench, tmp_path: Path) -> None:
    whole = decided(bench)
    mark = bench.path.with_name("device.sqlite.mark").read_bytes()
    for length in range(0, len(whole), 1024 if THOROUGH else 4096):
        cut = _status_after(tmp_path / f"cut-{length}", whole[:length], mark)
        assert cut is not RECORDED
    assert _status_after(tmp_path / "short", whole[:-1], mark) is not RECORDED
    assert _status_after(tmp_path / "whole", whole, mark) is REPEATED


def _status_after(folder: Path, content: bytes, mark: bytes) -> OutcomeStatus:
    folder.mkdir()
    with Bench(folder) as bench:
        bench.path.write_bytes(content)
        bench.path.with_name("device.sqlite.mark").write_bytes(mark)
        client = bench.client()
        client.refresh(force=True)
        return client.report(NAME, "good").status


def test_d5_a_lost_state_is_noticed_by_its_mark(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    after_a_loss(bench)


def test_d5_a_state_lost_with_its_log_alone_is_noticed_too(bench: Bench, tmp_path: Path) -> None:
    # What was decided last may still be in the write-ahead log, which somebody tidies away.
    client = bench.ready()
    bench.clock.time = START + 1
    assert client.report(NAME, "good").status is RECORDED
    away = tmp_path / "moved"
    away.mkdir()
    for name in ("device.sqlite", "device.sqlite.mark"):
        shutil.copy(tmp_path / name, away / name)
    with Bench(away) as other:
        other.clock.time = START + 1
        moved = other.ready()
        assert isinstance(moved.report(NAME, "good").error, EpochUndecidable)
        assert other.draw.count == 0


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
        assert "refresh() asks" in str(error)
    assert client.refresh().ready == ()
    bench.clock.time = START + 3 * DAY
    assert client.report(NAME, "good").status is RECORDED


@pytest.mark.parametrize("lost_at", [0, 0.5, DAY - 1, DAY - 0.25])
def test_d5_every_epoch_that_had_begun_counts_as_decided(bench: Bench, lost_at: float) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START + lost_at
    client = bench.ready()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = START + DAY - 0.125
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_d5_an_epoch_that_begins_at_the_very_second_of_a_loss_has_begun(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START + DAY
    client = bench.ready()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)


def test_d4_a_lost_state_keeps_to_the_consent_given_last(bench: Bench) -> None:
    bench.ready().set_consent("off")
    bench.close()
    bench.path.unlink()
    assert bench.client(consent="on").consent == "off"


def test_d3_a_clock_put_back_makes_no_lost_epoch_fresh(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START - 400 * DAY  # no battery: the clock is far behind until it is set
    bench.ready()
    bench.clock.time = START + 5
    assert isinstance(bench.client().report(NAME, "good").error, EpochUndecidable)


def test_d4_withdrawal_erases_what_was_set_aside_whatever_the_file_is_called(
    bench: Bench, tmp_path: Path
) -> None:
    bench.path = tmp_path / "app[1]*.sqlite"
    client = bench.reported()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    client.close()
    damaged = bytearray(bench.path.read_bytes())
    damaged[:100] = bytes(100)
    bench.path.write_bytes(damaged)
    again = bench.client()
    assert again.consent == "on"
    assert bench.on_disk(envelope[-60:-10]) != []
    again.set_consent("off")
    assert bench.on_disk(envelope[-60:-10]) == []


def test_d4_a_backup_from_before_a_loss_does_not_bring_consent_back(bench: Bench) -> None:
    backup = decided(bench)
    bench.path.unlink()
    client = bench.client()
    client.set_consent("off")
    client.close()
    bench.path.write_bytes(backup)
    assert bench.client(consent="on").consent == "unset"


def test_d5_after_a_loss_no_schedule_that_overlaps_a_decided_epoch_gets_a_draw(
    bench: Bench,
) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START + 10
    noon = Schedule(START + DAY // 2, DAY, 8, DAY)
    bench.transport.publish(manifest(sequence=1, schedule=noon))
    client = bench.ready()
    bench.clock.time = START + DAY // 2
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = START + DAY + DAY // 2
    assert client.report(NAME, "good").status is RECORDED


@pytest.mark.parametrize("initial", ["unset", "local"])
def test_d5_a_lost_state_is_not_taken_for_one_that_never_was(bench: Bench, initial: str) -> None:
    client = bench.client(consent=initial)
    client.set_consent("off")
    client.close()
    bench.path.unlink()
    again = bench.client(consent=initial)
    assert again.consent == "off"
    again.set_consent("on")
    again.close()
    bench.path.unlink()
    assert bench.client(consent=initial).consent == "on"


def test_d9_bytes_erased_just_before_a_crash_do_not_live_on_in_the_log(
    bench: Bench, tmp_path: Path
) -> None:
    client = bench.reported()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    engine_of(client).state.erase_remains = lambda: None  # type: ignore[method-assign]
    client.purge()
    folder = tmp_path / "after the crash"
    shutil.copytree(bench.path.parent, folder, ignore=shutil.ignore_patterns("*-shm", "after*"))
    with Bench(folder) as crashed:
        assert crashed.on_disk(envelope) != []
        assert crashed.client().consent == "on"
        assert crashed.on_disk(envelope) == []


@pytest.mark.parametrize("initial", ["unset", "local", "on"])
def test_a_mark_without_a_state_that_cannot_be_read_raises_nothing(
    bench: Bench, initial: str
) -> None:
    bench.path.with_name("device.sqlite.mark").mkdir()
    client = bench.client(consent=initial)
    assert isinstance(client.report(NAME, "good").error, StateUnavailable)
    assert isinstance(client.flush().error, StateUnavailable)
    assert isinstance(client.refresh(force=True).errors[NAME], StateUnavailable)
    assert client.explain().problem != ""
    client.start()
