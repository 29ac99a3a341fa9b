"""The curve of Ed25519 by the book, slowly: what our checks and both libraries are held against.

Affine points and Python integers, nothing shared with the package or a library. With it a test
makes the signatures that an attacker would: under keys of small order, with R = identity, with
S + L, under keys of mixed order.
"""

from hashlib import sha512
from typing import Final

P: Final = 2**255 - 19
L: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, P) % P
_SQRT_MINUS_1: Final = pow(2, (P - 1) // 4, P)

Point = tuple[int, int]

IDENTITY: Final[Point] = (0, 1)


def add(a: Point, b: Point) -> Point:
    """Add two points by the complete law of a twisted Edwards curve with a = -1."""
    (x1, y1), (x2, y2) = a, b
    product = _D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x, y


def multiply(scalar: int, point: Point) -> Point:
    """Add a point to itself ``scalar`` times."""
    total = IDENTITY
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def is_on_curve(point: Point) -> bool:
    """Tell whether -x² + y² = 1 + d x² y²."""
    x, y = point
    return (y * y - x * x - 1 - _D * x * x * y * y) % P == 0


def from_y(y: int, sign: int = 0) -> Point | None:
    """Return the point with this y and parity of x, None if there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * _SQRT_MINUS_1 % P
    if x * x % P != square or (x == 0 and sign):
        return None
    return (x if x & 1 == sign else P - x), y


def encode(point: Point) -> bytes:
    """Return the 32 bytes of RFC 8032, section 5.1.2."""
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _base_point() -> Point:
    base = from_y(4 * pow(5, -1, P) % P)
    assert base is not None
    return base


BASE: Final = _base_point()


def small_order_points() -> list[Point]:
    """Derive the eight points whose order divides 8, as multiples of one of order 8.

    The group has 8 L points. L times any point has order 1, 2, 4 or 8; the first that is not the
    identity after multiplication by 4 generates all eight.
    """
    y = 2
    while True:
        point = from_y(y)
        if point is not None:
            torsion = multiply(L, point)
            if multiply(4, torsion) != IDENTITY:
                return [multiply(times, torsion) for times in range(8)]
        y += 1


def secret_scalar(seed: bytes) -> int:
    """Return the clamped scalar of a seed (RFC 8032, section 5.1.5)."""
    half = bytearray(sha512(seed).digest()[:32])
    half[0] &= 248
    half[31] &= 127
    half[31] |= 64
    return int.from_bytes(half, "little")


def challenge(r: bytes, key: bytes, message: bytes) -> int:
    """Return h = SHA-512(R ‖ A ‖ M) mod L."""
    return int.from_bytes(sha512(r + key + message).digest(), "little") % L


def signature_bytes(r: bytes, s: int) -> bytes:
    """Join the two halves of a signature."""
    return r + s.to_bytes(32, "little")


def equation_holds(
    key: Point, key_bytes: bytes, message: bytes, r: Point, signature: bytes
) -> bool:
    """Tell whether S·B = R + h·A: all that a verifier without further checks would look at."""
    s = int.from_bytes(signature[32:], "little")
    h = challenge(signature[:32], key_bytes, message)
    return multiply(s, BASE) == add(r, multiply(h, key))
