"""Bad vectors of authority rotations: published arrays that no device must follow."""

from collections.abc import Iterator

from deniable.messages import SigningKey
from deniable.messages.ed25519 import CONTEXT_AUTHORITY, CONTEXT_AUTHORITY_ACCEPT, CONTEXT_MANIFEST
from tests.vectors import edwards25519 as curve
from tests.vectors.layout import Case
from tests.vectors.scene import AUTHORITY, pack, rotation_payload, seed, vector
from tests.vectors.scene import LAST_AUTHORITY as LAST
from tests.vectors.scene import NEXT_AUTHORITY as NEXT
from tests.vectors.scene import rotation_envelope as hand_over

THIEF = SigningKey(seed("thief"))
GOOD = hand_over(AUTHORITY, NEXT, 1)
PAYLOAD = rotation_payload(AUTHORITY.public_key, NEXT.public_key, 1)
OLD = AUTHORITY.sign(CONTEXT_AUTHORITY, PAYLOAD)
NEW = NEXT.sign(CONTEXT_AUTHORITY_ACCEPT, PAYLOAD)
IDENTITY = b"\1" + bytes(31)


def array(*envelopes: bytes) -> bytes:
    """Return a published array of so few envelopes, each with an empty proof."""
    return bytes([0x90 + len(envelopes)]) + b"".join(map(pair, envelopes))


def pair(envelope: bytes) -> bytes:
    """Return an envelope with an empty proof."""
    return b"\x92" + envelope + b"\xc4\x00"


def both_signed(payload: bytes) -> bytes:
    """Return an envelope whose signatures are good, whatever the payload says."""
    return hand_over(AUTHORITY, NEXT, 1, payload=payload)


def shapes() -> Iterator[Case]:
    """Return bytes that are no array of rotations."""
    bodies = {
        "empty": b"",
        "a map": b"\x80",
        "an envelope without its array": GOOD,
        "truncated": array(GOOD)[:-1],
        "bytes behind it": array(GOOD) + b"\0",
        "a header that is not minimal": b"\xdc\x00\x01" + pair(GOOD),
        "a claimed length of 2^32 - 1": b"\xdd\xff\xff\xff\xff" + GOOD,
        "65 envelopes": b"\xdc\x00\x41" + pair(GOOD) * 65,
        "arrays nested 10,000 deep": b"\x91" * 10_000 + b"\xc0",
        "nil for an envelope": array(b"\xc0"),
        "nil for a proof": b"\x91\x92" + GOOD + b"\xc0",
        "no proof": b"\x91" + GOOD,
        "an envelope as bytes": array(pack(GOOD)),
        "one signature": array(pack([PAYLOAD, OLD])),
        "three signatures": array(pack([PAYLOAD, OLD, NEW, NEW])),
        "a short signature of the old key": array(pack([PAYLOAD, OLD[:-1], NEW])),
        "text for the signature of the new key": array(pack([PAYLOAD, OLD, "x" * 64])),
        "nil for the signature of the new key": array(pack([PAYLOAD, OLD, None])),
        "the payload as an array": array(pack([[1, 2, 3], OLD, NEW])),
    }
    for what, body in bodies.items():
        yield vector("rotations", what, "malformed", body=body)


def payloads() -> Iterator[Case]:
    """Return payloads that are no hand-over; both keys signed each of them."""
    old, new = AUTHORITY.public_key, NEXT.public_key
    malformed = {
        "a field too few": pack([old, new]),
        "a field too many": pack([old, new, 1, 1]),
        "a map": pack({"old": old, "new": new, "sequence": 1}),
        "bytes behind it": PAYLOAD + b"\0",
        "a header that is not minimal": b"\xdc\x00\x03" + PAYLOAD[1:],
        "an old key as text": pack(["x" * 32, new, 1]),
        "a short old key": pack([old[:-1], new, 1]),
        "a long new key": pack([old, new + b"\0", 1]),
        "nil for the new key": pack([old, None, 1]),
        "a float for the sequence": pack([old, new, 1.0]),
        "true for the sequence": pack([old, new, True]),
        "a negative sequence": pack([old, new, -1]),
        "a sequence of 2^32": pack([old, new, 2**32]),
        "a sequence that is not minimal": PAYLOAD[:-1] + b"\xcc\x01",
        "a key that hands over to itself": pack([old, old, 1]),
    }
    for what, payload in malformed.items():
        yield vector("rotation payload", what, "malformed", body=array(both_signed(payload)))
    unsound = {
        "the identity as old key": pack([IDENTITY, new, 1]),
        "the identity as new key": pack([old, IDENTITY, 1]),
        "an old key that is not canonical": pack([b"\xee" + b"\xff" * 30 + b"\x7f", new, 1]),
    }
    for what, payload in unsound.items():
        yield vector("rotation payload", what, "bad-key", body=array(both_signed(payload)))


def signatures() -> Iterator[Case]:
    """Return hand-overs that one of their keys did not sign."""
    old_s = int.from_bytes(OLD[32:], "little")
    new_s = int.from_bytes(NEW[32:], "little")
    envelopes = {
        "signed by a thief for the old key": hand_over(AUTHORITY, NEXT, 1, old=THIEF),
        "signed by a thief for the new key": hand_over(AUTHORITY, NEXT, 1, new=THIEF),
        "signed by the old key only": hand_over(AUTHORITY, NEXT, 1, new=AUTHORITY),
        "the signatures exchanged": pack([PAYLOAD, NEW, OLD]),
        "the new key in the context of the old": pack(
            [PAYLOAD, OLD, NEXT.sign(CONTEXT_AUTHORITY, PAYLOAD)]
        ),
        "the old key in the context of the new": pack(
            [PAYLOAD, AUTHORITY.sign(CONTEXT_AUTHORITY_ACCEPT, PAYLOAD), NEW]
        ),
        "the old key in the context of manifests": pack(
            [PAYLOAD, AUTHORITY.sign(CONTEXT_MANIFEST, PAYLOAD), NEW]
        ),
        "the signatures of another sequence": pack(
            [rotation_payload(AUTHORITY.public_key, NEXT.public_key, 2), OLD, NEW]
        ),
        "S + L of the old key": pack(
            [PAYLOAD, curve.signature_bytes(OLD[:32], old_s + curve.L), NEW]
        ),
        "S + L of the new key": pack(
            [PAYLOAD, OLD, curve.signature_bytes(NEW[:32], new_s + curve.L)]
        ),
        "a bad one behind a good one": hand_over(NEXT, LAST, 2, new=THIEF),
    }
    for what, envelope in envelopes.items():
        body = array(GOOD, envelope) if "behind" in what else array(envelope)
        yield vector("rotation signatures", what, "bad-signature", body=body)


def chains() -> Iterator[Case]:
    """Return sound rotations that are no chain from the authority."""
    onward = hand_over(NEXT, LAST, 2)
    bodies = {
        "two hand-overs of one sequence": array(GOOD, hand_over(AUTHORITY, THIEF, 1)),
        "two hand-overs of two sequences": array(GOOD, hand_over(AUTHORITY, THIEF, 2)),
        "the same hand-over in two sequences": array(GOOD, hand_over(AUTHORITY, NEXT, 2)),
        "two hand-overs further on": array(GOOD, onward, hand_over(NEXT, THIEF, 2)),
        "a sequence that stays": array(GOOD, hand_over(NEXT, LAST, 1)),
        "a sequence that falls": array(GOOD, hand_over(NEXT, LAST, 0)),
        "a sequence that skips one": array(GOOD, hand_over(NEXT, LAST, 3)),
        "a key that comes back at once": array(GOOD, hand_over(NEXT, AUTHORITY, 2)),
        "a key that comes back later": array(GOOD, onward, hand_over(LAST, AUTHORITY, 3)),
    }
    for what, body in bodies.items():
        yield vector("rotation chain", what, "malformed", body=body)
