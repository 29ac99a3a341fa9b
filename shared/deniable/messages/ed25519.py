"""Keys and signatures: Ed25519 (RFC 8032) over context and payload, with strict checks.

Libraries differ in what they accept. OpenSSL accepts the identity key with one fixed forged
signature for every message, and R = identity under honest keys; libsodium refuses both. The checks
here precede any library's, so that all libraries give the same results.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.messages.refusals import Refusal, RefusalCode

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64

CONTEXT_MANIFEST: Final = b"deniable/manifest/v1\0"
CONTEXT_REPORT: Final = b"deniable/report/v1\0"
CONTEXT_ENROL: Final = b"deniable/enrol/v1\0"
CONTEXT_AUTHORITY: Final = b"deniable/authority/v1\0"
CONTEXT_AUTHORITY_ACCEPT: Final = b"deniable/authority-accept/v1\0"
CONTEXT_GATEWAY: Final = b"deniable/gateway/v1\0"
_REPORT_KEY_INFO: Final = b"deniable/report-key/v1\0"

# The field prime and the group order of edwards25519 (RFC 8032, section 5.1).
_P: Final = 2**255 - 19
_L: Final = 2**252 + 27742317777372353535851937790883648493
_Y_MASK: Final = 2**255 - 1

# The y coordinates of the eight points of order 1, 2, 4 and 8. A test derives them from the curve.
_SMALL_ORDER_Y: Final = frozenset(
    {
        0,  # order 4
        1,  # order 1: the identity
        _P - 1,  # order 2
        # order 8: two values, each the other's negative
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    }
)


Verify = Callable[[bytes, bytes, bytes, bytes], None]
"""Checks (key, context, payload, signature) as :func:`verify` does, with any library."""


class SigningKey:
    """An Ed25519 private key, from the 32 bytes so called in RFC 8032; its repr is redacted."""

    __slots__ = ("_key", "public_key")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != KEY_BYTES:
            raise ValueError(f"a signing key's seed must be {KEY_BYTES} bytes long")
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key: Final = self._key.public_key().public_bytes_raw()

    def sign(self, context: bytes, payload: bytes) -> bytes:
        """Return the 64-byte signature over context ‖ payload."""
        return self._key.sign(context + payload)

    def __repr__(self) -> str:
        return "SigningKey(<secret>)"

    def __reduce__(self) -> str:
        raise TypeError("a signing key must not be pickled; pass its file instead")


def derive_report_key(device_secret: bytes, survey_id: bytes, epoch: int) -> SigningKey:
    """Return the device's signing key for one survey and epoch.

    Reports for different surveys or epochs thus share no identifier.

    Source: RFC 5869 (HKDF-SHA256), with the inputs of docs/protocol.md, "Report".
    """
    if len(device_secret) != KEY_BYTES or len(survey_id) != KEY_BYTES:
        raise ValueError(f"a device secret and a survey id must each be {KEY_BYTES} bytes long")
    info = _REPORT_KEY_INFO + epoch.to_bytes(8, "big")
    return SigningKey(HKDF(SHA256(), KEY_BYTES, salt=survey_id, info=info).derive(device_secret))


def check_public_key(public_key: bytes) -> None:
    """Refuse keys that are not canonically encoded or have small order.

    A key off the curve passes here, since no signature verifies under it, in any library.
    """
    if not _is_sound_point(public_key):
        raise Refusal(RefusalCode.BAD_KEY, "the key is not canonical, or has a small order")


def verify(public_key: bytes, context: bytes, payload: bytes, signature: bytes) -> None:
    """Check a signature over context ‖ payload.

    Raises:
        Refusal: bad-key for the key itself; bad-signature for everything else: a wrong length,
            R not canonical or of small order, S not below the group order, or no match.
    """
    check_public_key(public_key)
    # S >= L would yield a second valid signature for each (RFC 8032, section 5.1.7).
    sound = (
        len(signature) == SIGNATURE_BYTES
        and _is_sound_point(signature[:32])
        and int.from_bytes(signature[32:], "little") < _L
    )
    if not sound:
        raise Refusal(RefusalCode.BAD_SIGNATURE, "not a canonical signature")
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, context + payload)
    except (InvalidSignature, ValueError) as error:
        raise Refusal(RefusalCode.BAD_SIGNATURE, "the signature does not match") from error


def verify_by_chain(
    chain: Sequence[bytes], context: bytes, payload: bytes, signature: bytes
) -> bytes:
    """Return the key of an authority's chain, newest last, that verifies a signature."""
    *former, newest = chain
    try:
        verify(newest, context, payload, signature)
    except Refusal as refusal:
        if not former or refusal.code is not RefusalCode.BAD_SIGNATURE:
            raise
        return verify_by_chain(former, context, payload, signature)
    return newest


def _is_sound_point(encoding: bytes) -> bool:
    # The sign bit of x is arbitrary: x = 0 occurs only with y = ±1, which have small order.
    y = int.from_bytes(encoding, "little") & _Y_MASK
    return len(encoding) == KEY_BYTES and y < _P and y not in _SMALL_ORDER_Y
