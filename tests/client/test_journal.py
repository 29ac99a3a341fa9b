"""``journal()``: all that was stored and sent, to the byte, and never an answer."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from deniable.client import Journal, Survey
from deniable.client.console import as_json
from deniable.counterparts.bodies import split_upload
from deniable.counterparts.signing import sign_rotation
from deniable.fakes import FakeIssuer
from deniable.messages import (
    RefusalCode,
    Repeat,
    Rotation,
    Schedule,
    SigningKey,
    open_manifest,
)
from tests.client.test_plain_text import width
from tests.support.devices import NAME, PORTAL, Bench, entries_of, plain, read_upload, refused
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, START, manifest

LONG_GRACE = Schedule(START, DAY, 8, 9 * DAY)
HOSTILE = "\x1b]0;owned\x07\u202e\r\n\x9b2J" + "x" * 200


def reports(journal: Journal) -> list[SimpleNamespace]:
    return entries_of(journal, "report")


def everything(bench: Bench) -> Journal:
    """Return the journal of a device to which most things have happened."""
    keeping = manifest(name="keeping", repeat=Repeat("memoised", 4), schedule=LONG_GRACE)
    bench.transport.publish(keeping)
    bench.transport.publish(manifest(schedule=LONG_GRACE))
    survey = Survey(
        "keeping", keeping.question, keeping.categories, max_epsilon="1", max_kept_epsilon="1"
    )
    issuer = FakeIssuer()
    bench.transport.publish(manifest(name="vouched", epsilon="0.1", enrolment=issuer.enrolment))
    surveys = [replace(survey, name=NAME), survey, replace(survey, name="vouched")]
    client = bench.client(surveys=surveys, lifetime_epsilon=30, consent="unset", enrol=issuer)
    client.set_consent("on", "settings page")
    assert client.refresh(force=True).errors == {}
    for day, answer in enumerate(
        (bench.transport.answer, refused(RefusalCode.REPORT_CONFLICT), PORTAL)
    ):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good").ok
        assert client.report("keeping", "good").ok
        bench.transport.answer = answer
        client.flush(timeout=0.1)
    successor, thief = SigningKey(bytes([1]) * 32), SigningKey(bytes([2]) * 32)
    for changed, signer in (
        ({"minimum_reports": 7}, AUTHORITY),
        ({"sequence": 1, "epsilon": "2"}, successor),
        ({"sequence": 2}, thief),
    ):
        if signer is not AUTHORITY:
            handed = Rotation(AUTHORITY.public_key, signer.public_key, 1)
            bench.transport.rotations = [sign_rotation(handed, AUTHORITY, signer)]
        bench.transport.publish(manifest(**changed), signer)
        assert client.refresh(force=True).declined
    return client.journal()


def test_each_row_of_each_table_appears(bench: Bench) -> None:
    journal = everything(bench)
    shown = as_json(journal)
    assert max(map(width, str(journal).splitlines())) <= 80
    kinds = {
        "decisions": len(reports(journal)),
        "events": len(entries_of(journal, "event")),
        "authorities": len(entries_of(journal, "rotation")),
        "manifests": len(entries_of(journal, "manifest")),
        "memos": len(entries_of(journal, "memo")),
        "credentials": len(entries_of(journal, "enrolment")),
    }
    tables = {name for (name,) in bench.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    sums = {"carried", "spending_by_day", "spending_by_name"}
    told = {"gateway_keys"}  # by events
    assert tables == {*kinds, *sums, *told, "device", "refreshes", "launches", "consents"}
    assert journal.consent.covers == ("keeping", NAME, "vouched")
    assert {table: bench.rows(f"SELECT count(*) FROM {table}")[0][0] for table in kinds} == kinds
    assert {entry.status for entry in reports(journal)} == {"pending", "delivered", "dropped"}
    assert {entry.role for entry in entries_of(journal, "rotation")} == {"followed", "forking"}
    roles = {entry.role for entry in entries_of(journal, "manifest")}
    assert roles == {"accepted", "equivocating", "refused"}
    secret = {("device", "secret"), ("memos", "key")}
    # Of no meaning to users, or told by the signed bytes.
    inner = {"held", "due", "lived", "one", "mark", "generation", "number", "renewal"}
    inner |= {"starts", "epoch_seconds", "epochs", "range_epochs", "range_cost", "opens", "until"}
    for table in kinds:
        columns = [row[1] for row in bench.rows(f"PRAGMA table_info({table})")]
        for row in bench.rows(f"SELECT * FROM {table}"):
            for column, value in zip(columns, row, strict=True):
                if (table, column) not in secret and column not in inner and value is not None:
                    text = value.hex() if isinstance(value, bytes) else json.dumps(value)
                    assert text.strip('"') in shown, (table, column)


def test_no_secret_appears(bench: Bench) -> None:
    journal = everything(bench)
    keys = bench.rows("SELECT key FROM memos WHERE key IS NOT NULL")
    assert keys
    for (secret,) in bench.rows("SELECT secret FROM device") + keys:
        for shown in (str(journal), as_json(journal), repr(journal)):
            assert secret.hex() not in shown


def test_the_bytes_are_exactly_those_that_were_sent(bench: Bench) -> None:
    journal = everything(bench)
    sent = {envelope for body in bench.transport.uploads for envelope in split_upload(body)}
    # What was dropped is erased; everything else that was ever sent is there, to the byte.
    kept = {entry.content for entry in reports(journal) if entry.content is not None}
    assert kept <= sent
    assert len(sent - kept) == sum(entry.status == "dropped" for entry in reports(journal))
    for body in bench.transport.uploads:
        (envelope,) = split_upload(body)
        for entry in reports(journal):
            if entry.content == envelope:
                report = read_upload(body).report
                assert entry.response == CATEGORIES[report.response]
                assert (entry.epoch, entry.survey_id) == (report.epoch, report.survey_id.hex())
                rows = "".join(line.strip() for line in entry.lines)
                assert envelope.hex() in rows


def test_it_is_in_order_newest_last(bench: Bench) -> None:
    journal = everything(bench)
    days = [entry.at // DAY for entry in journal.entries]
    assert days == sorted(days)
    exact = [e.at for e in journal.entries if e.facts.get("settled") is None]
    assert exact == sorted(exact)
    assert [entry.epoch for entry in reports(journal)] == [0, 0, 1, 1, 2, 2]
    assert journal.entries[0].kind == "event"


def test_verdicts_sends_and_drops_are_told(bench: Bench) -> None:
    journal = everything(bench)
    by_status = {
        status: [entry for entry in reports(journal) if entry.status == status]
        for status in ("delivered", "dropped", "pending")
    }
    assert all(by_status.values())
    assert {entry.verdict for entry in by_status["delivered"]} == {"accepted"}
    assert {entry.verdict for entry in by_status["dropped"]} == {"report-conflict"}
    assert journal.dropped == {"report-conflict": len(by_status["dropped"])}
    for entry in by_status["pending"]:
        assert (entry.settled, entry.sends > 0, entry.unanswered) == (None, True, entry.sends)
        assert entry.due is not None
        assert f"Attempts {entry.sends}, {entry.unanswered} unanswered; to" in plain(
            "\n".join(entry.lines)
        )
    for entry in by_status["delivered"] + by_status["dropped"]:
        assert entry.settled is not None
        assert entry.due is None
    assert f"Dropped         report-conflict {len(by_status['dropped'])}" in str(journal)
    assert "accepted (the collector has counted the report)" in str(journal)


def test_equivocation_is_shown_with_both_signed_surveys(bench: Bench) -> None:
    (proof,) = [e for e in entries_of(everything(bench), "manifest") if e.role == "equivocating"]
    assert proof.contradicted is not None
    one, other = (
        open_manifest(content, AUTHORITY.public_key)
        for content in (proof.content, proof.contradicted)
    )
    assert one.survey_id != other.survey_id
    assert (one.name, one.sequence) == (other.name, other.sequence)
    text = "".join(line.strip() for line in proof.lines)
    assert proof.content.hex() in text
    assert proof.contradicted.hex() in text
    assert proof.reason.startswith("equivocation: ")


@pytest.mark.parametrize("ending", ["off", "purge", "grace"])
def test_what_was_erased_is_told_to_be(bench: Bench, ending: str) -> None:
    client = bench.reported()
    client.flush()
    if ending == "off":
        client.set_consent("off")
    elif ending == "purge":
        client.purge()
    else:
        bench.clock.time = START + 3 * DAY
        client.flush()
    journal = client.journal()
    (entry,) = reports(journal)
    assert (entry.content, entry.response, entry.status) == (None, None, "delivered")
    assert "Bytes         erased" in str(journal)
    assert bench.transport.uploads[0].hex()[10:60] not in str(journal)


@pytest.mark.parametrize("consent", ["unset", "off", "on"])
def test_where_there_is_no_state_none_is_made(bench: Bench, tmp_path: Path, consent: str) -> None:
    journal = bench.client(consent=consent).journal()
    assert (journal.entries, dict(journal.dropped)) == ((), {})
    assert "nothing was stored or sent" in str(journal)
    assert list(tmp_path.iterdir()) == []


def test_signed_bytes_that_rotted_are_shown_without_a_response(bench: Bench) -> None:
    client = bench.reported()
    bench.rows("UPDATE decisions SET envelope = x'c1'")
    (entry,) = reports(client.journal())
    assert (entry.response, entry.content) == (None, b"\xc1")


def test_no_text_reaches_the_terminal_as_a_command(bench: Bench) -> None:
    journal = everything(bench)
    for column in ("verdict", "origin"):
        bench.rows(f"UPDATE decisions SET {column} = '{HOSTILE}'")
    bench.rows(f"UPDATE events SET kind = '{HOSTILE}', detail = '{HOSTILE}'")
    bench.rows(f"UPDATE manifests SET reason = '{HOSTILE}'")
    bench.rows("UPDATE decisions SET status = 'dropped', envelope = NULL")
    hostile = bench.client(environment={}).journal()
    assert len(hostile.entries) == len(journal.entries)
    text = str(hostile)
    assert "\\x1b]0;owned\\x07\\u202e" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert max(map(width, text.split("\n"))) <= 80
    assert as_json(hostile).replace("\n", "").isprintable()
