"""Consent "local" and what lowers consent: nothing recorded before ON is ever sent."""

import threading
from collections.abc import Iterator

import pytest

from deniable.client import (
    Client,
    Consent,
    ConsentMissing,
    Delivery,
    NotReady,
    OutcomeStatus,
    ReportDropped,
)
from deniable.client.client import engine_of
from deniable.client.consent import lowered_by_environment
from deniable.messages import Report
from tests.support.devices import NAME, Bench, lie, read_upload
from tests.support.surveys import DAY, MANIFEST, START

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


def test_local_after_on_drops_what_waits_and_undoes_no_decision(bench: Bench) -> None:
    client = bench.reported()
    client.set_consent("local")
    assert client.report(NAME, "good").status is LOCAL
    client.set_consent("on")
    assert isinstance(client.report(NAME, "good").error, ReportDropped)
    client.flush()
    assert bench.transport.uploads == []


def test_local_without_a_manifest_asks_nobody_for_one(bench: Bench) -> None:
    client = bench.client(consent="local", background=True)
    engine_of(client).refresh_when_due()  # as the thread does, whichever comes first
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert bench.transport.requests == []
    assert bench.draw.count == 0


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


def test_purge_erases_bytes_and_previews_and_keeps_decisions_and_consent(bench: Bench) -> None:
    client = bench.reported()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    client.purge()
    assert bench.on_disk(envelope) == []
    assert client.consent is Consent.ON
    assert isinstance(client.report(NAME, "good").error, ReportDropped)
    assert client.flush() == Delivery()
    assert bench.transport.uploads == []
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_events_are_bounded(bench: Bench) -> None:
    client = bench.ready()
    for turn in range(320):
        client.set_consent("off" if turn % 2 else "on", f"turn {turn}")
    rows = bench.rows("SELECT detail FROM events ORDER BY number")
    assert len(rows) == 300
    assert rows[-1] == ("off, from turn 319",)
