"""Tokens of type 2: the challenge they answer, what they sign, and the request for one.

Source: RFC 9577, sections 2.1 and 2.2; RFC 9578, section 6.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from deniable.privacy_pass.blind_rsa import MODULUS_BYTES, InvalidToken

TOKEN_TYPE: Final = 2
"""Blind RSA with 2,048 bits."""
REQUEST_TYPE: Final = "application/private-token-request"
"""The media type of a request."""
RESPONSE_TYPE: Final = "application/private-token-response"
"""The media type of an answer, which is the blind signature alone."""
REQUEST_BYTES: Final = 3 + MODULUS_BYTES
"""Bytes of a request."""
_TYPE: Final = TOKEN_TYPE.to_bytes(2)
_HASH_BYTES: Final = 32

# SubjectPublicKeyInfo of id-RSASSA-PSS with SHA-384, MGF1 with SHA-384 and a salt of 48 bytes, for
# a modulus of 2,048 bits and exponent 65537 (RFC 9578, section 6.5); the modulus is in between.
_INFO_BEFORE: Final = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202"
    "a11a301806092a864886f70d010108300b0609608648016503040202a203020130"
    "0382010f003082010a0282010100"
)
_INFO_BEHIND: Final = bytes.fromhex("0203010001")


@dataclass(frozen=True, slots=True)
class TokenChallenge:
    """The statement of who asks for a token, whom, and on which occasion.

    The redemption context has 32 bytes or none; names are ASCII, the origin's may be empty.
    """

    issuer_name: str
    redemption_context: bytes = b""
    origin_info: str = ""

    def encode(self) -> bytes:
        """Return the bytes of the structure."""
        issuer, origin = self.issuer_name.encode("ascii"), self.origin_info.encode("ascii")
        context = self.redemption_context
        if not issuer or len(context) not in {0, _HASH_BYTES}:
            raise ValueError("a challenge names an issuer, and has a context of 32 bytes or none")
        return b"".join(
            (
                _TYPE,
                len(issuer).to_bytes(2) + issuer,
                len(context).to_bytes(1) + context,
                len(origin).to_bytes(2) + origin,
            )
        )

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of the structure."""
        return sha256(self.encode()).digest()


def public_key_info(modulus: bytes) -> bytes:
    """Return the key as a SubjectPublicKeyInfo in DER."""
    if len(modulus) != MODULUS_BYTES:
        raise ValueError(f"a modulus has {MODULUS_BYTES} bytes")
    return _INFO_BEFORE + modulus + _INFO_BEHIND


@lru_cache(maxsize=1024)
def token_key_id(modulus: bytes) -> bytes:
    """Return the key's id, of 32 bytes."""
    return sha256(public_key_info(modulus)).digest()


def token_input(nonce: bytes, challenge_digest: bytes, key_id: bytes) -> bytes:
    """Return the message that a token signs; each of the three has 32 bytes."""
    return _TYPE + nonce + challenge_digest + key_id


def pack_token_request(key_id: bytes, blinded: bytes) -> bytes:
    """Return the request's bytes: the type, the last byte of the key's id, the blinded message."""
    return _TYPE + key_id[-1:] + blinded


def read_token_request(body: bytes) -> tuple[int, bytes]:
    """Return the last byte of the key's id and the blinded message, neither judged.

    Raises:
        InvalidToken: if the bytes are no request for a token of this type.
    """
    if len(body) != REQUEST_BYTES or body[:2] != _TYPE:
        raise InvalidToken("no request for a token of type 2")
    return body[2], body[3:]
