"""Every way in which a log, or who serves it, can deceive, and what the auditor calls it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.counterparts.signing import sign_gateway_keys, sign_rotation
from deniable.documents import Level
from deniable.documents.programs import document_json
from deniable.logs import Checkpoint, SignedCheckpoint
from deniable.logs.notes import NoteSignature
from deniable.messages import LoggedEnvelope, Rotation, SigningKey, log_entry
from deniable.messages.gateway import GatewayKeys
from deniable.oblivious_http import KeyConfiguration
from deniable.public_log.audit.checks import Replies, audit
from deniable.public_log.audit.document import audit_document
from deniable.public_log.audit.findings import FINDINGS
from deniable.public_log.publish.public_log import large_digest, large_path
from tests.public_log.audit.served import (
    NOW,
    THREE,
    TRUST,
    Files,
    audited,
    checkpoint_of,
    codes,
    downloaded,
    files_of,
    offer_of,
    signed,
)
from tests.support.cosigning import cosign
from tests.support.processes import ROOT
from tests.support.public_logs import LOG_KEY, WITNESSES
from tests.support.surveys import AUTHORITY

OTHER = SigningKey(b"another key of the tests 0000001")
NEXT = SigningKey(b"the next key of the tests 000001")
HANDED = sign_rotation(Rotation(AUTHORITY.public_key, NEXT.public_key, 1), AUTHORITY, NEXT)
STOLEN = sign_rotation(Rotation(AUTHORITY.public_key, OTHER.public_key, 1), AUTHORITY, OTHER)


def gateway(public_key: bytes, by: SigningKey = AUTHORITY) -> bytes:
    listed = (KeyConfiguration(1, public_key * 32),)
    return sign_gateway_keys(GatewayKeys("https://collector.example", 1, listed), by)


LARGE = signed(name="large", categories=tuple(f"{'x' * 200}{number}" for number in range(400)))
BUNDLE = "tile/entries/000.p/3"


def test_an_honest_log_has_no_finding() -> None:
    anew = signed(sequence=2, epsilon="3", by=NEXT)
    logged = (*THREE, LARGE, HANDED, anew)
    audit = audited(files_of(logged), offer_of(logged, signer=NEXT.public_key))
    assert codes(audit) == set()
    assert audit.worst is Level.NOTE
    assert audit.whole
    assert audit.to_be_remembered
    assert audit.downloaded.history.chain == (AUTHORITY.public_key, NEXT.public_key)
    versions = audit.downloaded.history.versions["rating-of-marriage"]
    assert {index: survey.sequence for index, survey in versions.items()} == {0: 0, 1: 1, 2: 2}
    # Whoever pins the key that signs now has the whole history, too.
    later = replace(TRUST, authority=NEXT.public_key)
    assert codes(audited(files_of(logged), trust=later)) == set()


def resigned(files: Files, **changes: Any) -> None:
    checkpoint = replace(SignedCheckpoint.parse(files["checkpoint"]).checkpoint, **changes)
    lines = [cosign(checkpoint, name, key, NOW) for name, key in WITNESSES.items()]
    files["checkpoint"] = sign_checkpoint(checkpoint, LOG_KEY).with_signatures(lines).text.encode()


def flip(path: str) -> Callable[[Files], None]:
    return put(path, lambda content: content[:-1] + bytes([content[-1] ^ 1]))


def lose(path: str) -> Callable[[Files], None]:
    return lambda files: files.__delitem__(path)


def forged_cosignature(files: Files) -> None:
    own, first, *others = signatures(files)
    broken = first.signature[:-1] + bytes([first.signature[-1] ^ 1])
    sign_anew(files, own, replace(first, signature=broken), *others)


def moved_cosignature(files: Files) -> None:
    """Take the cosignatures of another checkpoint."""
    sign_anew(files, signatures(files)[0], *checkpoint_of(THREE[:2]).signatures[1:])


def other_key(files: Files) -> None:
    checkpoint = SignedCheckpoint.parse(files["checkpoint"]).checkpoint
    sign_anew(files, *sign_checkpoint(checkpoint, OTHER).signatures, *signatures(files)[1:])


def signatures(files: Files) -> tuple[NoteSignature, ...]:
    return SignedCheckpoint.parse(files["checkpoint"]).signatures


def sign_anew(files: Files, *lines: NoteSignature) -> None:
    checkpoint = replace(SignedCheckpoint.parse(files["checkpoint"]), signatures=lines)
    files["checkpoint"] = checkpoint.text.encode()


def put(path: str, change: Callable[[bytes], bytes]) -> Callable[[Files], None]:
    return lambda files: files.update({path: change(files[path])})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (flip(BUNDLE), {"unsigned", "wrong-root"}),
        (put(BUNDLE, lambda _: files_of(THREE[::-1])[BUNDLE]), {"gap", "wrong-root"}),
        (put(BUNDLE, lambda content: content[:-1]), {"incomplete"}),
        (lose(BUNDLE), {"incomplete"}),
        (lambda files: resigned(files, root=bytes(32)), {"wrong-root"}),
        (lambda files: resigned(files, size=4), {"incomplete"}),
        (
            put("checkpoint", lambda text: text.replace(b"collector.example/", b"o.example/")),
            {"forged-checkpoint", "forged-cosignature", "few-witnesses", "other-origin"},
        ),
        (other_key, {"forged-checkpoint"}),
        (forged_cosignature, {"forged-cosignature"}),
        (moved_cosignature, {"forged-cosignature", "few-witnesses"}),
    ],
)
def test_files_that_are_not_what_was_signed_are_told(
    change: Callable[[Files], None], expected: set[str]
) -> None:
    files = files_of(THREE)
    change(files)
    audit = audited(files)
    assert codes(audit) == expected
    assert audit.worst is next(level for level in Level if expected & FINDINGS[level].keys())
    # What the log did not sign, or cannot show, is not what the next visit compares with.
    doubtful = expected & {"forged-checkpoint", "wrong-root"} or not audit.whole
    assert audit.to_be_remembered is not bool(doubtful)


@pytest.mark.parametrize(
    ("envelopes", "expected"),
    [
        ([*THREE, signed(by=OTHER, name="strange")], {"unsigned"}),
        ([*THREE, b"no envelope"], {"unsigned"}),
        ([signed(by=OTHER), b"no envelope"], {"strange"}),
        ([*THREE, STOLEN, signed(by=OTHER, name="strange")], set()),
        ([*THREE, HANDED, STOLEN], {"authority-fork"}),
        (
            [*THREE, sign_rotation(Rotation(OTHER.public_key, NEXT.public_key, 1), OTHER, NEXT)],
            {"unsigned"},
        ),
        ([*THREE, signed(sequence=2, nonce=b"n" * 16)], {"equivocation"}),
        ([*THREE, b"\x91\xc4\x20" + bytes(300)], {"unsigned"}),
        ([*THREE, b""], {"unsigned"}),
        ([*THREE, gateway(b"a"), gateway(b"b")], {"equivocation"}),
        ([*THREE, gateway(b"a"), HANDED, gateway(b"a", NEXT)], set()),
        ([*THREE, HANDED, signed(sequence=3)], {"former-key"}),
        ([*THREE, HANDED, gateway(b"a")], {"former-key"}),
        ([*THREE[:2], HANDED, signed(sequence=2, epsilon="3", by=NEXT), THREE[2]], set()),
        ([*THREE, signed(sequence=4)], {"gap"}),
        (THREE[1:], {"gap"}),
        ([THREE[0], THREE[2], THREE[1]], {"gap"}),
    ],
)
def test_entries_that_nobody_should_have_logged_are_told(
    envelopes: Sequence[bytes], expected: set[str]
) -> None:
    assert codes(audited(files_of(envelopes))) == expected


def without_proof(*envelopes: bytes) -> list[tuple[str, LoggedEnvelope]]:
    return [("a survey", LoggedEnvelope(envelope, b"")) for envelope in envelopes]


SPOILED = [
    (what, LoggedEnvelope(e, p.replace(b"index 0", b"index 1")))
    for what, (e, p) in offer_of(THREE).signed
]


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (offer_of((*THREE, HANDED)), {"unlogged", "stale"}),
        (offer_of(THREE, signed=without_proof(*THREE)), {"unproven"}),
        (offer_of(THREE, signed=without_proof(HANDED)), {"unlogged"}),
        (offer_of(THREE, signed=SPOILED), {"wrong-proof"}),
        (offer_of(THREE, cosigners=1), {"few-witnesses"}),
        (offer_of((THREE[0], HANDED), THREE[0], cosigners=0), {"two-faces", "few-witnesses"}),
        (offer_of(THREE, signer=OTHER.public_key), {"other-authority"}),
        # Of a log that has grown, a checkpoint that has not; and the proof of a fork.
        (offer_of((*THREE, HANDED), *THREE), {"stale"}),
        (offer_of((THREE[0], HANDED, THREE[1]), THREE[0]), {"two-faces"}),
        (offer_of((THREE[0], HANDED), THREE[0]), {"two-faces"}),
        (offer_of(THREE[:2]), set()),
    ],
)
def test_what_is_offered_and_not_what_the_log_says_is_told(
    offered: Any, expected: set[str]
) -> None:
    assert codes(audited(files_of(THREE), offered)) == expected


LARGE_FILE = large_path(large_digest(log_entry(LARGE)))


def test_of_withheld_entries_only_the_checkpoint_is_judged() -> None:
    for logged, lost in ((THREE, BUNDLE), ((*THREE, LARGE), LARGE_FILE)):
        files = files_of(logged)
        del files[lost]
        assert codes(audited(files, offer_of(THREE[:1]))) == {"incomplete"}
        said = {"witness0.example": checkpoint_of(logged[::-1])}
        told = audit(downloaded(files), None, TRUST, NOW, said)
        assert codes(told) == {"incomplete", "two-faces"}


def test_what_stands_for_a_long_envelope_is_not_believed() -> None:
    files = files_of((*THREE, LARGE))
    files[LARGE_FILE] = signed(name="other")
    assert codes(audited(files)) == {"wrong-root"}


FORK = (*THREE[:2], signed(sequence=2, epsilon="9"))


@pytest.mark.parametrize(
    ("before", "now", "expected", "extends"),
    [
        (THREE, THREE, set(), True),
        (THREE[:1], THREE, set(), True),
        (THREE, THREE[:2], {"smaller"}, False),
        (THREE, FORK, {"two-faces"}, False),
        (THREE, (*FORK, HANDED), {"two-faces"}, False),
    ],
)
def test_the_last_visit_is_extended_or_what_that_means_is_told(
    before: Sequence[bytes], now: Sequence[bytes], expected: set[str], extends: bool
) -> None:
    remembered = checkpoint_of(before)
    audit = audited(files_of(now), trust=replace(TRUST, remembered=remembered))
    assert codes(audit) == expected
    assert audit.extends is audit.to_be_remembered is extends
    if "two-faces" in expected:
        assert audit.two_faces == remembered
    # Without the log's key, two histories are a suspicion: anybody could have signed either.
    nameless = replace(TRUST, remembered=remembered, log_key=None)
    doubted = {"another-history" if code == "two-faces" else code for code in expected}
    assert codes(audited(files_of(now), trust=nameless)) == doubted | {"unpinned-key"}


def test_a_remembered_checkpoint_that_the_log_never_signed_proves_nothing() -> None:
    checkpoint = Checkpoint("collector.example/log", 3, bytes(32))
    forged = sign_checkpoint(checkpoint, OTHER)
    audit = audited(files_of(THREE), trust=replace(TRUST, remembered=forged))
    assert codes(audit) == {"another-history"}
    assert audit.two_faces is None


def test_what_witnesses_cosigned_last_is_this_log_too() -> None:
    def heard(envelopes: Sequence[bytes]) -> set[str]:
        newest = checkpoint_of(envelopes)
        said: Replies = {"witness0.example": newest, "witness1.example": "why"}
        result = audit(downloaded(files_of(THREE)), None, TRUST, NOW, said)
        return codes(result) - {"silent-witness"}

    assert heard(THREE) == heard(THREE[:2]) == set()
    assert heard((*THREE, HANDED)) == {"stale"}
    assert heard(FORK) == heard(FORK[:2][::-1]) == {"two-faces"}


def test_a_witness_alone_makes_no_suspicion() -> None:
    boast = Checkpoint("collector.example/log", 2**63 - 1, bytes(32))
    said = {"witness0.example": sign_checkpoint(boast, OTHER)}
    result = audit(downloaded(files_of(THREE)), None, TRUST, NOW, said)
    assert codes(result) == {"silent-witness"}
    assert result.worst is Level.NOTE


@pytest.mark.parametrize("at", [1, 2**31, 2**53, 2**62, 2**63 - 1])
def test_a_witness_whose_time_is_none_silences_nobody(at: int) -> None:
    files = files_of(THREE)
    newest = SignedCheckpoint.parse(files["checkpoint"])
    name, key = next(iter(WITNESSES.items()))
    strange = newest.with_signatures([cosign(newest.checkpoint, name, key, at)])
    files["checkpoint"] = strange.text.encode()
    result = audited(files)
    assert codes(result) == set()
    assert result.worst is Level.NOTE
    document_json(audit_document(result, NOW))


def test_the_findings_are_those_of_the_documentation() -> None:
    table = (ROOT / "docs/public-log.md").read_text("utf-8").partition("### What it may find")[2]
    rows = [row.split("|") for row in table.partition("##")[0].splitlines() if "`" in row]
    statuses = {code: int(row[2]) for row in rows for code in re.findall("`(.*?)`", row[1])}
    levels = {Level.ALERT: 1, Level.WARNING: 3, Level.NOTE: 0}
    assert statuses == {code: levels[level] for level, texts in FINDINGS.items() for code in texts}
