"""What an issuer signs, and what it never does: rules I1 to I4."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.counterparts.signing import sign_manifest, sign_rotation
from deniable.enrolment import AnotherKey, Issuer, NotListed, SqliteIssuanceRecord, WrongRecordKey
from deniable.messages import Enrolment, Refusal, RefusalCode, Rotation, SigningKey
from deniable.messages.schedule import EARLY_SECONDS
from tests.enrolment.issuers import (
    CERTIFIED,
    ISSUER_KEY,
    NEXT_KEY,
    NOW,
    RECORD_KEY,
    SURVEY_ID,
    device_key,
    issuer,
    vouches,
)
from tests.support.surveys import AUTHORITY, DAY, START

KEY = device_key(1)


def refusal(issuer: Issuer, **changes: Any) -> Refusal:
    asked = {"account": "ann", "survey_id": SURVEY_ID, "epoch": 0, "public_key": KEY, "now": NOW}
    with pytest.raises(Refusal) as caught:
        issuer.issue(**asked | changes)  # type: ignore[arg-type]
    return caught.value


def rows(folder: Path) -> list[tuple[bytes, bytes, int]]:
    with closing(sqlite3.connect(folder / "issued.sqlite")) as connection:
        query = "SELECT slot, holder, over FROM issuances WHERE slot != ?"
        return connection.execute(query, (bytes(32),)).fetchall()


def test_i1_an_account_gets_one_key_and_its_certificate_as_often_as_it_asks(
    record: SqliteIssuanceRecord,
) -> None:
    ours = issuer(record)
    first = ours.issue("ann", SURVEY_ID, 0, KEY, NOW)
    assert vouches(first, KEY) == ours.public_key == ISSUER_KEY.public_key
    assert ours.issue("ann", SURVEY_ID, 0, KEY, NOW + 7) == first
    refused = refusal(ours, public_key=device_key(2))
    assert isinstance(refused, AnotherKey)
    assert refused.code is RefusalCode.NOT_ENROLLED
    assert ours.issue("ann", SURVEY_ID, 0, KEY, NOW) == first
    # Other accounts and other epochs have slots of their own.
    assert vouches(ours.issue("bob", SURVEY_ID, 0, device_key(2), NOW), device_key(2))
    later = device_key(1, epoch=1)
    assert vouches(ours.issue("ann", SURVEY_ID, 1, later, NOW + DAY), later, epoch=1)


def test_i1_a_successor_of_the_same_name_gives_no_second_key_in_an_epoch(
    record: SqliteIssuanceRecord,
) -> None:
    ours = issuer(record)
    ours.issue("ann", SURVEY_ID, 0, KEY, NOW)
    successor = ours.add_manifest(sign_manifest(replace(CERTIFIED, sequence=1), AUTHORITY))
    for key in (KEY, device_key(1, survey_id=successor.survey_id)):
        refused = refusal(ours, survey_id=successor.survey_id, public_key=key)
        assert isinstance(refused, AnotherKey)
    # Another name is another survey.
    other = ours.add_manifest(sign_manifest(replace(CERTIFIED, name="other"), AUTHORITY))
    assert ours.issue("ann", other.survey_id, 0, KEY, NOW)


def test_i1_the_next_issuer_vouches_for_the_same_key_and_no_other(
    record: SqliteIssuanceRecord,
) -> None:
    before = issuer(record).issue("ann", SURVEY_ID, 0, KEY, NOW)
    rotated = issuer(record, NEXT_KEY)
    after = rotated.issue("ann", SURVEY_ID, 0, KEY, NOW)
    assert after != before
    assert vouches(after, KEY) == NEXT_KEY.public_key
    assert isinstance(refusal(rotated, public_key=device_key(2)), AnotherKey)


@pytest.mark.parametrize("now", [START - EARLY_SECONDS, START + DAY, START + 2 * DAY - 1])
def test_i3_it_issues_for_as_long_as_the_collector_takes_the_epochs_reports(
    record: SqliteIssuanceRecord, now: int
) -> None:
    assert vouches(issuer(record).issue("ann", SURVEY_ID, 0, KEY, float(now)), KEY)


@pytest.mark.parametrize(
    "enrolment", [Enrolment(), Enrolment("certificate", (NEXT_KEY.public_key,))]
)
def test_i3_a_survey_that_does_not_list_it_is_refused(
    record: SqliteIssuanceRecord, enrolment: Enrolment
) -> None:
    ours = issuer(record)
    with pytest.raises(NotListed, match=ours.public_key.hex()):
        ours.add_manifest(sign_manifest(replace(CERTIFIED, enrolment=enrolment), AUTHORITY))


def test_i3_a_survey_is_one_that_its_authority_signed_or_handed_over(
    record: SqliteIssuanceRecord,
) -> None:
    ours, new = issuer(record), SigningKey(b"authority seed of the tests 0002")
    for envelope, code in (
        (sign_manifest(replace(CERTIFIED, name="stranger"), new), "bad-signature"),
        (b"", "malformed"),
    ):
        with pytest.raises(Refusal, match=code):
            ours.add_manifest(envelope)
    handed = [sign_rotation(Rotation(AUTHORITY.public_key, new.public_key, 1), AUTHORITY, new)]
    # The authority is given in hex, as apps pin it.
    pinned, signed = AUTHORITY.public_key.hex(), [sign_manifest(CERTIFIED, new)]
    ours = issuer(record, authority=pinned, rotations=handed, manifests=signed)
    assert vouches(ours.issue("ann", SURVEY_ID, 0, KEY, NOW), KEY)


def test_i4_the_record_holds_no_account_no_key_and_nothing_that_links_epochs(
    record: SqliteIssuanceRecord, tmp_path: Path
) -> None:
    ours = issuer(record)
    account = "an account that would be seen"
    ours.issue(account, SURVEY_ID, 0, KEY, NOW)
    ours.issue(account, SURVEY_ID, 1, device_key(1, epoch=1), NOW + DAY)
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    keys = [KEY, device_key(1, epoch=1), SURVEY_ID, ours.public_key, RECORD_KEY]
    for secret in (account.encode(), b"certified", *keys):
        assert secret not in content
    parts = [part for row in rows(tmp_path) for part in row[:2]]
    assert len(set(parts)) == 4
    assert {len(part) for part in parts} == {32}


def test_what_ended_a_day_ago_is_forgotten_and_never_issued_again(
    record: SqliteIssuanceRecord, tmp_path: Path
) -> None:
    ours = issuer(record)
    ours.issue("ann", SURVEY_ID, 0, KEY, NOW)
    ours.issue("ann", SURVEY_ID, 1, device_key(1, epoch=1), NOW + DAY)
    ours.forget(START + 3 * DAY - 1)
    assert len(rows(tmp_path)) == 2
    ours.forget(START + 3 * DAY)
    assert [over for _, _, over in rows(tmp_path)] == [START + 3 * DAY]
    # The clock is put back: the epoch seems open, and who had a key in it is not known any more.
    assert refusal(ours, public_key=device_key(2)).code is RefusalCode.EPOCH_CLOSED
    assert refusal(ours).code is RefusalCode.EPOCH_CLOSED
    assert isinstance(refusal(ours, epoch=1, now=NOW + DAY), AnotherKey)
    assert ours.issue("bob", SURVEY_ID, 1, KEY, NOW + DAY)


def test_a_clock_that_ran_far_ahead_costs_the_epochs_it_made_forget_and_no_others(
    record: SqliteIssuanceRecord,
) -> None:
    ours = issuer(record)
    ours.issue("ann", SURVEY_ID, 0, KEY, NOW)
    ours.forget(2.0**40)
    assert refusal(ours, account="bob").code is RefusalCode.EPOCH_CLOSED
    assert ours.issue("ann", SURVEY_ID, 1, device_key(1, epoch=1), NOW + DAY)
    issuer(record)  # what tells its key is never forgotten


@pytest.mark.parametrize(
    "changes",
    [
        {"record_key": b"short"},
        *({"authority": key} for key in (bytes(32), b"short", "no hex digits", "00" * 31)),
    ],
)
def test_keys_that_are_none_are_refused_at_once(
    record: SqliteIssuanceRecord, changes: dict[str, Any]
) -> None:
    issuer(record)
    with pytest.raises(ValueError, match="key"):
        issuer(record, **changes)
    with pytest.raises(WrongRecordKey):  # I4: under another one nobody would be found
        issuer(record, record_key=bytes(32))


def test_any_text_is_an_account_of_its_own_and_nothing_else(record: SqliteIssuanceRecord) -> None:
    ours = issuer(record)
    names = ["a", "A", " a", "a\0", "é", "e\u0301", "\udc80", "x" * 100_000]
    for number, name in enumerate(names):
        assert ours.issue(name, SURVEY_ID, 0, device_key(number), NOW)
    nobody: list[Any] = ["", None, 7, b"ann"]
    for account in nobody:  # the app's own bug
        with pytest.raises((TypeError, ValueError)):
            ours.issue(account, SURVEY_ID, 0, KEY, NOW)


def test_no_text_of_it_shows_an_account_or_a_secret(record: SqliteIssuanceRecord) -> None:
    ours = issuer(record)
    ours.issue("ann", SURVEY_ID, 0, KEY, NOW)
    shown = f"{ours!r} {refusal(ours, public_key=device_key(2))!r}"
    for secret in ("ann", RECORD_KEY.decode(), RECORD_KEY.hex(), KEY.hex(), device_key(2).hex()):
        assert secret not in shown
