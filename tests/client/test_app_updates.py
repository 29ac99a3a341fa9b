"""An app's surveys may come in a bundle; its next version trusts and asks others, or allows less.

Whatever it changes, what was decided stays decided (D4), what was spent stays spent (D3), and what
was signed for one collector goes to no other (D2).
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import Client, Delivery, ManifestFault, NotReady, OutcomeStatus, Survey
from deniable.client.client import engine_of
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule, SigningKey
from deniable.messages.bundle import InvalidBundle, make_bundle
from tests.support.devices import NAME, Bench, FakeTransport, fault_of, read_upload, why
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, ORIGIN, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
ELSEWHERE = "https://elsewhere.example"
SUCCESSOR = SigningKey(b"the next authority's seed, 32 b.")
BUNDLE = make_bundle([sign_manifest(MANIFEST, AUTHORITY)], AUTHORITY.public_key)
FILE = BUNDLE.to_json()


def moved(bench: Bench) -> tuple[Client, FakeTransport]:
    """Return a client of the same state that asks another collector, and that collector."""
    transport = FakeTransport(manifest(origin=ELSEWHERE, sequence=1))
    return bench.client(collector=ELSEWHERE, transport=transport, lifetime_epsilon="100"), transport


def trusting_another(
    bench: Bench, sequence: int = 0, lifetime: str = "100", **changes: Any
) -> Client:
    """Return a client of the same state that trusts another authority, which publishes."""
    offered = manifest(sequence=sequence, nonce=b"another nonce 16", **changes)
    bench.transport.publish(offered, SUCCESSOR)
    return bench.client(authority=SUCCESSOR.public_key, lifetime_epsilon=lifetime)


def test_d2_a_report_goes_to_no_collector_but_the_one_it_was_made_for(bench: Bench) -> None:
    bench.reported().close()
    client, transport = moved(bench)
    assert client.refresh(force=True).errors == {}
    assert client.flush() == Delivery()
    bench.clock.time += 4000
    engine_of(client).uploader.send_due()
    assert transport.uploads == []
    # D3: nor does another get a second response of the epoch.
    assert client.report(NAME, "fair").status is REPEATED
    assert bench.draw.count == 1
    client.close()
    assert bench.client().flush() == Delivery(delivered=1)
    client, transport = moved(bench)
    bench.clock.time = START + DAY
    client.refresh(force=True)
    assert client.report(NAME, "fair").status is RECORDED
    assert client.flush() == Delivery(delivered=1)
    assert read_upload(transport.uploads[0]).report.epoch == 1


def test_d4_withdrawal_erases_the_reports_of_every_collector(bench: Bench) -> None:
    bench.reported().close()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions")
    client, _ = moved(bench)
    client.set_consent("off")
    assert bench.on_disk(envelope[-60:-10]) == []
    client.set_consent("on")
    client.close()
    assert bench.client().flush() == Delivery()


def test_d2_another_authoritys_sequences_begin_afresh(bench: Bench) -> None:
    bench.transport.publish(manifest(sequence=2**32 - 1))  # perhaps a thief's
    bench.ready().close()
    client = trusting_another(bench, sequence=2)
    for other in (client, bench.client(collector=ELSEWHERE)):  # which follow it no more
        assert isinstance(other.report(NAME, "good").error, NotReady)
    assert bench.draw.count == 0
    assert client.refresh(force=True).ready == (NAME,)
    bench.transport.publish(manifest(sequence=1), SUCCESSOR)
    assert fault_of(client.refresh(force=True)) is ManifestFault.ROLLED_BACK


def test_d3_another_authority_gets_no_second_response_of_an_epoch(bench: Bench) -> None:
    bench.reported().close()
    client = trusting_another(bench)
    client.refresh(force=True)
    assert client.report(NAME, "fair").status is REPEATED
    client.close()
    # Not even with a schedule of its own, whose epoch is about to end.
    schedule = Schedule(START - 3 * DAY + 60, DAY, 8, DAY)
    again = trusting_another(bench, sequence=1, schedule=schedule)
    again.refresh(force=True)
    for seconds in (60, DAY - 1, DAY, DAY + 59):
        bench.clock.time = START + seconds
        assert again.report(NAME, "fair").status is not RECORDED
    assert bench.draw.count == 1
    bench.clock.time = START + DAY + 60
    assert again.report(NAME, "fair").status is RECORDED


def test_d3_another_authority_finds_what_was_spent_and_nothing_reserved(bench: Bench) -> None:
    # The remedy after a theft of the key must not have to wait until the stolen surveys are over.
    bench.reported().close()
    client = trusting_another(bench, lifetime="8")
    assert why(client.refresh(force=True)) is None  # one spent, seven ahead
    longer = trusting_another(bench, 1, lifetime="8", schedule=Schedule(START, DAY, 9, DAY))
    assert fault_of(longer.refresh(force=True)) is ManifestFault.OVER_BUDGET


def test_a_survey_is_declared_by_the_files_bytes_or_its_path(tmp_path: Path) -> None:
    file = tmp_path / "survey.json"
    file.write_bytes(FILE)
    for given in (FILE, file, str(file)):
        survey = Survey.bundled(given)
        assert survey == DECLARED
        assert survey.bundle == BUNDLE
        assert "bundle" not in repr(survey)
    with pytest.raises(InvalidBundle):
        Survey.bundled(FILE[:-9])
    with pytest.raises(FileNotFoundError):
        Survey.bundled(tmp_path / "missing.json")


def test_an_app_may_accept_less_or_more_than_the_file_says(bench: Bench) -> None:
    survey = Survey.bundled(FILE, max_epsilon="0.5", max_total_epsilon=4)
    assert survey == replace(DECLARED, max_epsilon="0.5", max_total_epsilon=4)
    assert "0.5" in str(bench.client(surveys=[survey]).report(survey, "good").error)
    for given in ({"name": "other"}, {"categories": ("a", "b")}, {"low": 0}, {"nonsense": 1}):
        with pytest.raises(TypeError, match="already declares the survey"):
            Survey.bundled(FILE, **given)


def test_a_bundle_for_another_collector_or_of_another_authority_is_refused(bench: Bench) -> None:
    bench.surveys = [Survey.bundled(FILE)]
    with pytest.raises(ValueError, match=f"is for {ORIGIN}, not for http://127.0.0.1:1"):
        bench.client(collector="http://127.0.0.1:1")
    other = SigningKey(bytes(range(32))).public_key
    with pytest.raises(ValueError, match="not by the authority that this client was given"):
        bench.client(authority=other)
    bench.surveys = [replace(bench.surveys[0], bundle=None)]
    bench.client(collector="http://127.0.0.1:1", authority=other)
