"""Consent: without it nothing happens at all; withdrawn, bytes go and decisions stay (D4)."""

import threading
from pathlib import Path

import pytest

from deniable.client import (
    Client,
    Consent,
    ConsentMissing,
    Delivery,
    NotReady,
    OutcomeStatus,
    ReportDropped,
    StateUnavailable,
)
from deniable.client.client import engine_of
from deniable.client.state.mark import Mark
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench
from tests.support.surveys import DAY, MANIFEST, START, manifest

LONG_SURVEY = Schedule(START, DAY, 400, DAY)


@pytest.mark.parametrize("consent", [Consent.UNSET, Consent.OFF, "unset", "off"])
def test_without_consent_nothing_is_drawn_stored_sent_or_started(
    bench: Bench, tmp_path: Path, consent: Consent | str
) -> None:
    threads = threading.enumerate()
    bundled = [bench.transport.publish(MANIFEST)]
    client = bench.client(consent=consent, background=True, manifests=bundled)
    outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert isinstance(outcome.error, ConsentMissing)
    refresh = client.refresh(force=True)
    assert refresh.ready == ()
    assert isinstance(refresh.errors[NAME], ConsentMissing)
    assert client.flush() == Delivery()
    assert client.consent is Consent(consent)
    client.close()
    assert list(tmp_path.iterdir()) == []
    assert bench.transport.requests == []
    assert bench.draw.count == 0
    assert threading.enumerate() == threads


def test_without_consent_strict_raises(bench: Bench) -> None:
    with pytest.raises(ConsentMissing):
        bench.client(consent="unset").report(NAME, "good", strict=True)


@pytest.mark.parametrize("stored", Consent)
@pytest.mark.parametrize("constructed", Consent)
def test_the_stored_decision_wins_over_the_constructors(
    bench: Bench, stored: Consent, constructed: Consent
) -> None:
    first = bench.client(consent="unset")
    first.set_consent(stored)
    first.close()
    again = bench.client(consent=constructed)
    assert again.consent is stored
    again.refresh(force=True)
    assert again.report(NAME, "good").ok is (stored is Consent.ON)


def test_a_refresh_before_consent_does_not_hold_up_the_one_after_it(bench: Bench) -> None:
    client = bench.client(consent="unset", delivery_seconds=0)
    client.refresh(force=True)
    client.set_consent("on")
    assert isinstance(client.report(NAME, "good").error, NotReady)
    engine_of(client).refresh_when_due()  # what the thread does each time it wakes
    assert client.report(NAME, "good").ok


def test_no_other_word_is_consent(bench: Bench) -> None:
    client = bench.client(consent="unset")
    for word in ("yes", "ON", "", "true"):
        with pytest.raises(ValueError):
            client.set_consent(word)
    assert client.consent is Consent.UNSET


def decide_days(bench: Bench, client: Client, days: int) -> list[bytes]:
    for day in range(days):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").ok
    rows = bench.rows("SELECT envelope FROM decisions ORDER BY epoch")
    assert len(rows) == days
    return [envelope for (envelope,) in rows]


@pytest.mark.parametrize("withdrawn", ["off", "unset"])
@pytest.mark.parametrize("days", [1, pytest.param(120, marks=pytest.mark.long)])
def test_d4_withdrawing_erases_the_bytes_of_every_report_from_disk(
    bench: Bench, days: int, withdrawn: str
) -> None:
    bench.transport.publish(manifest(schedule=LONG_SURVEY))
    client = bench.ready(lifetime_epsilon="1000")
    envelopes = decide_days(bench, client, days)
    assert all(bench.on_disk(envelope) for envelope in envelopes)
    client.set_consent(withdrawn)
    # Not even a part of one: payloads, keys and signatures are looked for on their own.
    for envelope in envelopes:
        for part in (envelope[3:35], envelope[37:74], envelope[-60:-10]):
            assert bench.on_disk(part) == []
    assert len(bench.rows("SELECT epoch FROM decisions")) == days
    client.close()
    assert not [part for part in envelopes if bench.on_disk(part[-60:-10])]


def test_d4_delivered_bytes_are_erased_as_well(bench: Bench) -> None:
    client = bench.ready()
    (envelope,) = decide_days(bench, client, 1)
    assert client.flush().delivered == 1
    client.set_consent("off")
    assert bench.on_disk(envelope[-60:-10]) == []
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]


def test_d4_off_and_on_again_never_draws_a_second_time(bench: Bench) -> None:
    client = bench.reported()
    client.set_consent("off")
    assert isinstance(client.report(NAME, "good").error, ConsentMissing)
    assert client.flush() == Delivery()
    client.set_consent("on")
    again = client.report(NAME, "good")
    assert isinstance(again.error, ReportDropped)
    assert "consent-withdrawn" in str(again.error)
    assert (bench.draw.count, bench.transport.uploads) == (1, [])
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


def test_d4_a_delivered_report_stands_after_off_and_on(bench: Bench) -> None:
    client = bench.reported()
    client.flush()
    client.set_consent("off")
    client.set_consent("on")
    assert client.report(NAME, "fair").status is OutcomeStatus.REPEATED
    client.flush()
    assert (bench.draw.count, len(bench.transport.uploads)) == (1, 1)


def test_d4_the_decision_stands_when_consent_returns_in_another_process(bench: Bench) -> None:
    client = bench.reported()
    client.set_consent("off")
    client.close()
    again = bench.client(consent="on")
    again.set_consent("on")
    assert isinstance(again.report(NAME, "good").error, ReportDropped)
    assert bench.draw.count == 1


def test_an_origin_that_is_no_text_is_no_reason_not_to_withdraw(bench: Bench) -> None:
    client = bench.ready()
    client.set_consent("off", "half a pair: \ud800")
    record = client.consent_record
    assert (record.decided, record.origin) == (Consent.OFF, "half a pair: ?")


@pytest.mark.parametrize("refusal", ["off", "unset", "local"])
def test_d5_a_refusal_that_cannot_be_stored_holds_where_it_was_heard(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    client = bench.reported()
    requests = len(bench.transport.requests)

    def full(_mark: Mark, _path: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Mark, "write", full)
        with pytest.raises(StateUnavailable):
            client.set_consent(refusal)
        assert not client.try_set_consent("on")  # a later wish that is not stored lifts nothing
        client.start()
    # The disk has room again, and the file still says on.
    assert bench.rows("SELECT consent FROM device") == [("on",)]
    assert client.consent == client.try_consent() == refusal
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is not OutcomeStatus.RECORDED
    missing = client.refresh().errors[NAME]
    assert isinstance(missing, ConsentMissing)
    assert "could not be stored" in str(missing)
    engine_of(client).uploader.send_due()
    assert client.flush().delivered == 0
    assert len(bench.transport.requests) == requests
    assert client.try_set_consent("on")
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert client.flush().delivered == 2


def test_who_asks_by_try_hears_of_no_disk(bench: Bench) -> None:
    bench.path.mkdir()
    client = bench.client()
    with pytest.raises(StateUnavailable):
        _ = client.consent
    assert client.try_consent() is Consent.OFF
    assert not client.try_set_consent("on")
    with pytest.raises(ValueError, match="consent must be"):
        client.try_set_consent("perhaps")


@pytest.mark.parametrize("background", [True, False])
def test_an_older_version_of_the_app_keeps_a_refusal_that_the_newer_one_obeys(
    bench: Bench, background: bool
) -> None:
    bench.reported().close()
    (version,) = bench.rows("PRAGMA user_version")[0]
    bench.rows("PRAGMA user_version = 1000")  # as if this version were the older one
    state = bench.path.read_bytes()
    older = bench.client(background=background)
    older.set_consent("off", "settings page")
    assert older.try_consent() is Consent.OFF
    assert older.try_set_consent("on") is False
    older.close()
    assert bench.path.read_bytes() == state  # whose schema it does not know
    bench.rows(f"PRAGMA user_version = {version}")
    newer = bench.client()
    assert (newer.consent, newer.consent_record.origin) == ("off", "an older version of the app")
    assert bench.rows("SELECT verdict, envelope FROM decisions") == [("consent-withdrawn", None)]
    newer.set_consent("on")
    newer.close()
    assert bench.client().consent == "on"
    assert "device.sqlite.refused" not in bench.files()
