"""The audit of a log as read. Pure: bytes, keys and a time in, findings out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deniable.documents import Caution, Level
from deniable.logs import (
    LogPolicy,
    LogProof,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    log_origin,
)
from deniable.logs.policies import TooFewWitnesses
from deniable.messages import LoggedEnvelope, log_entry
from deniable.public_log.audit.findings import finding
from deniable.public_log.audit.history import History, Visits, crowd_findings, history_findings
from deniable.public_log.publish.tree import root_hash


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A log as served; with a reason if its entries cannot be read, and then without entries."""

    checkpoint: SignedCheckpoint
    history: History
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """The offer of a collector, and of an app's bundle, beside a log.

    Attributes:
        signer: the collector's current signing key; None if the collector was not asked.
        signed: envelopes with their proofs, by their descriptions.
    """

    signer: bytes | None
    signed: Sequence[tuple[str, LoggedEnvelope]]


Replies = Mapping[str, SignedCheckpoint | str]
"""By witness: the newest checkpoint of the log that it cosigned, or the reason for none."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys and checkpoints that an audit does not question.

    Without a key of the log, whether the log signed its checkpoint is unknown.

    Attributes:
        acknowledged: hashes of leaves up to which crowds were examined.
    """

    log_key: VerifierKey | None
    authority: bytes
    policy: LogPolicy | None = None
    remembered: SignedCheckpoint | None = None
    visits: Visits = ()
    acknowledged: frozenset[bytes] = frozenset()


@dataclass(slots=True)
class Audit:
    """The result of an audit.

    Attributes:
        leaves: the hashes of the log's entries.
        whole: whether the entries have the root that the log signed.
        cosigned: when the policy's witnesses cosigned the checkpoint.
        extends: whether the log certainly extends the log of the last visit.
        two_faces: another checkpoint that the log signed, and that contradicts this one.
    """

    downloaded: Downloaded
    trust: Trust
    leaves: Sequence[bytes]
    whole: bool
    cosigned: dict[VerifierKey, int] = field(default_factory=dict)
    extends: bool = False
    two_faces: SignedCheckpoint | None = None
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


def audit(
    downloaded: Downloaded,
    offered: Offered | None,
    trust: Trust,
    now: float,
    replies: Replies | None = None,
) -> Audit:
    """Return the audit of a log, and of a collector's and witnesses' statements."""
    history, checkpoint = downloaded.history, downloaded.checkpoint.checkpoint
    leaves = [entry.leaf for entry in history.entries]
    result = Audit(downloaded, trust, leaves, not downloaded.missing)
    result.whole &= root_hash(leaves) == checkpoint.root
    for findings in (
        _signatures(result),
        _files(result),
        _last_visit(result),
        _witnesses(result, replies or {}),
        history_findings(history),
        crowd_findings(history, trust.visits, trust.acknowledged, now),
        () if offered is None else _offer_findings(result, offered),
    ):
        result.findings += findings
    result.findings = [*dict.fromkeys(result.findings)]
    result.findings.sort(key=lambda caution: [*Level].index(caution.level))
    return result


def _signatures(result: Audit) -> Iterator[Caution]:
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
    for witness in policy.witnesses:
        try:
            result.cosigned |= signed.cosigning_times([witness.key])
        except TransparencyLogError:
            yield finding("forged-cosignature", name=witness.key.name)
    if (cosigners := len(result.cosigned)) < policy.quorum:
        reason = TooFewWitnesses(cosigners, policy.quorum)
        yield finding("few-witnesses", what="The log's checkpoint", reason=reason)


def _files(result: Audit) -> Iterator[Caution]:
    """Check whether the entries are those that were signed, and of the log's own collector."""
    if reason := result.downloaded.missing:
        yield finding("incomplete", reason=reason)
    elif not result.whole:
        yield finding("wrong-root")
    origin = result.downloaded.checkpoint.checkpoint.origin
    versions = result.downloaded.history.versions.values()
    surveys = [survey for named in versions for survey in named.values()]
    if surveys and origin not in {log_origin(survey.origin) for survey in surveys}:
        yield finding("other-origin", origin=origin)


def _last_visit(result: Audit) -> Iterator[Caution]:
    """Check whether the log extends the log of the last visit."""
    before = result.trust.remembered
    if before is None:
        return
    size, was = result.downloaded.checkpoint.checkpoint.size, before.checkpoint.size
    if size < was:
        yield finding("smaller", size=size, before=was)
        return
    faces = [*_face_findings(result, before)]
    yield from faces
    result.extends = result.whole and not faces


def _face_findings(result: Audit, other: SignedCheckpoint) -> Iterator[Caution]:
    """Check whether another, not longer checkpoint of the log has the same history."""
    own, log_key = result.downloaded.checkpoint, result.trust.log_key
    size = other.checkpoint.size
    if size == own.checkpoint.size:
        same = other.checkpoint.root == own.checkpoint.root
    else:
        same = not result.whole or root_hash(result.leaves[:size]) == other.checkpoint.root
    if same:
        return
    sizes = {"first": size, "second": own.checkpoint.size}
    try:
        for signed in (other, own):
            _verify(signed, log_key)
    except TransparencyLogError:  # a forgery proves nothing about the log
        yield finding("another-history", **sizes)
    else:
        result.two_faces = result.two_faces or other
        yield finding("two-faces", **sizes)


def _verify(signed: SignedCheckpoint, log_key: VerifierKey | None) -> None:
    """Raise TransparencyLogError if a log did not sign a checkpoint, or its key is unknown."""
    if log_key is None:
        raise TransparencyLogError("no key of the log is known")
    signed.verify(log_key)


def _witnesses(result: Audit, replies: Replies) -> Iterator[Caution]:
    """Check whether witnesses know the same log."""
    size = result.downloaded.checkpoint.checkpoint.size
    for name, seen in replies.items():
        try:
            if isinstance(seen, str):
                raise TransparencyLogError(seen)
            _verify(seen, result.trust.log_key)
        except TransparencyLogError as error:
            yield finding("silent-witness", name=name, reason=error)
            continue
        if seen.checkpoint.size <= size:
            yield from _face_findings(result, seen)
        else:
            whose = f"the checkpoint that the witness {name} cosigned last"
            yield finding("stale", size=size, whose=whose, newest=seen.checkpoint.size)


def _offer_findings(result: Audit, offered: Offered) -> Iterator[Caution]:
    """Judge a collector's offer: whether the log has it, and whether its proofs are valid."""
    history, signer = result.downloaded.history, offered.signer
    if result.downloaded.missing:
        return
    if signer is not None and signer not in history.chain:
        yield finding("other-authority", signer=signer.hex())
    logged = {entry.envelope for entry in history.entries}
    judged: dict[str, SignedCheckpoint] = {}
    for what, (envelope, text) in offered.signed:
        if envelope not in logged:
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
        judged[proof.checkpoint.checkpoint.body] = proof.checkpoint
    size = result.downloaded.checkpoint.checkpoint.size
    for signed in judged.values():
        if signed.checkpoint.size <= size:
            yield from _face_findings(result, signed)
    newest = max((signed.checkpoint.size for signed in judged.values()), default=0)
    if newest > size:
        yield finding("stale", size=size, whose="an offered proof", newest=newest)


def _check_proof(trust: Trust, envelope: bytes, proof: LogProof) -> None:
    """Check a proof as devices do; without a policy, only the log's signature."""
    if trust.policy is not None:
        trust.policy.check(log_entry(envelope), proof)
        return
    if trust.log_key is not None:
        proof.checkpoint.verify(trust.log_key)
    proof.check_entry(log_entry(envelope))
