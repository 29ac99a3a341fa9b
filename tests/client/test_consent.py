"""Consent: nothing happens without it, "local" sends nothing, withdrawn bytes go (D4)."""

import threading
from collections.abc import Iterator
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
from deniable.client.consent import lowered_by_environment
from deniable.client.state.mark import Mark
from deniable.messages import Report, Schedule
from tests.support.devices import NAME, Bench, lie, read_upload
from tests.support.surveys import DAY, MANIFEST, START, manifest


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
    with pytest.raises(ConsentMissing):
        client.report(NAME, "good", strict=True)
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


@pytest.mark.parametrize("withdrawn", ["off", "unset"])
@pytest.mark.parametrize("days", [1, pytest.param(120, marks=pytest.mark.long)])
def test_d4_withdrawing_erases_the_bytes_of_every_report_from_disk(
    bench: Bench, days: int, withdrawn: str
) -> None:
    bench.transport.publish(manifest(schedule=Schedule(START, DAY, 400, DAY)))
    client = bench.ready(lifetime_epsilon="1000")
    bench.report_daily(client, range(days))
    envelopes = [envelope for (envelope,) in bench.rows("SELECT envelope FROM decisions")]
    assert all(bench.on_disk(envelope) for envelope in envelopes)
    client.set_consent(withdrawn)
    # Not even a part of one: payloads, keys and signatures are looked for on their own.
    for envelope in envelopes:
        for part in (envelope[3:35], envelope[37:74], envelope[-60:-10]):
            assert bench.on_disk(part) == []
    assert len(bench.rows("SELECT epoch FROM decisions")) == days
    client.close()
    assert not [part for part in envelopes if bench.on_disk(part[-60:-10])]


@pytest.mark.parametrize("restarted", [False, True])
def test_d4_off_and_on_again_never_draws_a_second_time(bench: Bench, restarted: bool) -> None:
    client = bench.reported()
    client.set_consent("off")
    assert isinstance(client.report(NAME, "good").error, ConsentMissing)
    assert client.flush() == Delivery()
    if restarted:
        client.close()
        client = bench.client(consent="on")
    client.set_consent("on")
    again = client.report(NAME, "good")
    assert isinstance(again.error, ReportDropped)
    assert "consent-withdrawn" in str(again.error)
    assert (bench.draw.count, bench.transport.uploads) == (1, [])
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


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
            client.set_consent(refusal, strict=True)
        assert not client.set_consent("on")  # a later wish that is not stored lifts nothing
        client.start()
    # The disk has room again, and the file still says on.
    assert bench.rows("SELECT consent FROM device") == [("on",)]
    assert client.consent == refusal
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is not OutcomeStatus.RECORDED
    missing = client.refresh().errors[NAME]
    assert isinstance(missing, ConsentMissing)
    assert "could not be stored" in str(missing)
    engine_of(client).uploader.send_due()
    assert client.flush().delivered == 0
    assert len(bench.transport.requests) == requests
    assert client.set_consent("on")
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    assert client.flush().delivered == 2


def test_a_decision_that_was_stored_is_stored_whatever_comes_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.client(background=True)
    monkeypatch.setattr(engine_of(client).state, "erase_remains", bench.path.unlink)
    assert client.set_consent("on")


@pytest.mark.parametrize("background", [True, False])
def test_an_older_version_of_the_app_keeps_a_refusal_that_the_newer_one_obeys(
    bench: Bench, background: bool
) -> None:
    bench.reported().close()
    (version,) = bench.rows("PRAGMA user_version")[0]
    bench.rows("PRAGMA user_version = 1000")  # as if this version were the older one
    state = bench.path.read_bytes()
    older = bench.client(background=background)
    assert older.set_consent("off", "settings page")
    assert older.consent is Consent.OFF
    assert not older.set_consent("on")
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


LOCAL, RECORDED, REPEATED = OutcomeStatus.LOCAL, OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


@pytest.fixture
def local(bench: Bench) -> Iterator[Client]:
    """A client under consent "local", with the manifest that came with the app."""
    bundled = [bench.transport.publish(MANIFEST)]
    yield bench.client(consent="local", background=True, manifests=bundled)
    bench.close()


def previews(bench: Bench) -> list[Report]:
    rows = bench.rows("SELECT payload FROM previews ORDER BY epoch")
    return [Report.from_payload(payload) for (payload,) in rows]


def test_a_local_report_is_stored_to_be_seen_and_nothing_is_sent(
    bench: Bench, local: Client
) -> None:
    threads = threading.enumerate()
    outcome = local.report(NAME, "good")
    assert (outcome.status, outcome.epoch, outcome.ok) == (LOCAL, 0, True)
    assert local.flush() == Delivery()
    assert isinstance(local.refresh().errors[NAME], ConsentMissing)
    local.start()
    assert threading.enumerate() == threads
    assert bench.transport.requests == []
    assert bench.rows("SELECT * FROM decisions") == []
    (report,) = previews(bench)
    assert (report.survey_id, report.epoch) == (MANIFEST.survey_id, 0)


def test_a_preview_stands_until_its_epoch_ends(bench: Bench, local: Client) -> None:
    for _ in range(3):
        assert local.report(NAME, "good").status is LOCAL
    assert (bench.draw.count, len(previews(bench))) == (1, 1)
    bench.clock.time = START + DAY
    assert local.report(NAME, "poor").epoch == 1
    assert (bench.draw.count, len(previews(bench))) == (2, 2)


def test_a_preview_is_what_would_be_signed_and_bears_no_signature(bench: Bench) -> None:
    bundled = [bench.transport.publish(MANIFEST)]
    client = bench.client(consent="local", manifests=bundled, unsafe_draw=lie(3))
    client.report(NAME, "very poor")
    ((payload,),) = bench.rows("SELECT payload FROM previews")
    assert payload == Report(MANIFEST.survey_id, 0, 3).payload
    # With consent, the same draw signs the same payload: what the user saw is what is sent.
    client.set_consent("on")
    client.report(NAME, "very poor")
    client.flush()
    assert read_upload(bench.transport.uploads[0]).payload == payload


def test_turning_consent_on_discards_previews_and_spends_nothing_for_them(
    bench: Bench, local: Client
) -> None:
    local.report(NAME, "good")
    (payload,) = bench.rows("SELECT payload FROM previews")[0]
    local.set_consent("on")
    assert previews(bench) == []
    assert bench.on_disk(payload) == []
    assert local.flush() == Delivery()
    assert bench.transport.uploads == []
    assert local.report(NAME, "good").status is RECORDED  # a local draw decides no epoch
    ((cost, count),) = bench.rows("SELECT sum(cost), count(*) FROM decisions")
    assert (cost, count) == (10**9, 1)


@pytest.mark.parametrize(
    ("environment", "decided", "effective"),
    [
        ({}, "on", "on"),
        ({"DO_NOT_TRACK": "1"}, "on", "off"),
        ({"DO_NOT_TRACK": "true"}, "local", "off"),
        ({"DO_NOT_TRACK": "1"}, "unset", "unset"),
        ({"DO_NOT_TRACK": "0"}, "on", "on"),
        ({"DO_NOT_TRACK": ""}, "on", "on"),
        ({"DENIABLE_CONSENT": "off"}, "on", "off"),
        ({"DENIABLE_CONSENT": "off"}, "local", "off"),
        ({"DENIABLE_CONSENT": "local"}, "on", "local"),
        ({"DENIABLE_CONSENT": " LOCAL "}, "on", "local"),
        ({"DENIABLE_CONSENT": "local"}, "off", "off"),
        ({"DENIABLE_CONSENT": "local"}, "unset", "unset"),
        ({"DENIABLE_CONSENT": "on"}, "on", "on"),
        ({"DENIABLE_CONSENT": "on"}, "off", "off"),
        ({"DENIABLE_CONSENT": "on"}, "unset", "unset"),
        ({"DENIABLE_CONSENT": "lokal"}, "on", "off"),
        ({"DENIABLE_CONSENT": "local", "DO_NOT_TRACK": "1"}, "on", "off"),
    ],
)
def test_the_environment_can_only_lower_consent(
    environment: dict[str, str], decided: str, effective: str
) -> None:
    assert lowered_by_environment(Consent(decided), environment) == effective


def test_the_environment_is_read_at_each_call(bench: Bench) -> None:
    environment: dict[str, str] = {}
    client = bench.reported(environment=environment)
    environment["DO_NOT_TRACK"] = "1"
    assert client.consent is Consent.OFF
    assert isinstance(client.report(NAME, "good").error, ConsentMissing)
    assert client.flush() == Delivery()
    assert isinstance(client.refresh(force=True).errors[NAME], ConsentMissing)
    assert bench.transport.uploads == []
    environment["DO_NOT_TRACK"] = "0"
    environment["DENIABLE_CONSENT"] = "local"
    assert client.report(NAME, "good").status is LOCAL
    environment.clear()
    # It is no decision of the user's, so it erases nothing; what waited is sent.
    assert client.report(NAME, "good").status is REPEATED
    assert client.flush().delivered == 1
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
    assert previews(bench) == []


def test_the_processes_own_environment_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.ready()
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    for error in (client.report(NAME, "good").error, client.refresh(force=True).errors[NAME]):
        assert isinstance(error, ConsentMissing)
        assert "DO_NOT_TRACK" in str(error)  # or its developer searches for a while


def test_consent_is_stored_with_its_time_and_origin(bench: Bench) -> None:
    client = bench.client(consent="unset")
    record = client.consent_record
    assert (record.decided, record.since, record.origin) == (Consent.UNSET, None, "initial")
    bench.clock.time = START + 77.9
    client.set_consent("on", "settings page")
    bench.clock.time += 50
    record = bench.client(environment={"DENIABLE_CONSENT": "off"}).consent_record
    assert (record.decided, record.effective) == (Consent.ON, Consent.OFF)
    assert (record.since, record.origin) == (START + 77, "settings page")
    assert bench.rows("SELECT at, kind, detail FROM events") == [
        (START + 77, "consent", f"on, from settings page, for {NAME}")
    ]


def test_events_are_bounded(bench: Bench) -> None:
    client = bench.ready()
    for turn in range(320):
        client.set_consent("off" if turn % 2 else "on", f"turn {turn}")
    rows = bench.rows("SELECT detail FROM events ORDER BY number")
    assert len(rows) == 300
    assert rows[-1] == ("off, from turn 319",)
