"""Enrolment: the party that vouches for each device, its keys, and the request to it.

A manifest lists issuers, or a host and its keys. A request for a certificate is the exact statement
that an issuer signs; the answer is just the signature.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal

from deniable.messages import codec
from deniable.messages.ed25519 import (
    CONTEXT_ENROL,
    KEY_BYTES,
    SIGNATURE_BYTES,
    Verify,
    check_public_key,
    verify,
)
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode
from deniable.messages.texts import is_host_name

MAX_ENROLMENT_BYTES: Final = 128
"""An upper limit in bytes for any enrolment request or answer."""
MAX_BLIND_KEYS: Final = 64
"""The most keys of a blind issuer in one manifest."""
TOKEN_BYTES: Final = 256
"""Bytes of a blind issuer's key, and so of a token: ``privacy_pass.MODULUS_BYTES``."""


def enrolment_statement(survey_id: bytes, epoch: int, public_key: bytes) -> bytes:
    """Return the statement that an issuer receives and signs to vouch for a key."""
    return codec.encode([survey_id, epoch, public_key])


def check_credential(
    issuers: Iterable[bytes], statement: bytes, credential: bytes, verify: Verify = verify
) -> bytes:
    """Return the first of these issuers that signed the statement with this credential."""
    for issuer in issuers:
        try:
            verify(issuer, CONTEXT_ENROL, statement, credential)
        except Refusal:
            continue
        return issuer
    raise Refusal(RefusalCode.NOT_ENROLLED, "no listed issuer vouches for this key")


def read_credential(body: bytes) -> bytes:
    """Return the 64 bytes in the body of an issuer's answer, unverified."""
    return codec.binary(codec.decode(body), SIGNATURE_BYTES)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The issuers that vouch for devices: none, or any one of the one or two listed.

    Blind mode has the host, with an RSA key for each epoch from the first on.
    """

    mode: Literal["open", "certificate", "blind"] = "open"
    issuers: tuple[bytes, ...] = ()
    issuer: str = ""
    first: int = 0
    keys: tuple[bytes, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.mode not in {"open", "certificate", "blind"}:
            raise InvalidManifest("enrolment", "mode must be open, certificate or blind")
        if len(self.issuers) not in ((1, 2) if self.mode == "certificate" else (0,)):
            raise InvalidManifest(
                "enrolment",
                "must list one or two issuers in certificate mode, and none in other modes",
            )
        if self.mode == "blind":
            self._check_blind()
        elif self.issuer or self.first or self.keys:
            raise InvalidManifest(
                "enrolment", "an issuer host and per-epoch keys are allowed only in blind mode"
            )
        if len(set(self.issuers)) != len(self.issuers):
            raise InvalidManifest("enrolment", "the two issuers must differ")
        for issuer in self.issuers:
            try:
                check_public_key(issuer)
            except Refusal as refusal:
                raise InvalidManifest("enrolment", "an issuer's key is not valid") from refusal

    def _check_blind(self) -> None:
        if not is_host_name(self.issuer):
            raise InvalidManifest("enrolment", "the issuer must be a host name in lower case")
        if not 1 <= len(self.keys) <= MAX_BLIND_KEYS:
            raise InvalidManifest("enrolment", f"blind mode must list 1 to {MAX_BLIND_KEYS} keys")
        from deniable.privacy_pass import InvalidModulus  # only for blind surveys

        try:
            _check_keys(self.keys)
        except InvalidModulus as error:
            raise InvalidManifest("enrolment", f"a key is not valid: {error}") from error

    @property
    def issuer_ids(self) -> tuple[bytes, ...]:
        """Return the 32 bytes that identify each issuer in counts, seals and distrust."""
        if self.mode == "blind":
            return (blind_issuer_id(self.issuer),)
        return self.issuers

    def key_of(self, epoch: int) -> bytes | None:
        """Return the modulus of a blind issuer in an epoch; None if the issuer has no key."""
        place = epoch - self.first
        return self.keys[place] if 0 <= place < len(self.keys) else None

    def to_map(self) -> dict[str, object]:
        """Return the canonical map of the wire."""
        match self.mode:
            case "open":
                return {"mode": self.mode}
            case "certificate":
                return {"mode": self.mode, "issuers": list(self.issuers)}
            case "blind":
                fields = {"issuer": self.issuer, "first": self.first, "keys": list(self.keys)}
                return {"mode": self.mode} | fields

    @classmethod
    def from_map(cls, value: object) -> "Enrolment":
        """Read the map of the wire."""
        match value:
            case {"mode": "open"}:
                codec.exact_map(value, ("mode",))
                return cls()
            case {"mode": "certificate"}:
                fields = codec.exact_map(value, ("mode", "issuers"))
                return cls("certificate", _read_keys(fields["issuers"], KEY_BYTES))
            case {"mode": "blind"}:
                fields = codec.exact_map(value, ("mode", "issuer", "first", "keys"))
                return cls(
                    "blind",
                    issuer=codec.text(fields["issuer"]),
                    first=codec.uint(fields["first"]),
                    keys=_read_keys(fields["keys"], TOKEN_BYTES),
                )
        raise Refusal(RefusalCode.MALFORMED, "the enrolment mode is unknown")


def blind_issuer_id(name: str) -> bytes:
    """Return the id of a blind issuer, which stays the same as its keys change."""
    return sha256(name.encode()).digest()


def _read_keys(value: object, length: int) -> tuple[bytes, ...]:
    if type(value) is not list:
        raise Refusal(RefusalCode.MALFORMED, "an array of keys is expected")
    return tuple(codec.binary(key, length) for key in value)


# The same manifest is read repeatedly: at each start, and whenever it is shown.
@lru_cache(maxsize=64)
def _check_keys(keys: tuple[bytes, ...]) -> None:
    from deniable.privacy_pass import check_moduli

    check_moduli(keys)
