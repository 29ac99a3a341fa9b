"""Privacy Pass tokens that anybody can verify and nobody can link: RFC 9474, RFC 9577, RFC 9578.

This is type 2 of its tokens, RSABSSA-SHA384-PSS-Deterministic with 2,048 bits and exponent 65537.

Given a message m, encoded as an integer below the modulus n, and a factor r, the signer sees only z
= m·r^e mod n. Its answer y becomes the signature s = y/r, if s^e = m.

**Why no modulus and no choice of root reveals the requester.** m and r are units modulo n. s
verifies if and only if y^e = z, which the signer knows anyway; then y is a unit too. Take any
signature s' of a message m' that verifies. The only factor with which the request z and the answer
y give s' is r' = y/s', and it gives z for m', since r'^e = z/m'. So every signature fits every
request with exactly one unit, and r was drawn uniformly from the units: for the signer all pairs
are equally likely, whatever e, phi(n) and root y it chose. Therefore non-units are never sent.

Source: RFC 9474, sections 4 and 5; the encoding is RFC 8017, section 9.1.1. RFC 9577, sections 2.1
and 2.2; RFC 9578, section 6.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import sha256, sha384
from math import gcd, prod
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384

MODULUS_BYTES: Final = 256
"""Bytes of a modulus, a blinded message and a signature."""
EXPONENT: Final = 65537
"""The public exponent of every key."""
SALT_BYTES: Final = 48
"""Bytes of the salt of an encoding."""
_HASH_BYTES: Final = 48
_SMALL: Final = 1 << 16
_PADDING: Final = PSS(MGF1(SHA384()), SALT_BYTES)
_HASH: Final = SHA384()

TOKEN_TYPE: Final = 2
"""Blind RSA with 2,048 bits."""
REQUEST_TYPE: Final = "application/private-token-request"
"""The media type of a request."""
RESPONSE_TYPE: Final = "application/private-token-response"
"""The media type of an answer, which is only the blind signature."""
REQUEST_BYTES: Final = 3 + MODULUS_BYTES
"""Bytes of a request."""
_TYPE: Final = TOKEN_TYPE.to_bytes(2)

# SubjectPublicKeyInfo of id-RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes, for
# a modulus of 2,048 bits and exponent 65537 (RFC 9578, section 6.5); the modulus is in between.
_INFO_BEFORE: Final = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202"
    "a11a301806092a864886f70d010108300b0609608648016503040202a203020130"
    "0382010f003082010a0282010100"
)
_INFO_BEHIND: Final = bytes.fromhex("0203010001")


class InvalidToken(ValueError):
    """A token, or a step towards one, that is invalid according to the RFCs or does not verify."""


class InvalidModulus(ValueError):
    """A modulus that no honest issuer would create."""


def encode(message: bytes, salt: bytes, bits: int = 8 * MODULUS_BYTES - 1) -> int:
    """Return the encoded message, an integer below 2^bits; one bit less than the modulus has.

    Source: EMSA-PSS-ENCODE with SHA-384 and MGF1 with SHA-384, RFC 8017, section 9.1.1.
    """
    length = (bits + 7) // 8
    digest = sha384(bytes(8) + sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - _HASH_BYTES - 2) + b"\x01" + salt
    masked = int.from_bytes(block) ^ int.from_bytes(_mask(digest, len(block)))
    masked &= (1 << (bits - 8 * (_HASH_BYTES + 1))) - 1
    return int.from_bytes(masked.to_bytes(len(block)) + digest + b"\xbc")


def _mask(seed: bytes, length: int) -> bytes:
    blocks = range(-(-length // _HASH_BYTES))
    return b"".join(sha384(seed + block.to_bytes(4)).digest() for block in blocks)[:length]


def blind(encoded: int, modulus: int, factor: int) -> bytes:
    """Return the blinded message, as long as the modulus.

    Raises:
        InvalidToken: if the encoded message or the factor is not a unit modulo the modulus.
    """
    if not 0 < factor < modulus or gcd(encoded, modulus) != 1 or gcd(factor, modulus) != 1:
        raise InvalidToken("a message or factor shares a divisor with the modulus")
    blinded = encoded * pow(factor, EXPONENT, modulus) % modulus
    return blinded.to_bytes(_length(modulus))


def finalise(blind_signature: bytes, modulus: int, factor: int) -> bytes:
    """Return the unverified signature computed from a blind one: see :func:`verify`.

    Raises:
        InvalidToken: if the signature is not as long as the modulus, or not below it.
    """
    signed = int.from_bytes(blind_signature)
    if len(blind_signature) != _length(modulus) or signed >= modulus:
        raise InvalidToken("a blind signature is not below the modulus")
    return (signed * pow(factor, -1, modulus) % modulus).to_bytes(_length(modulus))


def verify(message: bytes, signature: bytes, modulus: bytes) -> None:
    """Check a message's signature under a modulus that :func:`check_moduli` accepted.

    Raises:
        InvalidToken: unless the signature verifies.
    """
    try:
        _public_key(modulus).verify(signature, message, _PADDING, _HASH)
    except InvalidSignature as error:
        raise InvalidToken("the token does not verify") from error


@lru_cache(maxsize=1024)
def _public_key(modulus: bytes) -> RSAPublicKey:
    return RSAPublicNumbers(EXPONENT, int.from_bytes(modulus)).public_key()


def check_moduli(moduli: Iterable[bytes]) -> None:
    """Check each modulus: odd, exactly 2,048 bits, no factor below 2^16 or shared with another.

    A modulus of many small primes verifies in every library, but its issuer can unblind with
    greatest common divisors.

    Raises:
        InvalidModulus: if one fails a check.
    """
    # The product of all that the next modulus may not share: small primes, then each modulus.
    before = _small_primes()
    for modulus in moduli:
        n = int.from_bytes(modulus)
        if len(modulus) != MODULUS_BYTES or n.bit_length() != 8 * MODULUS_BYTES:
            raise InvalidModulus("a modulus must have exactly 2,048 bits")
        if gcd(before % n, n) != 1:
            raise InvalidModulus("a modulus has a small factor, or a factor of another modulus")
        before *= n


@cache
def _small_primes() -> int:
    """Return the product of the primes below 2^16."""
    sieve = bytearray([1]) * _SMALL
    for n in range(2, 256):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(range(n * n, _SMALL, n)))
    return prod(n for n in range(2, _SMALL) if sieve[n])


def _length(modulus: int) -> int:
    return (modulus.bit_length() + 7) // 8


def token_challenge(issuer_name: str, redemption_context: bytes, origin_info: str) -> bytes:
    """Return the statement of who requests a token, from whom, and for which occasion.

    The redemption context has 32 bytes or none; names are ASCII, the origin's may be empty.
    """
    issuer, origin = issuer_name.encode("ascii"), origin_info.encode("ascii")
    return b"".join(
        (
            _TYPE,
            len(issuer).to_bytes(2) + issuer,
            len(redemption_context).to_bytes(1) + redemption_context,
            len(origin).to_bytes(2) + origin,
        )
    )


def public_key_info(modulus: bytes) -> bytes:
    """Return the key as a SubjectPublicKeyInfo in DER."""
    return _INFO_BEFORE + modulus + _INFO_BEHIND


@lru_cache(maxsize=1024)
def token_key_id(modulus: bytes) -> bytes:
    """Return the key's id, of 32 bytes."""
    return sha256(public_key_info(modulus)).digest()


def token_input(nonce: bytes, challenge_digest: bytes, key_id: bytes) -> bytes:
    """Return the message that a token signs; each of the three arguments has 32 bytes."""
    return _TYPE + nonce + challenge_digest + key_id


def pack_token_request(key_id: bytes, blinded: bytes) -> bytes:
    """Return the request's bytes: the type, the last byte of the key's id, the blinded message."""
    return _TYPE + key_id[-1:] + blinded
