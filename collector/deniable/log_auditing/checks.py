"""The audit of a log that was downloaded: pure, of bytes, keys and a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deniable.documents import Caution, Level
from deniable.log_auditing.entries import History
from deniable.log_auditing.findings import finding
from deniable.log_auditing.history_checks import history_findings
from deniable.log_auditing.subject import NOBODY, Downloaded, Heard, Offered, Trust, TwoFaces
from deniable.messages import log_entry
from deniable.reading import instant_text
from deniable.transparency_log import (
    LogProof,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    hash_tile,
    leaf_hash,
    root_hash,
    tile_path,
    tiles_of,
)

_CLOCKS_DIFFER: Final = 300
_MOST_FACES: Final = 256
"""Checkpoints of proofs that are compared with the log; honest collectors show one or two."""


@dataclass(slots=True)
class Audit:
    """The result of an audit.

    Attributes:
        whole: whether the entries make the root that the log signed.
        cosigned: when the policy's witnesses cosigned the checkpoint.
        extends: whether the log extends the one of the last visit, for sure.
    """

    downloaded: Downloaded
    trust: Trust
    history: History
    whole: bool = False
    cosigned: Mapping[VerifierKey, int] = field(default_factory=dict)
    extends: bool = False
    proof: TwoFaces | None = None
    findings: list[Caution] = field(default_factory=list)

    @property
    def to_be_remembered(self) -> bool:
        """Return whether the next visit is to be compared with this one, and not with the last."""
        forged = any(caution.code == "forged-checkpoint" for caution in self.findings)
        return self.whole and not forged and (self.extends or self.trust.remembered is None)

    @property
    def worst(self) -> Level:
        """Return how grave the gravest finding is."""
        levels = {caution.level for caution in self.findings}
        return next((level for level in Level if level in levels), Level.NOTE)


def audit(
    downloaded: Downloaded,
    offered: Offered | None,
    trust: Trust,
    now: float,
    heard: Heard = NOBODY,
) -> Audit:
    """Return the audit of a log, and of what a collector and witnesses say beside it."""
    history = History.read(downloaded.envelopes, trust.authority)
    result = Audit(downloaded, trust, history)
    hashes = [leaf_hash(entry) for entry in downloaded.entries]
    for findings in (
        _signatures(result, now),
        _files(result, hashes),
        _last_visit(result, hashes),
        _witnesses(result, heard, hashes),
        history_findings(history, downloaded.checkpoint.checkpoint.origin),
        () if offered is None else _offered(result, offered, hashes),
    ):
        result.findings += findings
    result.findings.sort(key=lambda caution: [*Level].index(caution.level))
    return result


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
        yield finding("few-witnesses", count=len(times), quorum=policy.quorum)


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
    faces = [*_face(result, before, hashes)]
    yield from faces
    result.extends = result.whole and not faces


def _witnesses(result: Audit, heard: Heard, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge whether the log is the one that witnesses know."""
    size = result.downloaded.checkpoint.checkpoint.size
    for name, reason in heard.silent.items():
        yield finding("silent-witness", name=name, reason=reason)
    for name, seen in heard.seen.items():
        if seen.checkpoint.size <= size:
            yield from _face(result, seen, hashes)
        else:
            whose = f"what the witness {name} cosigned last"
            yield finding("stale", size=size, whose=whose, newest=seen.checkpoint.size)


def _face(result: Audit, other: SignedCheckpoint, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge whether another checkpoint of the log, which is no longer, is of the same history."""
    own = result.downloaded.checkpoint
    if other.checkpoint.size == own.checkpoint.size:
        same, needed = other.checkpoint.root == own.checkpoint.root, tuple[bytes, ...]()
    elif result.whole:
        same = root_hash(hashes[: other.checkpoint.size]) == other.checkpoint.root
        needed = tuple(hashes)
    else:
        return
    sizes = {"first": other.checkpoint.size, "second": own.checkpoint.size}
    if same:
        return
    try:
        for signed in (other, own):
            _verify(signed, result.trust.log_key)
    except TransparencyLogError:  # whoever forged one of them proves nothing about the log
        yield finding("another-history", **sizes)
    else:
        result.proof = result.proof or TwoFaces(other, own, needed)
        yield finding("two-faces", **sizes)


def _verify(signed: SignedCheckpoint, log_key: VerifierKey | None) -> None:
    if log_key is None:
        raise TransparencyLogError("no key of the log is known")
    signed.verify(log_key)


def _offered(result: Audit, offered: Offered, hashes: Sequence[bytes]) -> Iterator[Caution]:
    """Judge a collector's offer: whether the log has it, and whether its proofs hold."""
    if offered.signer not in result.history.chain:
        yield finding("other-authority", signer=offered.signer.hex())
    if len(hashes) != result.downloaded.checkpoint.checkpoint.size:
        return  # not all that the log has was to be had
    logged = set(result.downloaded.envelopes)
    judged: set[str] = set()
    newest = 0
    for what, (envelope, text) in offered.signed:
        if envelope not in logged:
            yield finding("unlogged", offered=what)
            continue
        if not text:
            yield finding("unproven", offered=what)
            continue
        try:
            signed = _proof(result.trust, envelope, text).checkpoint
        except TransparencyLogError as error:
            yield finding("wrong-proof", offered=what, reason=error)
            continue
        newest = max(newest, signed.checkpoint.size)
        if signed.checkpoint.body not in judged and len(judged) < _MOST_FACES:
            judged.add(signed.checkpoint.body)
            if signed.checkpoint.size <= len(hashes):
                yield from _face(result, signed, hashes)
    if newest > len(hashes):
        whose = "a proof that the collector offers"
        yield finding("stale", size=len(hashes), whose=whose, newest=newest)
    for name, identifiers in offered.listed.items():
        versions = result.history.versions.get(name, ())
        known = {version.manifest.survey_id.hex() for version in versions}
        for identifier in identifiers:
            if identifier not in known:
                yield finding("unlogged", offered=f"the survey {name} with the id {identifier}")


def _proof(trust: Trust, envelope: bytes, text: bytes) -> LogProof:
    """Return a proof that devices would take; of no policy, one that the log signed."""
    proof = LogProof.parse(text)
    if trust.policy is not None:
        trust.policy.check(log_entry(envelope), proof)
    else:
        if trust.log_key is not None:
            proof.checkpoint.verify(trust.log_key)
        proof.check_entry(log_entry(envelope))
    return proof
