"""What a blind issuer signs, what it never does, and what it erases: rules I1 to I4."""

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key

from deniable.counterparts.signing import sign_manifest
from deniable.enrolment import AnotherKey, BlindIssuer, IssuerError, NotListed, SqliteIssuanceRecord
from deniable.enrolment.epoch_keys import FaultyResult, PrivateKey
from deniable.key_files import KeyFileError
from deniable.messages import Enrolment, Manifest, Refusal, RefusalCode, Schedule
from deniable.messages.schedule import EARLY_SECONDS
from deniable.privacy_pass import MODULUS_BYTES, pack_token_request, token_key_id
from tests.enrolment.blind_issuers import (
    BLIND,
    MODULI,
    blind_issuer,
    is_token,
    key_directory,
    request,
)
from tests.enrolment.issuers import CERTIFIED, ISSUER_KEY, NOW, RECORD_KEY, device_key, issuer
from tests.enrolment.test_issuer import rows
from tests.support.effort import THOROUGH
from tests.support.processes import ROOT
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import AUTHORITY, DAY, START

ASKED = request(1)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return key_directory(tmp_path)


@pytest.fixture
def ours(record: SqliteIssuanceRecord, keys: Path) -> BlindIssuer:
    return blind_issuer(record, keys)


def refusal(issuer: BlindIssuer, **changes: Any) -> Refusal:
    asked = {"account": "ann", "survey": "blind", "epoch": 0, "request": ASKED.body, "now": NOW}
    with pytest.raises(Refusal) as caught:
        issuer.issue(**asked | changes)  # type: ignore[arg-type]
    return caught.value


def test_i1_an_account_gets_one_token_an_epoch_and_the_same_answer_as_often_as_it_asks(
    ours: BlindIssuer,
) -> None:
    first = ours.issue("ann", "blind", 0, ASKED.body, NOW)
    assert is_token(ASKED.finish(first), 1)
    assert ours.issue("ann", "blind", 0, ASKED.body, NOW + 7) == first
    second = refusal(ours, request=request(2).body)  # a second client, or an app installed again
    assert isinstance(second, AnotherKey)
    assert second.code is RefusalCode.NOT_ENROLLED
    assert ours.issue("ann", "blind", 0, ASKED.body, NOW) == first
    # Other accounts and other epochs have slots of their own, and each epoch a key of its own.
    assert is_token(request(2).finish(ours.issue("bob", "blind", 0, request(2).body, NOW)), 2)
    later = request(1, 1)
    assert is_token(later.finish(ours.issue("ann", "blind", 1, later.body, NOW + DAY)), 1, 1)


def successor(length: int = DAY) -> Manifest:
    """Return a manifest of the same name whose epochs go on with number 1, when 0 is over."""
    schedule = Schedule(START + DAY - length, length, len(MODULI), DAY)
    enrolment = replace(BLIND.enrolment, first=1, keys=MODULI[1:])
    return replace(BLIND, sequence=1, schedule=schedule, enrolment=enrolment)


def test_i1_a_successor_with_the_same_keys_gives_no_second_token_in_an_epoch(
    ours: BlindIssuer,
) -> None:
    later = ours.add_manifest(sign_manifest(successor(), AUTHORITY))
    first, second = request(1, 1), request(1, 1, later)  # of one device, for either manifest
    taken = ours.issue("ann", "blind", 1, second.body, NOW + DAY)
    assert is_token(second.finish(taken), 1, 1, later)
    assert isinstance(refusal(ours, epoch=1, request=first.body, now=NOW + DAY), AnotherKey)


def test_i1_what_two_manifests_end_at_different_times_is_forgotten_when_both_have(
    record: SqliteIssuanceRecord, keys: Path, tmp_path: Path
) -> None:
    ours = blind_issuer(record, keys)
    ours.issue("ann", "blind", 1, request(1, 1).body, NOW + DAY)
    long = successor(30 * DAY)
    ours.add_manifest(sign_manifest(long, AUTHORITY))  # late: its epoch 1 has begun as well
    ours.forget(START + 10 * DAY)  # by the first manifest, epoch 1 has been over for six days
    assert len(rows(tmp_path)) == 1
    late = request(2, 1, long).body
    assert isinstance(refusal(ours, epoch=1, request=late, now=START + 10.0 * DAY), AnotherKey)
    ours.forget(long.schedule.closes(1) + DAY)
    assert rows(tmp_path) == []


def test_i1_an_account_with_a_certificate_gets_no_token_in_that_epoch(
    record: SqliteIssuanceRecord, ours: BlindIssuer
) -> None:
    certified = replace(CERTIFIED, name="blind")
    before = issuer(record, manifests=[sign_manifest(certified, AUTHORITY)])
    key = device_key(1, survey_id=certified.survey_id)
    before.issue("ann", certified.survey_id, 0, key, NOW)
    assert isinstance(refusal(ours), AnotherKey)


def test_i2_killed_at_any_instant_it_gives_one_token_for_an_account_and_epoch(
    tmp_path: Path,
) -> None:
    step = "1" if THOROUGH else "4"
    command = [sys.executable, "-m", "tests.support.doomed_issuer", str(tmp_path), step]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert told.returncode == 0, told.stderr
    fates = [json.loads(line) for line in told.stdout.splitlines()]
    assert [fate["killed"] for fate in fates] == [True] * (len(fates) - 1) + [False]
    assert len(fates) > 4
    for fate in fates:
        # Either the first request holds the slot, and the second got nothing; or it left no trace.
        assert fate["second"] == (fate["again"] == "another"), fate
        assert not fate["given"] or fate["again"] == "same", fate


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"survey": "other"}, "unknown-survey"),
        *(({"epoch": 4}, "out-of-domain"), ({"epoch": -1}, "out-of-domain")),
        *(({"now": START - EARLY_SECONDS - 1.0}, "too-early"), ({"epoch": 1}, "too-early")),
        ({"now": START + 2 * DAY}, "epoch-closed"),
        *(({"request": b""}, "malformed"), ({"request": ASKED.body + b"\0"}, "malformed")),
        ({"request": b"\0\1" + ASKED.body[2:]}, "malformed"),
        # The key of the next epoch, and a message that is none below the modulus.
        ({"request": request(1, 1).body}, "malformed"),
        ({"request": pack_token_request(token_key_id(MODULI[0]), MODULI[0])}, "malformed"),
    ],
)
def test_i3_what_no_report_could_use_is_not_signed_and_leaves_no_trace(
    ours: BlindIssuer, tmp_path: Path, changes: dict[str, Any], code: str
) -> None:
    assert refusal(ours, **changes).code.value == code
    assert rows(tmp_path) == []


def test_i3_before_its_first_key_nobody_is_enrolled(
    record: SqliteIssuanceRecord, keys: Path
) -> None:
    late = replace(BLIND, enrolment=replace(BLIND.enrolment, first=1, keys=MODULI[1:]))
    ours = blind_issuer(record, keys, manifests=[sign_manifest(late, AUTHORITY)])
    assert refusal(ours).code is RefusalCode.NOT_ENROLLED


@pytest.mark.parametrize(
    "enrolment",
    [
        Enrolment(),
        Enrolment("certificate", (ISSUER_KEY.public_key,)),
        replace(BLIND.enrolment, issuer="other.example.org"),
    ],
)
def test_i3_a_survey_that_does_not_list_it_is_refused(
    ours: BlindIssuer, enrolment: Enrolment
) -> None:
    survey = replace(BLIND, name="other", enrolment=enrolment)
    with pytest.raises(NotListed):
        ours.add_manifest(sign_manifest(survey, AUTHORITY))


def test_i3_keys_of_another_survey_or_epoch_are_refused(
    record: SqliteIssuanceRecord, keys: Path
) -> None:
    # With them an account could ask for two tokens that fit one survey and epoch.
    turned = replace(BLIND.enrolment, keys=(MODULI[1], MODULI[0], *MODULI[2:]))
    for surveys, reason in (((replace(BLIND, enrolment=turned),), "of other epochs"),):
        with pytest.raises(NotListed, match=reason):
            blind_issuer(record, keys, manifests=[sign_manifest(s, AUTHORITY) for s in surveys])
    (keys / "epoch-00003.pem").unlink()
    with pytest.raises(NotListed, match="private halves are missing"):
        blind_issuer(record, keys)


def test_i4_the_record_holds_no_account_and_no_request(ours: BlindIssuer, tmp_path: Path) -> None:
    account = "an account that would be seen"
    ours.issue(account, "blind", 0, ASKED.body, NOW)
    files = [file for file in tmp_path.iterdir() if file.is_file()]
    content = b"".join(file.read_bytes() for file in files)
    for secret in (account.encode(), ASKED.body[3:], MODULI[0], RECORD_KEY):
        assert secret not in content


def test_private_keys_are_erased_when_their_grace_is_over(ours: BlindIssuer, keys: Path) -> None:
    answer = ours.issue("ann", "blind", 0, ASKED.body, NOW)
    ours.forget(START + 2 * DAY - 1)
    assert ours.issue("ann", "blind", 0, ASKED.body, START + 2 * DAY - 1) == answer
    ours.forget(START + 2 * DAY)
    left = [f"epoch-0000{epoch}.pem" for epoch in (1, 2, 3)]
    assert sorted(file.name for file in keys.glob("*.pem")) == left
    # The clock is put back: the key is gone, from memory too.
    with pytest.raises(KeyFileError, match="missing"):
        ours.issue("ann", "blind", 0, ASKED.body, NOW)


def test_private_keys_of_a_manifest_that_is_not_given_stay(
    record: SqliteIssuanceRecord, keys: Path
) -> None:
    newest, first = (sign_manifest(survey, AUTHORITY) for survey in (successor(), BLIND))
    ours = blind_issuer(record, keys, manifests=[newest])
    ours.forget(START + 3 * DAY)
    assert (keys / "epoch-00000.pem").exists()
    ours.add_manifest(first)
    ours.forget(START + 3 * DAY)
    assert not (keys / "epoch-00000.pem").exists()


def test_it_starts_again_with_a_survey_whose_keys_are_all_erased(
    record: SqliteIssuanceRecord, keys: Path
) -> None:
    blind_issuer(record, keys).forget(BLIND.schedule.closes(3))
    again = blind_issuer(record, keys)
    assert list(keys.glob("*.pem")) == []
    with pytest.raises(KeyFileError, match="missing"):  # a clock that ran ahead
        again.issue("ann", "blind", 0, ASKED.body, NOW)


def test_no_text_of_it_shows_an_account_or_a_secret(ours: BlindIssuer) -> None:
    ours.issue("ann", "blind", 0, ASKED.body, NOW)
    key = ours._keys[0].key(MODULI[0])
    shown = f"{ours!r} {key!r} {ours._keys!r} {refusal(ours, request=request(2).body)!r}"
    for secret in ("ann", RECORD_KEY.hex(), str(RSA_KEYS[0].p), hex(RSA_KEYS[0].p)):
        assert secret not in shown
    with pytest.raises(TypeError):
        key.__reduce__()


def private_key(number: int, *drawn: int) -> PrivateKey:
    loaded = load_der_private_key(RSA_KEYS[number].pkcs8, None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(loaded, RSAPrivateKey)
    factors = iter(drawn)
    return PrivateKey(loaded, lambda _: next(factors)) if drawn else PrivateKey(loaded)


def test_the_private_operation_is_the_root_whatever_factor_hides_what_was_asked() -> None:
    n = int.from_bytes(MODULI[0])
    for number in (0, 1, 2, n - 1, int.from_bytes(ASKED.body[3:])):
        asked = number.to_bytes(MODULUS_BYTES)
        answers = {private_key(0).answer(asked) for _ in range(3)}
        answers |= {private_key(0, 0).answer(asked), private_key(0, n - 2).answer(asked)}
        assert answers == {RSA_KEYS[0].answer(bytes(3) + asked)}


def _issue_in_process(folder: Path, keys: Path, asks: int) -> list[bool]:
    with SqliteIssuanceRecord(folder / "issued.sqlite") as opened:
        ours = blind_issuer(opened, keys)
        return [_is_given(ours, f"account {n}", request(asks).body) for n in range(8)]


def _is_given(ours: BlindIssuer, account: str, body: bytes) -> bool:
    try:
        return ours.issue(account, "blind", 0, body, NOW) != b""
    except AnotherKey:
        return False


@pytest.mark.long
def test_i1_of_processes_that_share_record_and_keys_one_gives_an_account_its_token(
    tmp_path: Path, keys: Path
) -> None:
    spawned, asking = multiprocessing.get_context("spawn"), range(1, 4)
    together = spawned.Barrier(len(asking))
    with ProcessPoolExecutor(len(asking), spawned, together.wait, (60.0,)) as pool:
        tasks = [pool.submit(_issue_in_process, tmp_path, keys, asks) for asks in asking]
        given = [task.result(120.0) for task in tasks]
    assert [sum(account) for account in zip(*given, strict=True)] == [1] * 8


def test_without_gmpy2_it_says_what_to_install(
    ours: BlindIssuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    with pytest.raises(IssuerError, match=r"deniable\[issuer\]"):
        ours.issue("ann", "blind", 0, ASKED.body, NOW)
    assert rows(tmp_path) == []


@pytest.mark.parametrize("part", ["_d_p", "_d_q", "_q_inverse"])
def test_a_faulty_result_is_never_given(part: str) -> None:
    key = private_key(0)
    setattr(key, part, getattr(key, part) ^ 4)
    with pytest.raises(FaultyResult):
        key.answer(ASKED.body[3:])
