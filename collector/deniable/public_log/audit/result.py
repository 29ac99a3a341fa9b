"""The result of an audit, and its comparison with other checkpoints of the log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deniable.documents import Caution, Level
from deniable.logs import SignedCheckpoint, TransparencyLogError, VerifierKey
from deniable.public_log.audit.entries import History
from deniable.public_log.audit.findings import finding
from deniable.public_log.audit.subject import Downloaded, Trust, TwoFaces
from deniable.public_log.publish.tree import first_root


@dataclass(slots=True)
class Audit:
    """The result of an audit.

    Attributes:
        tree: of the entries, or the hashes of those that are withheld, by its levels.
        whole: whether that makes the root that the log signed.
        cosigned: when the policy's witnesses cosigned the checkpoint.
        extends: whether the log extends the one of the last visit, for sure.
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
        """Return whether the next visit is to be compared with this one, and not with the last."""
        forged = any(caution.code == "forged-checkpoint" for caution in self.findings)
        return self.whole and not forged and (self.extends or self.trust.remembered is None)

    @property
    def worst(self) -> Level:
        """Return how grave the gravest finding is."""
        levels = {caution.level for caution in self.findings}
        return next((level for level in Level if level in levels), Level.NOTE)


def face_findings(
    result: Audit, other: SignedCheckpoint, hashes: Sequence[bytes]
) -> Iterator[Caution]:
    """Judge whether another checkpoint of the log, which is no longer, is of the same history."""
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
    except TransparencyLogError:  # whoever forged one of them proves nothing about the log
        yield finding("another-history", **sizes)
    else:
        result.proof = result.proof or TwoFaces(other, own, needed)
        yield finding("two-faces", **sizes)


def verify_signed(signed: SignedCheckpoint, log_key: VerifierKey | None) -> None:
    """Check that the log signed a checkpoint.

    Raises:
        TransparencyLogError: if it did not, or nobody knows its key.
    """
    if log_key is None:
        raise TransparencyLogError("no key of the log is known")
    signed.verify(log_key)
