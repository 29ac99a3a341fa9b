"""A blind issuer at a bench: a survey of four epochs with the keys of the tests, and devices."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from deniable.counterparts.signing import sign_manifest
from deniable.enrolment import BlindIssuer, EpochKeys, IssuanceRecord, PublicKeys
from deniable.enrolment.epoch_keys import PUBLIC_FILE
from deniable.messages import Enrolment, Manifest, Schedule, derive_report_key
from deniable.messages.blind import BlindRequest, blind_request, check_token
from tests.enrolment.issuers import RECORD_KEY
from tests.support.rsa_keys import RSA_KEYS, RsaKey
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, START

ISSUER = "issuer.example.org"
MODULI = tuple(key.modulus for key in RSA_KEYS)
BLIND = replace(
    MANIFEST,
    name="blind",
    schedule=Schedule(START, DAY, len(MODULI), DAY),
    enrolment=Enrolment("blind", issuer=ISSUER, keys=MODULI),
)


def key_directory(folder: Path, keys: tuple[RsaKey, ...] = RSA_KEYS, first: int = 0) -> Path:
    """Return a directory as `deniable issuer keys` makes it, of keys that are known."""
    directory = folder / "blind-keys"
    directory.mkdir(mode=0o700)
    for epoch, key in enumerate(keys, first):
        private = load_der_private_key(key.pkcs8, None, unsafe_skip_rsa_key_validation=True)
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = directory / f"epoch-{epoch:05}.pem"
        file.write_bytes(pem)
        file.chmod(0o600)
    public = PublicKeys(first, tuple(key.modulus for key in keys))
    (directory / PUBLIC_FILE).write_text(public.text(), "utf-8")
    return directory


def blind_issuer(record: IssuanceRecord, directory: Path, **changes: Any) -> BlindIssuer:
    """Return a blind issuer of BLIND."""
    arguments: dict[str, Any] = {
        "record_key": RECORD_KEY,
        "authority": AUTHORITY.public_key,
        "manifests": [sign_manifest(BLIND, AUTHORITY)],
    }
    return BlindIssuer(ISSUER, [EpochKeys(directory)], record, **arguments | changes)


def request(device: int, epoch: int = 0, manifest: Manifest = BLIND) -> BlindRequest:
    """Return a device's request for a token."""
    return blind_request(device.to_bytes(32), manifest, epoch)


def is_token(credential: bytes, device: int, epoch: int = 0, manifest: Manifest = BLIND) -> bool:
    """Tell that a credential is the device's token; raise Refusal if it is not."""
    key = derive_report_key(device.to_bytes(32), manifest.survey_id, epoch).public_key
    return check_token(manifest, epoch, key, credential) == manifest.enrolment.issuer_ids[0]
