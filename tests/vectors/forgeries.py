"""Keys that nobody owns, and signatures that are not the canonical one, of any message."""

import math
from collections.abc import Iterator

from deniable.messages import SigningKey
from tests.vectors import edwards25519 as curve

SMALL_ORDER = b"\1" + bytes(31)
"""The key of the identity."""


def unsound_keys(message: bytes, honest: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """Return keys, each with a signature: one that its equation accepts, or an honest one."""
    for times, point in enumerate(curve.small_order_points()):
        key = curve.encode(point)
        for s in range(1, 1_000):
            r = curve.multiply(s, curve.BASE)
            forged = curve.signature_bytes(curve.encode(r), s)
            if curve.equation_holds(point, key, message, r, forged):
                break
        else:
            raise AssertionError("no forgery was found")
        what = f"torsion point {times}, of order {8 // math.gcd(8, times)}" if times else "identity"
        yield what, key, forged
    odd = {
        "y = p, not canonical for 0": curve.P,
        "y = p + 1, not canonical for the identity": curve.P + 1,
        "y = p + 1 with the sign bit": curve.P + 1 | 1 << 255,
        "y = p + 18, the largest": curve.P + 18,
        "the identity with the sign bit": 1 | 1 << 255,
        "order 2 with the sign bit": curve.P - 1 | 1 << 255,
        "all bits set": 2**256 - 1,
    }
    for what, encoding in odd.items():
        yield what, encoding.to_bytes(32, "little"), honest


def off_the_curve() -> bytes:
    """Return a key that is no point of the curve."""
    return next(y for y in range(2, 100) if curve.from_y(y) is None).to_bytes(32, "little")


def malleable_signatures(
    seed: bytes, context: bytes, payload: bytes
) -> Iterator[tuple[str, bytes]]:
    """Return signatures by a seed's key that some verifiers take."""
    signer, scalar, message = SigningKey(seed), curve.secret_scalar(seed), context + payload
    honest = signer.sign(context, payload)
    points = {
        f"R = torsion point {times}" if times else "R = identity under an honest key": curve.encode(
            point
        )
        for times, point in enumerate(curve.small_order_points())
    }
    points["R = identity, not canonical"] = (curve.P + 1).to_bytes(32, "little")
    for what, r in points.items():
        s = curve.challenge(r, signer.public_key, message) * scalar % curve.L
        yield what, curve.signature_bytes(r, s)
    half = int.from_bytes(honest[32:], "little")
    yield "S + L", curve.signature_bytes(honest[:32], half + curve.L)
    yield "S + 15 L", curve.signature_bytes(honest[:32], half + 15 * curve.L)
    yield "S is L itself", curve.signature_bytes(honest[:32], curve.L)
