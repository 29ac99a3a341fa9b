"""An issuer at a bench: a certificate survey, and keys of devices that ask for one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from deniable.counterparts.signing import sign_manifest
from deniable.enrolment import IssuanceRecord, Issuer, SqliteIssuanceRecord
from deniable.messages import Enrolment, SigningKey, derive_report_key, enrolment_statement
from deniable.messages.enrolment import check_credential
from tests.support.surveys import AUTHORITY, MANIFEST, START

ISSUER_KEY = SigningKey(b"issuer's seed of the tests 00001")
NEXT_KEY = SigningKey(b"issuer's seed of the tests 00002")
ISSUERS = (ISSUER_KEY.public_key, NEXT_KEY.public_key)
CERTIFIED = replace(MANIFEST, name="certified", enrolment=Enrolment("certificate", ISSUERS))
SURVEY_ID = CERTIFIED.survey_id
RECORD_KEY = b"record key of the tests 00000001"
NOW = START + 100.0


def device_key(device: int, epoch: int = 0, survey_id: bytes = SURVEY_ID) -> bytes:
    """Return a device's public key of a survey and epoch."""
    return derive_report_key(device.to_bytes(32), survey_id, epoch).public_key


def issuer(record: IssuanceRecord, key: SigningKey = ISSUER_KEY, **changes: Any) -> Issuer:
    """Return an issuer of CERTIFIED."""
    arguments: dict[str, Any] = {
        "record_key": RECORD_KEY,
        "authority": AUTHORITY.public_key,
        "manifests": [sign_manifest(CERTIFIED, AUTHORITY)],
    }
    return Issuer(key, record, **arguments | changes)


def record(folder: Path) -> SqliteIssuanceRecord:
    """Return the record of a folder, opened."""
    return SqliteIssuanceRecord(folder / "issued.sqlite")


def vouches(credential: bytes, key: bytes, epoch: int = 0, survey_id: bytes = SURVEY_ID) -> bytes:
    """Return which issuer's certificate it is for this key; fail if it is none."""
    return check_credential(ISSUERS, enrolment_statement(survey_id, epoch, key), credential)
