"""The judgement of a submission: pure, of what the witness cosigned last and of its clock.

W1. What is cosigned extends all that was cosigned of the log before: of two trees of one size, or
    of two that do not extend each other, one at most is.
W2. It is signed by a key that the witness watches under the log's name, and by the witness only if
    each line of such a key verifies.
W3. Times never run backwards: after its clock was put back, a witness goes on with the latest time
    it stated for the log. Else it would say that it saw a larger tree before a smaller one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniable.messages import SigningKey
from deniable.transparency_log import (
    COSIGNER,
    EMPTY_ROOT,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    check_consistency,
    cosign,
)
from deniable.witnessing.errors import NotCosigned
from deniable.witnessing.submission import Submission


@dataclass(frozen=True, slots=True)
class Cosigner:
    """A witness's name and private key."""

    name: str
    signing_key: SigningKey

    @property
    def key(self) -> VerifierKey:
        """The public half, by which others know the witness."""
        return VerifierKey(self.name, COSIGNER, self.signing_key.public_key)


def judge(
    submission: Submission,
    log_keys: Sequence[VerifierKey],
    newest: SignedCheckpoint | None,
    cosigner: Cosigner,
    now: int,
) -> SignedCheckpoint:
    """Return the checkpoint with its log's signatures and the witness's cosignature alone.

    It may be given away once it is durably the newest; until then another one could be cosigned.

    Args:
        submission: As it came.
        log_keys: Those that are watched under the checkpoint's origin.
        newest: The checkpoint of that origin that was cosigned last, as it was returned from here.
        cosigner: The witness.
        now: Unix seconds.

    Raises:
        NotCosigned: for the first rule of the protocol that it breaks.
    """
    checkpoint = submission.signed.checkpoint
    if not log_keys:
        raise NotCosigned(404, f"this witness does not watch {checkpoint.origin}")
    try:
        submission.signed.verify(*log_keys)
    except TransparencyLogError as error:
        raise NotCosigned(403, str(error)) from error
    if submission.old_size > checkpoint.size:
        raise NotCosigned(400, "the old size is above the checkpoint's")
    seen_size = newest.checkpoint.size if newest else 0
    seen_root = newest.checkpoint.root if newest else EMPTY_ROOT
    if submission.old_size != seen_size:
        raise NotCosigned(409, f"the witness has seen {seen_size} entries", seen_size)
    try:
        check_consistency(seen_size, seen_root, checkpoint.size, checkpoint.root, submission.path)
    except TransparencyLogError as error:
        raise NotCosigned(422, str(error)) from error
    stated = newest.cosigning_times([cosigner.key])[cosigner.key] if newest else 0
    of_log = [
        signature
        for signature in submission.signed.signatures
        if any(signature.is_of(key) for key in log_keys)
    ]
    line = cosign(checkpoint, cosigner.name, cosigner.signing_key, max(now, stated))
    return replace(submission.signed, signatures=tuple(of_log)).with_signatures([line])
