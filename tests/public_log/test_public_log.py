"""The log as it is read: its files and proofs follow from entries and checkpoints alone."""

from hashlib import sha256

import pytest

from deniable.doctor.diagnosis import Status
from deniable.doctor.survey_checks import judge_log
from deniable.logs import LogPolicy, LogProof, SignedCheckpoint, TransparencyLogError, leaf_hash
from deniable.messages import log_entry
from deniable.messages.manifest import MAX_MANIFEST_BYTES
from deniable.public_log.publish.public_log import PublicLog, large_path
from deniable.public_log.publish.tree import TILE_WIDTH, read_entry_bundle, root_hash
from deniable.public_log.publish.witnesses import Witnesses
from deniable.stores import StoredLog
from tests.public_log.audit.served import POLICY
from tests.support.cosigning import cosign
from tests.support.public_logs import LOG_KEY, LOG_ORIGIN, WITNESS_KEYS, stored_log

LISTED = LogPolicy.parse(POLICY)


def envelopes(number: int) -> list[bytes]:
    return [b"envelope %d" % position for position in range(number)]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 600])
def test_the_files_hold_the_whole_log_and_nothing_else(size: int) -> None:
    log = PublicLog(stored_log(envelopes(size)))
    paths = list(log.paths())
    assert paths[-1] == "checkpoint"
    assert len(set(paths)) == len(paths)
    checkpoint = SignedCheckpoint.parse(log.file("checkpoint")).checkpoint
    entries: list[bytes] = []
    for path in paths:
        if path.startswith("tile/entries/"):
            width = int(path.partition(".p/")[2] or TILE_WIDTH)
            entries += read_entry_bundle(log.file(path), width)
    assert entries == envelopes(size)
    assert (checkpoint.size, checkpoint.root) == (size, root_hash(list(map(leaf_hash, entries))))
    for missing in ("", "tile/entries/9", "tile/0/003", f"tile/0/000.p/{size + 1}", "large/00"):
        with pytest.raises(KeyError):
            log.file(missing)


@pytest.mark.parametrize("size", [1, 200, 256, 300])
def test_files_of_a_smaller_log_stay_as_they_were(size: int) -> None:
    smaller, larger = (PublicLog(stored_log(envelopes(number))) for number in (size, 700))
    assert all(smaller.file(path) == larger.file(path) for path in list(smaller.paths())[:-1])


def test_a_proof_is_by_the_newest_checkpoint_that_a_quorum_cosigned_and_covers_the_entry() -> None:
    log = PublicLog(stored_log(envelopes(9), cosigners=1, witnessed=7))
    for position, envelope in enumerate(envelopes(9)):
        proof = LogProof.parse(log.proof(envelope))
        assert proof.checkpoint.checkpoint.size == (7 if position < 7 else 9)
        if position < 7:
            assert LISTED.check(envelope, proof) == frozenset(WITNESS_KEYS)
        else:
            with pytest.raises(TransparencyLogError, match="1 of the policy's witnesses"):
                LISTED.check(envelope, proof)
    assert log.proof(b"another") == PublicLog(StoredLog((), "", "")).proof(b"another") == b""


def test_an_envelope_that_is_too_long_for_an_entry_is_logged_by_its_digest() -> None:
    long, just = bytes(MAX_MANIFEST_BYTES + 72), bytes(65_535)
    log = PublicLog(stored_log([b"short", long, just], cosigners=3))
    digest = sha256(long).digest()
    assert log.entries == (b"short", b"\x91\xc4\x20" + digest, just)
    assert log.file(large_path(digest)) == long
    assert [path for path in log.paths() if path.startswith("large")] == [large_path(digest)]
    LISTED.check(log_entry(long), LogProof.parse(log.proof(long)))


def test_a_proof_that_devices_would_not_take_is_left_out() -> None:
    stored = stored_log(envelopes(2))
    newest = SignedCheckpoint.parse(stored.newest)
    names = [f"{number:0255}" for number in range(24)]
    lines = [cosign(newest.checkpoint, name, LOG_KEY, 1) for name in names]
    for cosigners, there in ((16, True), (24, False)):
        text = newest.with_signatures(lines[:cosigners]).text
        log = PublicLog(stored._replace(newest=text))
        assert all(bool(log.proof(envelope)) is there for envelope in log.envelopes)
        finding = judge_log(log.stored, None, (), Witnesses(), LOG_ORIGIN)
        assert finding is not None
        assert finding.status is (Status.OK if there else Status.WARN)


@pytest.mark.parametrize(
    "damaged",
    [
        stored_log(envelopes(3))._replace(entries=tuple(envelopes(2))),
        stored_log(envelopes(3))._replace(entries=(b"x", *envelopes(3)[1:])),
        stored_log(envelopes(3))._replace(witnessed=stored_log([b"x"]).newest),
        stored_log(envelopes(3))._replace(newest="no checkpoint"),
    ],
)
def test_a_checkpoint_of_other_entries_is_an_error(damaged: StoredLog) -> None:
    with pytest.raises(TransparencyLogError):
        PublicLog(damaged)
