"""Policies, the proofs that they accept, and strangers' texts: read as they stand or refused."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.counterparts.cosigning import policy_file_text, sign_checkpoint
from deniable.logs import (
    Checkpoint,
    LogPolicy,
    LogProof,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    Witness,
    leaf_hash,
)
from deniable.logs.notes import COSIGNER, LOG
from deniable.logs.policies import Log
from deniable.messages import SigningKey
from deniable.public_log.publish.tree import (
    read_entry_bundle,
    read_tile_path,
    root_hash,
    tile_path,
)
from tests.fuzz.mutations import mutated_bytes
from tests.support.cosigning import cosign
from tests.support.public_logs import inclusion_path

ORIGIN = "telemetry.example.org/log"
LOG_KEY = SigningKey(bytes(range(32)))
WITNESSES = [SigningKey(bytes([number]) * 32) for number in range(3)]
ENTRIES = [b"entry %d" % number for number in range(1000)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]


def policy_keys() -> list[VerifierKey]:
    return [
        VerifierKey(f"witness{number}.example", COSIGNER, key.public_key)
        for number, key in enumerate(WITNESSES)
    ]


def policy_log() -> VerifierKey:
    return VerifierKey(ORIGIN, LOG, LOG_KEY.public_key)


def policy_text(quorum: int = 2) -> str:
    named = enumerate(policy_keys())
    witnesses = "".join(f"witness w{number} {key}\n" for number, key in named)
    return f"# ours\n\nlog {policy_log()}\n{witnesses}group g {quorum} w0 w1 w2\nquorum g\n"


def proof(index: int, cosigners: int = 3) -> LogProof:
    checkpoint = Checkpoint(ORIGIN, len(LEAVES), root_hash(LEAVES))
    lines = [
        cosign(checkpoint, f"witness{number}.example", key, 1_700_000_000)
        for number, key in enumerate(WITNESSES[:cosigners])
    ]
    signed = sign_checkpoint(checkpoint, LOG_KEY).with_signatures(lines)
    return LogProof(index, inclusion_path(LEAVES, index), signed)


def test_a_proof_with_a_quorum_is_accepted() -> None:
    policy = LogPolicy.parse(policy_text())
    text = proof(617).text
    assert LogProof.parse(text).text == text
    assert len(policy.check(ENTRIES[617], LogProof.parse(text.encode()))) == 3


PROOF = proof(617)
ALL = LogPolicy.parse(policy_text(3))


def refused(
    wrong: LogProof, entry: bytes = ENTRIES[617], policy: LogPolicy = ALL, match: str | None = None
) -> None:
    with pytest.raises(TransparencyLogError, match=match):
        policy.check(entry, wrong)


def test_a_quorum_is_as_many_as_the_policy_says() -> None:
    two = LogPolicy.parse(policy_text(2))
    assert len(two.check(ENTRIES[617], proof(617, cosigners=2))) == 2
    refused(proof(617, cosigners=1), policy=two, match="1 of the policy's witnesses")
    refused(proof(617, cosigners=2), match="2 of the policy's witnesses")
    # One that is known and false spoils it, however many others there are.
    log, *cosignatures = PROOF.checkpoint.signatures
    false = replace(cosignatures[0], signature=cosignatures[1].signature)
    signatures = (log, false, *cosignatures[1:])
    refused(replace(PROOF, checkpoint=replace(PROOF.checkpoint, signatures=signatures)), policy=two)


def test_a_proof_is_of_one_entry_of_an_accepted_log() -> None:
    refused(PROOF, ENTRIES[616], match="path")
    refused(replace(PROOF, index=616), match="path")
    refused(replace(PROOF, index=1000), match="no entry 1000")
    refused(replace(PROOF, path=PROOF.path[:-1]), match="few")
    refused(replace(PROOF, path=(*PROOF.path, bytes(32))), match="many")
    other = Checkpoint("other.example/log", len(LEAVES), root_hash(LEAVES))
    refused(replace(PROOF, checkpoint=sign_checkpoint(other, LOG_KEY)), match="not accept the log")
    by_another = sign_checkpoint(PROOF.checkpoint.checkpoint, WITNESSES[0])
    refused(replace(PROOF, checkpoint=by_another), match="not signed by")


def test_a_log_may_have_two_keys_in_a_policy() -> None:
    second = VerifierKey(ORIGIN, LOG, SigningKey(bytes([9]) * 32).public_key)
    policy = LogPolicy.parse(f"log {second}\n{policy_text()}")
    assert policy.logs[0].key == second
    policy.check(ENTRIES[617], PROOF)


@given(st.integers(0, len(PROOF.text.encode()) - 1), st.integers(1, 255))
def test_a_changed_byte_of_a_proof_is_refused(position: int, difference: int) -> None:
    changed = bytearray(PROOF.text.encode())
    changed[position] ^= difference
    try:
        read = LogProof.parse(bytes(changed))
    except TransparencyLogError:
        return
    assert read.text.encode() == changed
    refused(read)


@given(st.integers(0, len(PROOF.text.encode())), st.binary(max_size=3))
def test_inserted_and_missing_bytes_of_a_proof_are_refused(position: int, piece: bytes) -> None:
    text = PROOF.text.encode()
    for changed in (
        text[:position] + piece + text[position:],
        text[:position] + text[position + len(piece) :],
    ):
        if changed != text:
            with suppress(TransparencyLogError):
                refused(LogProof.parse(changed))


def test_extra_data_is_read_and_of_no_meaning() -> None:
    given = replace(PROOF, extra=b"more")
    assert LogProof.parse(given.text) == given
    assert given.text != PROOF.text
    ALL.check(ENTRIES[617], LogProof.parse(given.text))


INDEX = "index 617\n"
BEHIND = (f"{INDEX}extra AAAA\n", f"{INDEX}AAAA\n", INDEX + f"{'A' * 43}=\n" * 60)
BEFORE = ("extra \n", "extra !\n", "extra AAAA\nextra AAAA\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("@v1\n", "@v2\n"), ("@v1\n", "@v1\n\n"), (INDEX, "")),
        *((INDEX, f"index {number}\n") for number in ("0617", "-1", "617 ", str(2**63))),
        *((INDEX, new) for new in BEHIND),
        *((INDEX, before + INDEX) for before in BEFORE),
    ],
)
def test_no_other_form_of_a_proof_is_read(old: str, new: str) -> None:
    assert old in PROOF.text
    with pytest.raises(TransparencyLogError):
        LogProof.parse(PROOF.text.replace(old, new, 1))


KEYS = dict(zip("abcd", (str(key) for key in (*policy_keys(), policy_log())), strict=True))
ONE = "log {d}\nwitness w {a} https://w.example/\nquorum w\n"


def test_a_policy_of_one_witness_with_spaces_comments_and_addresses() -> None:
    text = " \t\n# a comment\n\tlog  {d} \thttps://log.example/\n" + ONE.partition("\n")[2]
    policy = LogPolicy.parse(text.format(**KEYS)[:-1])
    assert policy == LogPolicy(
        (Log(policy_log(), "https://log.example/"),),
        (Witness("w", policy_keys()[0], "https://w.example/"),),
        1,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "quorum line"),
        ("log {d}\nquorum none\n", "line 2.*different readers"),
        ("log {d}\n", "quorum line"),
        ("witness w {a}\nquorum w\n", "at least one log"),
        ("quorum w\nlog {d}\nwitness w {a}\n", "defined above"),
        (ONE + "quorum w\n", "only one quorum"),
        ("log {a}\n", "algorithm"),
        ("witness w {d}\n", "algorithm"),
        ("log {d}\n" + ONE, "the same key"),
        ("witness v {a}\n" + ONE.replace("quorum w", "group g all v w\nquorum g"), "the same key"),
        ("witness v {b}\n" + ONE, "does not count"),
        ("witness w {b}\n" + ONE, "already in use"),
        ("witness none {b}\n" + ONE, "already in use"),
        ("log\n" + ONE, "words"),
        ("log {d} url more\n", "words"),
        ("Log {d}\n", "begin with"),
        ("group g 1\n", "words"),
        ("group g 1 w\n" + ONE, "defined above"),
        (ONE.replace("quorum", "group g 1 w w\nquorum"), "each only once"),
        (ONE.replace("quorum", "group g 1 w\ngroup h 1 w\nquorum"), "only one group"),
        (ONE.replace("quorum", "group g 1 w\ngroup h 1 g\nquorum"), "only one group"),
        (ONE.replace("quorum", "group g 2 w\nquorum"), "threshold"),
        (ONE.replace("quorum", "group g 0 w\nquorum"), "threshold"),
        (ONE.replace("quorum", "group g 01 w\nquorum"), "threshold"),
        (ONE.replace("quorum", "group g most w\nquorum"), "threshold"),
        (ONE.replace("\n", "\r\n"), "control characters"),
        (ONE + "\x7f", "control characters"),
        ("#" * 65_536 + "\n" + ONE, "64 KiB"),
        ("log x{d}\n", "the id of a different key"),
        ("log {d}\nwitness v {a}\nwitness w {b}\ngroup g any v w\nquorum g\n", "more than half"),
    ],
)
def test_no_other_policy_is_read(text: str, reason: str) -> None:
    with pytest.raises(TransparencyLogError, match=reason):
        LogPolicy.parse(text.format(**KEYS))


@pytest.mark.parametrize("members", range(1, 34))
def test_a_quorum_is_more_than_half(members: int) -> None:
    keys = [SigningKey(bytes([100 + number]) * 32).public_key for number in range(members)]
    witnesses = tuple(
        Witness(f"w{n}", VerifierKey(f"w{n}", COSIGNER, k)) for n, k in enumerate(keys)
    )
    for quorum in range(members + 2):
        if members < 2 * quorum and quorum <= members:
            LogPolicy((Log(policy_log()),), witnesses, quorum)
        else:
            with pytest.raises(TransparencyLogError, match="half"):
                LogPolicy((Log(policy_log()),), witnesses, quorum)


def test_a_policy_is_written_as_it_is_read() -> None:
    for url in (None, "https://w.example"):
        witnesses = tuple(Witness(key.name, key, url) for key in policy_keys())
        policy = LogPolicy((Log(policy_log(), url),), witnesses, 2)
        assert LogPolicy.parse(policy_file_text(policy)) == policy


def key_text(data: bytes) -> bytes:
    return str(VerifierKey.parse(data.decode(errors="replace"))).encode()


def policy(data: bytes) -> bytes:
    LogPolicy.parse(data.decode(errors="surrogateescape"))
    return data  # it has many texts


def path(data: bytes) -> bytes:
    try:
        level, index, width = read_tile_path(data.decode(errors="replace"))
    except KeyError as error:
        raise TransparencyLogError("not a tile's path") from error
    assert level is not None
    return tile_path(level, index, width).encode()


def bundle(data: bytes) -> bytes:
    return b"".join(len(one).to_bytes(2, "big") + one for one in read_entry_bundle(data, 2))


READERS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "checkpoint": (
        PROOF.checkpoint.text.encode(),
        lambda data: SignedCheckpoint.parse(data).text.encode(),
    ),
    "proof": (PROOF.text.encode(), lambda data: LogProof.parse(data).text.encode()),
    "verifier key": (str(policy_log()).encode(), key_text),
    "policy": (policy_text().encode(), policy),
    "path": (b"tile/12/x001/x234/067.p/255", path),
    "bundle": (b"\0\3abc\0\2de", bundle),
}


@pytest.mark.parametrize("kind", READERS)
@given(st.randoms(use_true_random=False))
def test_what_is_read_is_what_stands_there(kind: str, chance: Random) -> None:
    text, read = READERS[kind]
    assert read(text) == text
    changed = mutated_bytes(chance, text)
    try:
        again = read(changed)
    except TransparencyLogError:
        return
    assert again == changed
