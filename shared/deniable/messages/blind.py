"""Blind enrolment: a token for a report's key, which its issuer never sees.

It is a Privacy Pass token of type 2 whose nonce is the key, and whose challenge contains the survey
and the epoch. The salt and the factor follow from the device secret: a repeated request has the
same bytes, and no two keys of an issuer ever see the same factor.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import count
from math import gcd
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable import privacy_pass
from deniable.messages.ed25519 import derive_report_key
from deniable.messages.manifest import Manifest
from deniable.messages.refusals import Refusal, RefusalCode
from deniable.privacy_pass import MODULUS_BYTES, InvalidToken

CONTEXT_BLIND: Final = b"deniable/blind/v1\0"
_SALT_INFO: Final = b"deniable/blind-salt/v1\0"
_FACTOR_INFO: Final = b"deniable/blind-factor/v1\0"
_SALT_BYTES: Final = 48


@dataclass(frozen=True, slots=True)
class BlindRequest:
    """A request for a token, and the data for creating the token from the answer."""

    body: bytes
    _message: bytes = field(repr=False)
    _modulus: bytes = field(repr=False)
    _factor: int = field(repr=False)

    def finish(self, response: bytes) -> bytes:
        """Return the verified credential made from an issuer's answer.

        Raises:
            Refusal: malformed, if the form is wrong; not-enrolled, if the answer is not a token.
        """
        try:
            credential = privacy_pass.finalise(
                response, int.from_bytes(self._modulus), self._factor
            )
        except InvalidToken as error:
            raise Refusal(RefusalCode.MALFORMED, "not an issuer's answer") from error
        _check(self._message, credential, self._modulus)
        return credential

    def __reduce__(self) -> str:
        raise TypeError("a blind request must not be pickled; derive it from the device secret")


def blind_request(device_secret: bytes, manifest: Manifest, epoch: int) -> BlindRequest:
    """Return the device's deterministic request for a token for one survey and epoch.

    Raises:
        Refusal: not-enrolled, if the issuer has no key in this epoch, or a modulus that no honest
            issuer has; then nothing may be sent.
    """
    modulus, key_id = _key(manifest, epoch)
    survey_id = manifest.survey_id

    def derive(info: bytes, length: int, counter: int) -> bytes:
        info += epoch.to_bytes(8) + key_id + counter.to_bytes(8)
        return HKDF(SHA256(), length, salt=survey_id, info=info).derive(device_secret)

    public_key = derive_report_key(device_secret, survey_id, epoch).public_key
    message = blind_token_input(manifest, epoch, public_key)
    encoded = privacy_pass.encode(message, derive(_SALT_INFO, _SALT_BYTES, 0))
    n = int.from_bytes(modulus)
    # Uniform among the units below n: other values are discarded.
    drawn = (int.from_bytes(derive(_FACTOR_INFO, MODULUS_BYTES, counter)) for counter in count())
    factor = next(number for number in drawn if number < n and gcd(number, n) == 1)
    try:
        blinded = privacy_pass.blind(encoded, n, factor)
    except InvalidToken as error:
        raise Refusal(RefusalCode.NOT_ENROLLED, "the issuer's key is not valid") from error
    body = privacy_pass.pack_token_request(key_id, blinded)
    return BlindRequest(body, message, modulus, factor)


def blind_token_input(manifest: Manifest, epoch: int, public_key: bytes) -> bytes:
    """Return the message that a token signs for a report's key.

    Raises:
        Refusal: not-enrolled, if the issuer has no key in this epoch.
    """
    _, key_id = _key(manifest, epoch)
    digest = _challenge(manifest.survey_id, epoch, manifest.enrolment.issuer, manifest.origin)
    return privacy_pass.token_input(public_key, digest, key_id)


def check_token(
    manifest: Manifest, epoch: int, public_key: bytes, credential: bytes | None
) -> bytes:
    """Check that a credential is the token for this survey, epoch and key; return the issuer's id.

    Raises:
        Refusal: not-enrolled, if the credential is not this token.
    """
    modulus, _ = _key(manifest, epoch)
    _check(blind_token_input(manifest, epoch, public_key), credential or b"", modulus)
    return manifest.enrolment.issuer_ids[0]


def _key(manifest: Manifest, epoch: int) -> tuple[bytes, bytes]:
    modulus = manifest.enrolment.key_of(epoch)
    if modulus is None:
        raise Refusal(RefusalCode.NOT_ENROLLED, "the issuer has no key in this epoch")
    return modulus, privacy_pass.token_key_id(modulus)


@lru_cache(maxsize=256)
def _challenge(survey_id: bytes, epoch: int, issuer: str, origin: str) -> bytes:
    context = sha256(CONTEXT_BLIND + survey_id + epoch.to_bytes(8)).digest()
    # RFC 9577 writes an origin as host[:port], without port 443.
    _, _, server_name = origin.partition("://")
    return sha256(privacy_pass.token_challenge(issuer, context, server_name)).digest()


def _check(message: bytes, credential: bytes, modulus: bytes) -> None:
    try:
        privacy_pass.verify(message, credential, modulus)
    except InvalidToken as error:
        raise Refusal(
            RefusalCode.NOT_ENROLLED, "this is not the issuer's token for this key"
        ) from error
