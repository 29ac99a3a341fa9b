"""The issuer: an app's backend vouches that a device is one device, once per account and epoch.

``deniable.enrolment.routes`` mounts it in an aiohttp application; ``answer_enrolment`` does for any
other.
"""

from deniable.enrolment.errors import (
    AnotherKey,
    IssuerError,
    KeyFileError,
    NotListed,
    RecordError,
    WrongRecordKey,
)
from deniable.enrolment.exchange import EnrolmentAnswer, answer_enrolment
from deniable.enrolment.issuer import Issuer
from deniable.enrolment.key_file import create_key_file, read_key_file, read_record_key
from deniable.enrolment.record import IssuanceRecord
from deniable.enrolment.sqlite_record import SqliteIssuanceRecord

__all__ = [
    "AnotherKey",
    "EnrolmentAnswer",
    "IssuanceRecord",
    "Issuer",
    "IssuerError",
    "KeyFileError",
    "NotListed",
    "RecordError",
    "SqliteIssuanceRecord",
    "WrongRecordKey",
    "answer_enrolment",
    "create_key_file",
    "read_key_file",
    "read_record_key",
]
