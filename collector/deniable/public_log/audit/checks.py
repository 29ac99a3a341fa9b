"""The audit of a downloaded log. Pure: bytes, keys and a time in, findings out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deniable.documents import Caution, Level
from deniable.logs import (
    HASH_BYTES,
    LogProof,
    SignedCheckpoint,
    TooFewWitnesses,
    TransparencyLogError,
    VerifierKey,
    leaf_hash,
)
from deniable.messages import log_entry
from deniable.public_log.audit.entries import (
    NO_REPLIES,
    Downloaded,
    History,
    Offered,
    Replies,
    Trust,
    TwoFaces,
)
from deniable.public_log.audit.findings import finding
from deniable.public_log.audit.history_checks import crowd_findings, history_findings
from deniable.public_log.publish.tree import (
    TILE_WIDTH,
    first_root,
    hash_tile,
    tile_path,
    tiles_of,
    tree_levels,
)
from deniable.reading import instant_text


@dataclass(slots=True)
class Audit:
    """The result of an audit.

    Attributes:
        tree: the levels of the tree over the entries, or over the hashes of withheld entries.
        whole: whether the tree has the root that the log signed.
        cosigned: when the policy's witnesses cosigned the checkpoint.
        extends: whether the log certainly extends the log of the last visit.
    """

    downloaded: Downloaded
    trust: Trust
    history: History
    tree: Sequence[Sequence[bytes]] = ()
    whole: bool = False
    cosigned: Mapping[VerifierKey, int] = field(default_factory=dict)
    extends: bool = False
    proof: TwoFaces | None = None
    findings: list[Caution] = field(default_factory=list)

    @property
    def to_be_remembered(self) -> bool:
        """Return whether the next visit should be compared with this visit instead of the last."""
        forged = any(caution.code == "forged-checkpoint" for caution in self.findings)
        return self.whole and not forged and (self.extends or self.trust.remembered is None)

    @property
    def worst(self) -> Level:
        """Return the level of the gravest finding."""
        levels = {caution.level for caution in self.findings}
        return next((level for level in Level if level in levels), Level.NOTE)


def face_findings(
    result: Audit, other: SignedCheckpoint, hashes: Sequence[bytes]
) -> Iterator[Caution]:
    """Check whether another, not longer checkpoint of the log has the same history."""
    own = result.downloaded.checkpoint
    if other.checkpoint.size == own.checkpoint.size:
        same, needed = other.checkpoint.root == own.checkpoint.root, tuple[bytes, ...]()
    elif result.whole:
        same = first_root(result.tree, other.checkpoint.size) == other.checkpoint.root
        needed = tuple(hashes)
    else:
        return
    sizes = {"first": other.checkpoint.size, "second": own.checkpoint.size}
    if same:
        return
    try:
        for signed in (other, own):
            verify_signed(signed, result.trust.log_key)
    except TransparencyLogError:  # a forgery proves nothing about the log
        yield finding("another-history", **sizes)
    else:
        result.proof = result.proof or TwoFaces(other, own, needed)
        yield finding("two-faces", **sizes)


def verify_signed(signed: SignedCheckpoint, log_key: VerifierKey | None) -> None:
    """Check that the log signed a checkpoint.

    Raises:
        TransparencyLogError: if the log did not sign it, or the log's key is unknown.
    """
    if log_key is None:
        raise TransparencyLogError("no key of the log is known")
    signed.verify(log_key)


CLOCKS_DIFFER: Final = 300
"""Seconds by which honest clocks may differ."""


def audit(
    downloaded: Downloaded,
    offered: Offered | None,
    trust: Trust,
    now: float,
    replies: Replies = NO_REPLIES,
    history: History | None = None,
) -> Audit:
    """Return the audit of a log, and of a collector's and witnesses' statements."""
    history = history or History.read(downloaded.envelopes, trust.authority)
    result = Audit(downloaded, trust, history)
    hashes = _leaf_hashes(downloaded)
    for findings in (
        _signatures(result, now),
        _files(result, hashes),
        _last_visit(result, hashes),
        _witnesses(result, replies, hashes),
        history_findings(history, downloaded.checkpoint.checkpoint.origin),
        crowd_findings(history, trust, now),
        () if offered is None else offer_findings(result, offered, hashes),
    ):
        result.findings += findings
    result.findings = [*dict.fromkeys(result.findings)]
    result.findings.sort(key=lambda caution: [*Level].index(caution.level))
    return result


def _leaf_hashes(downloaded: Downloaded) -> list[bytes]:
    """Return the hashes of all entries (for withheld entries, from their tiles), or none."""
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
    """Check the signatures of the checkpoint."""
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
        if cosigned_at > now + CLOCKS_DIFFER:
            when = instant_text(cosigned_at)
            yield finding("early-cosignature", name=key.name, when=when)
    if len(times) < policy.quorum:
        yield finding(
            "few-witnesses",
            what="The log's checkpoint",
            reason=TooFewWitnesses(len(times), policy.quorum),
        )


def _files(result: Audit, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Check whether the files match the tree whose root was signed."""
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
    result.tree = tree_levels(hashes)
    result.whole = first_root(result.tree, len(hashes)) == checkpoint.root
    if not result.whole:
        yield finding("wrong-root")


def _last_visit(result: Audit, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Check whether the log extends the log of the last visit."""
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


def _witnesses(result: Audit, replies: Replies, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Check whether witnesses know the same log."""
    size = result.downloaded.checkpoint.checkpoint.size
    for name, reason in replies.silent.items():
        yield finding("silent-witness", name=name, reason=reason)
    for name, seen in replies.seen.items():
        try:
            verify_signed(seen, result.trust.log_key)
        except TransparencyLogError as error:
            yield finding("false-witness", name=name, reason=error)
            continue
        if seen.checkpoint.size <= size:
            yield from face_findings(result, seen, hashes)
        else:
            whose = f"the checkpoint that the witness {name} cosigned last"
            yield finding("stale", size=size, whose=whose, newest=seen.checkpoint.size)


def offer_findings(result: Audit, offered: Offered, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge a collector's offer: whether the log has it, and whether its proofs are valid."""
    history, signer = result.history, offered.signer
    if signer is not None and history.handed and signer not in history.chain:
        yield finding("other-authority", signer=signer.hex())
    if len(hashes) != result.downloaded.checkpoint.checkpoint.size:
        return  # some entries and their hashes are missing
    logged = set(hashes)
    judged: set[str] = set()
    newest = 0
    for what, (envelope, text) in offered.signed:
        if leaf_hash(log_entry(envelope)) not in logged:
            yield finding("unlogged", offered=what)
            continue
        if not text:
            yield finding("unproven", offered=what)
            continue
        try:
            proof = LogProof.parse(text)
            _check_proof(result.trust, envelope, proof)
        except TooFewWitnesses as error:
            yield finding("few-witnesses", what=f"{what[0].upper()}{what[1:]}", reason=error)
        except TransparencyLogError as error:
            yield finding("wrong-proof", offered=what, reason=error)
            continue
        signed = proof.checkpoint
        newest = max(newest, signed.checkpoint.size)
        if signed.checkpoint.body not in judged:
            judged.add(signed.checkpoint.body)
            if signed.checkpoint.size <= len(hashes):
                yield from face_findings(result, signed, hashes)
    if newest > len(hashes):
        whose = "an offered proof"
        yield finding("stale", size=len(hashes), whose=whose, newest=newest)
    if history.strange or not history.whole:
        return
    for name, identifiers in offered.listed.items():
        versions = history.versions.get(name, ())
        known = {version.manifest.survey_id.hex() for version in versions}
        for identifier in identifiers:
            if identifier not in known:
                yield finding("unlogged", offered=f"the survey {name} with the id {identifier}")


def _check_proof(trust: Trust, envelope: bytes, proof: LogProof) -> None:
    """Check a proof as devices do; without a policy, only the log's signature."""
    if trust.policy is not None:
        trust.policy.check(log_entry(envelope), proof)
        return
    if trust.log_key is not None:
        proof.checkpoint.verify(trust.log_key)
    proof.check_entry(log_entry(envelope))
