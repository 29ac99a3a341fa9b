"""The strict check of keys and signatures, against the curve itself and against two libraries.

Each attack is first shown to be one: its bytes satisfy the equation S·B = R + h·A, in this test's
own arithmetic, so a verifier that looked at nothing else would accept them.
"""

from itertools import count

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from deniable.messages import Refusal, RefusalCode, SigningKey, check_public_key, ed25519, verify
from tests.vectors import edwards25519 as curve

SEED = bytes(range(32))
KEY = SigningKey(SEED)
SCALAR = curve.secret_scalar(SEED)
POINT = curve.multiply(SCALAR, curve.BASE)
MESSAGE = b"deniable"
TORSION = curve.small_order_points()
SIGN_BIT = 1 << 255


def code_of(key: bytes, message: bytes, signature: bytes) -> RefusalCode | None:
    """Return the code with which a signature over the bare message is refused, or None.

    libsodium, whose own checks are strict too, is asked for a second opinion every time.
    """
    code = None
    try:
        verify(key, b"", message, signature)
    except Refusal as refusal:
        code = refusal.code
    assert libsodium_accepts(key, message, signature) is (code is None), code
    return code


def libsodium_accepts(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        VerifyKey(key).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def openssl_accepts(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_the_arithmetic_of_this_test_is_that_of_the_curve() -> None:
    assert curve.is_on_curve(curve.BASE)
    assert curve.multiply(curve.L, curve.BASE) == curve.IDENTITY
    assert curve.encode(curve.BASE).hex() == "58" + "66" * 31  # y = 4/5, x even
    assert curve.encode(POINT) == KEY.public_key
    assert len(set(TORSION)) == 8
    assert all(curve.is_on_curve(point) for point in TORSION)
    assert all(curve.multiply(8, point) == curve.IDENTITY for point in TORSION)
    # Any other point of small order would be a ninth root of the identity under 8; the group is
    # cyclic of order 8 L (L is an odd prime), so it has exactly eight of them.
    assert curve.multiply(4, TORSION[1]) != curve.IDENTITY


def test_the_modules_small_orders_are_those_of_the_curve() -> None:
    assert {y for _, y in TORSION} == ed25519._SMALL_ORDER_Y
    assert (ed25519._P, ed25519._L) == (curve.P, curve.L)


@pytest.mark.parametrize("sign", [0, SIGN_BIT])
@pytest.mark.parametrize("y", range(curve.P, 2**255))
def test_encodings_with_y_beyond_the_field_are_refused_as_key_and_as_r(y: int, sign: int) -> None:
    encoding = (y | sign).to_bytes(32, "little")
    assert code_of(encoding, MESSAGE, KEY.sign(b"", MESSAGE)) is RefusalCode.BAD_KEY
    h = curve.challenge(encoding, KEY.public_key, MESSAGE)
    signature = curve.signature_bytes(encoding, h * SCALAR % curve.L)
    assert code_of(KEY.public_key, MESSAGE, signature) is RefusalCode.BAD_SIGNATURE


@pytest.mark.parametrize("length", [0, 1, 31, 33, 63, 65, 128])
def test_keys_and_signatures_of_another_length_are_refused(length: int) -> None:
    with pytest.raises(Refusal, match="bad-key"):
        check_public_key((KEY.public_key * 4)[:length])
    signature = (KEY.sign(b"", MESSAGE) * 2)[:length]
    assert code_of(KEY.public_key, MESSAGE, signature) is RefusalCode.BAD_SIGNATURE


def test_the_checks_come_before_any_library(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both libraries refuse S + L and R >= p today; the protocol does not count on it.
    honest = KEY.sign(b"", MESSAGE)
    monkeypatch.setattr(ed25519, "Ed25519PublicKey", None)
    half = int.from_bytes(honest[32:], "little")
    bad_signatures = [
        curve.signature_bytes(honest[:32], half + curve.L),
        curve.signature_bytes(honest[:32], curve.L),
        curve.signature_bytes((curve.P + 1).to_bytes(32, "little"), half),
        *(curve.signature_bytes(curve.encode(point), half) for point in TORSION),
        honest[:63],
    ]
    for signature in bad_signatures:
        assert code_of(KEY.public_key, MESSAGE, signature) is RefusalCode.BAD_SIGNATURE
    for key in (*map(curve.encode, TORSION), curve.P.to_bytes(32, "little"), bytes(31)):
        assert code_of(key, MESSAGE, honest) is RefusalCode.BAD_KEY


def test_a_key_off_the_curve_verifies_nothing() -> None:
    # Documented: such a key passes the check of keys, and no signature verifies under it.
    off = next(y for y in range(2, 100) if curve.from_y(y) is None).to_bytes(32, "little")
    check_public_key(off)
    assert code_of(off, MESSAGE, KEY.sign(b"", MESSAGE)) is RefusalCode.BAD_SIGNATURE


@pytest.mark.parametrize("divisible", [True, False])
def test_under_a_key_with_a_torsion_part_the_equation_without_cofactor_decides(
    divisible: bool,
) -> None:
    # RFC 8032 leaves the choice; both libraries must make the same one, or a collector's answer
    # would depend on which of them stands behind. The key is A + T; h ≡ 0 or ≢ 0 modulo 8.
    key = curve.encode(curve.add(POINT, TORSION[1]))
    for r in count(1):
        encoded = curve.encode(curve.multiply(r, curve.BASE))
        h = curve.challenge(encoded, key, MESSAGE)
        if (h % 8 == 0) is divisible:
            break
    signature = curve.signature_bytes(encoded, (r + h * SCALAR) % curve.L)
    assert code_of(key, MESSAGE, signature) is (None if divisible else RefusalCode.BAD_SIGNATURE)
    assert openssl_accepts(key, MESSAGE, signature) is divisible


@pytest.mark.parametrize("number", range(16))
def test_what_we_accept_both_libraries_accept(number: int) -> None:
    key = SigningKey(bytes([number]) * 32)
    message = bytes(range(number * 7))
    signature = key.sign(b"context\0", message)
    verify(key.public_key, b"context\0", message, signature)
    assert code_of(key.public_key, b"context\0" + message, signature) is None
    assert openssl_accepts(key.public_key, b"context\0" + message, signature)
    assert code_of(key.public_key, message, signature) is RefusalCode.BAD_SIGNATURE
