"""Authority rotation: the transfer of trust from the key that signs manifests to another.

Both keys sign: the old one states the new key, and the new one proves that somebody has it. A key
is rotated once; its earlier signatures remain valid.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from deniable.messages import codec
from deniable.messages.ed25519 import (
    CONTEXT_AUTHORITY,
    CONTEXT_AUTHORITY_ACCEPT,
    KEY_BYTES,
    SIGNATURE_BYTES,
    check_public_key,
    verify,
)
from deniable.messages.logged import MAX_PROOF_BYTES, LoggedEnvelope, split_logged
from deniable.messages.refusals import Refusal, RefusalCode

MAX_ROTATIONS: Final = 64
"""The most rotations that a collector publishes and a device follows."""

_MAX_ROTATION_BYTES: Final = 256
MAX_ROTATIONS_BYTES: Final = MAX_ROTATIONS * (_MAX_ROTATION_BYTES + MAX_PROOF_BYTES)
"""The longest answer with that many rotations and their proofs."""

_MAX_SEQUENCE: Final = 2**32 - 1


@dataclass(frozen=True)
class Rotation:
    """A rotation from one key to its successor.

    Its sequence is one more than that of the rotation to the old key.
    """

    old_key: bytes
    new_key: bytes
    sequence: int

    def __post_init__(self) -> None:
        codec.uint(self.sequence, _MAX_SEQUENCE)
        check_public_key(self.old_key)
        check_public_key(self.new_key)
        if self.old_key == self.new_key:
            raise Refusal(RefusalCode.MALFORMED, "a key cannot hand over to itself")

    @cached_property
    def payload(self) -> bytes:
        """Return the canonical bytes that both keys sign."""
        return codec.encode([self.old_key, self.new_key, self.sequence])

    @classmethod
    def from_payload(cls, payload: bytes) -> "Rotation":
        """Read the payload's canonical bytes."""
        old_key, new_key, sequence = codec.exact_array(codec.decode(payload), 3)
        old, new = codec.binary(old_key, KEY_BYTES), codec.binary(new_key, KEY_BYTES)
        return cls(old, new, codec.uint(sequence))


class AuthorityFork(Refusal):
    """One key signed two rotations, which proves that its holder, or a thief, deceives somebody.

    Which of the two is honest cannot be determined.
    """

    def __init__(self, first: Rotation, second: Rotation) -> None:
        super().__init__(RefusalCode.MALFORMED, "the same key hands over twice")
        self.first = first
        self.second = second


def open_rotation(envelope: bytes) -> Rotation:
    """Verify both signatures of an envelope and read it."""
    if len(envelope) > _MAX_ROTATION_BYTES:
        raise Refusal(RefusalCode.MALFORMED, "the rotation is too long")
    payload_field, old_field, new_field = codec.exact_array(codec.decode(envelope), 3)
    payload = codec.binary(payload_field)
    old_signature = codec.binary(old_field, SIGNATURE_BYTES)
    new_signature = codec.binary(new_field, SIGNATURE_BYTES)
    # Read before it is verified: it contains the keys for verification.
    rotation = Rotation.from_payload(payload)
    verify(rotation.old_key, CONTEXT_AUTHORITY, payload, old_signature)
    verify(rotation.new_key, CONTEXT_AUTHORITY_ACCEPT, payload, new_signature)
    return rotation


def split_rotations(body: bytes) -> tuple[LoggedEnvelope, ...]:
    """Return the envelopes of a published array, unverified, and their proofs."""
    if len(body) > MAX_ROTATIONS_BYTES:
        raise Refusal(RefusalCode.MALFORMED, "the array of rotations is too long")
    pairs = codec.decode(body)
    if type(pairs) is not list or len(pairs) > MAX_ROTATIONS:
        raise Refusal(
            RefusalCode.MALFORMED, f"an array of at most {MAX_ROTATIONS} rotations is expected"
        )
    # The whole is canonical, so each part, re-encoded, equals the received bytes.
    return tuple(split_logged(codec.encode(pair)) for pair in pairs)


def follow_rotations(pinned: bytes, rotations: Iterable[Rotation]) -> tuple[bytes, ...]:
    """Return the chain of keys from a pinned key through its rotations, the pinned key first.

    Rotations that do not follow from the pinned key are ignored. A collector also publishes earlier
    ones, verified, in any order, and possibly twice. The last key of the chain signs now.

    Raises:
        AuthorityFork: if a key of the chain has two different rotations.
        Refusal: malformed, if a sequence is not one more than that of the previous rotation, a key
            recurs, or the chain is too long.
    """
    by_old: dict[bytes, list[Rotation]] = {}
    for rotation in rotations:
        of_key = by_old.setdefault(rotation.old_key, [])
        if rotation not in of_key:
            of_key.append(rotation)
    chain = [pinned]
    before: Rotation | None = None
    while following := by_old.get(chain[-1]):
        rotation = following[0]
        if len(following) > 1:
            raise AuthorityFork(following[0], following[1])
        if before is not None and rotation.sequence != before.sequence + 1:
            raise Refusal(
                RefusalCode.MALFORMED, "each sequence must be one more than the previous sequence"
            )
        if rotation.new_key in chain:
            raise Refusal(
                RefusalCode.MALFORMED, "a key that has handed over must not be used again"
            )
        if len(chain) > MAX_ROTATIONS:
            raise Refusal(
                RefusalCode.MALFORMED, f"a chain must have at most {MAX_ROTATIONS} rotations"
            )
        chain.append(rotation.new_key)
        before = rotation
    return tuple(chain)
