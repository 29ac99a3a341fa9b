"""The audit of a log that was downloaded: pure, of bytes, keys and a time."""

from collections.abc import Iterator, Sequence
from typing import Final

from deniable.documents import Caution, Level
from deniable.log_auditing.entries import History
from deniable.log_auditing.findings import finding
from deniable.log_auditing.history_checks import history_findings
from deniable.log_auditing.offer_checks import offer_findings
from deniable.log_auditing.result import Audit, face_findings, verify_signed
from deniable.log_auditing.subject import NOBODY, Downloaded, Heard, Offered, Trust
from deniable.reading import instant_text
from deniable.transparency_log import (
    HASH_BYTES,
    TILE_WIDTH,
    TooFewWitnesses,
    TransparencyLogError,
    VerifierKey,
    hash_tile,
    leaf_hash,
    root_hash,
    tile_path,
    tiles_of,
)

_CLOCKS_DIFFER: Final = 300


def audit(
    downloaded: Downloaded,
    offered: Offered | None,
    trust: Trust,
    now: float,
    heard: Heard = NOBODY,
    history: History | None = None,
) -> Audit:
    """Return the audit of a log, and of what a collector and witnesses say beside it."""
    history = history or History.read(downloaded.envelopes, trust.authority)
    result = Audit(downloaded, trust, history)
    hashes = _leaf_hashes(downloaded)
    for findings in (
        _signatures(result, now),
        _files(result, hashes),
        _last_visit(result, hashes),
        _witnesses(result, heard, hashes),
        history_findings(history, downloaded.checkpoint.checkpoint.origin),
        () if offered is None else offer_findings(result, offered, hashes),
    ):
        result.findings += findings
    result.findings = [*dict.fromkeys(result.findings)]
    result.findings.sort(key=lambda caution: [*Level].index(caution.level))
    return result


def _leaf_hashes(downloaded: Downloaded) -> list[bytes]:
    """Return the hashes of all entries, of those withheld from their tiles, or else none."""
    hashes = []
    size = downloaded.checkpoint.checkpoint.size
    for index, entry in enumerate(downloaded.entries):
        if entry is None:
            number, place = divmod(index, TILE_WIDTH)
            width = min(TILE_WIDTH, size - number * TILE_WIDTH)
            tile = downloaded.tiles.get(tile_path(0, number, width), b"")
            hashes.append(tile[place * HASH_BYTES :][:HASH_BYTES])
        else:
            hashes.append(leaf_hash(entry))
    return hashes if all(len(known) == HASH_BYTES for known in hashes) else []


def _signatures(result: Audit, now: float) -> Iterator[Caution]:
    """Judge the signatures of the checkpoint."""
    signed, policy = result.downloaded.checkpoint, result.trust.policy
    if result.trust.log_key is None:
        yield finding("unpinned-key")
    else:
        try:
            signed.verify(result.trust.log_key)
        except TransparencyLogError as error:
            yield finding("forged-checkpoint", reason=error)
    if policy is None:
        yield finding("unwitnessed")
        return
    times: dict[VerifierKey, int] = {}
    for witness in policy.witnesses:
        try:
            times |= signed.cosigning_times([witness.key])
        except TransparencyLogError:
            yield finding("forged-cosignature", name=witness.key.name)
    result.cosigned = times
    for key, cosigned_at in times.items():
        if cosigned_at > now + _CLOCKS_DIFFER:
            when = instant_text(cosigned_at)
            yield finding("early-cosignature", name=key.name, when=when)
    if len(times) < policy.quorum:
        yield finding(
            "few-witnesses",
            what="The log's checkpoint",
            reason=TooFewWitnesses(len(times), policy.quorum),
        )


def _files(result: Audit, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge whether the files are those of the tree whose root was signed."""
    downloaded = result.downloaded
    for path, reason in downloaded.missing.items():
        yield finding("incomplete", path=path, reason=reason)
    for path, reason in downloaded.damaged.items():
        yield finding("tampered", path=path, reason=reason)
    checkpoint = downloaded.checkpoint.checkpoint
    if len(hashes) != checkpoint.size:
        return
    for level, index, width in tiles_of(checkpoint.size):
        tile = downloaded.tiles.get(path := tile_path(level, index, width))
        if tile is not None and tile != hash_tile(hashes, level, index, width):
            yield finding("tampered", path=path, reason="they are not the hashes of the entries")
    result.whole = root_hash(hashes) == checkpoint.root
    if not result.whole:
        yield finding("wrong-root")


def _last_visit(result: Audit, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge whether the log extends that of the last visit."""
    before = result.trust.remembered
    if before is None:
        return
    size, was = result.downloaded.checkpoint.checkpoint.size, before.checkpoint.size
    if size < was:
        yield finding("smaller", size=size, before=was)
        return
    faces = [*face_findings(result, before, hashes)]
    yield from faces
    result.extends = result.whole and not faces


def _witnesses(result: Audit, heard: Heard, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge whether the log is the one that witnesses know."""
    size = result.downloaded.checkpoint.checkpoint.size
    for name, reason in heard.silent.items():
        yield finding("silent-witness", name=name, reason=reason)
    for name, seen in heard.seen.items():
        try:
            verify_signed(seen, result.trust.log_key)
        except TransparencyLogError as error:
            yield finding("false-witness", name=name, reason=error)
            continue
        if seen.checkpoint.size <= size:
            yield from face_findings(result, seen, hashes)
        else:
            whose = f"what the witness {name} cosigned last"
            yield finding("stale", size=size, whose=whose, newest=seen.checkpoint.size)
