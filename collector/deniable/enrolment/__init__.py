"""The issuer: an app's backend vouches that a device is one device, once per account and epoch.

``deniable.enrolment.routes`` mounts it in an aiohttp application; ``answer_enrolment`` does for any
other.
"""

from deniable.enrolment.errors import AnotherKey as AnotherKey
from deniable.enrolment.errors import IssuerError as IssuerError
from deniable.enrolment.errors import KeyFileError as KeyFileError
from deniable.enrolment.errors import NotListed as NotListed
from deniable.enrolment.errors import RecordError as RecordError
from deniable.enrolment.errors import WrongRecordKey as WrongRecordKey
from deniable.enrolment.exchange import EnrolmentAnswer as EnrolmentAnswer
from deniable.enrolment.exchange import answer_enrolment as answer_enrolment
from deniable.enrolment.issuer import Issuer as Issuer
from deniable.enrolment.key_file import create_key_file as create_key_file
from deniable.enrolment.key_file import read_key_file as read_key_file
from deniable.enrolment.key_file import read_record_key as read_record_key
from deniable.enrolment.record import IssuanceRecord as IssuanceRecord
from deniable.enrolment.sqlite_record import SqliteIssuanceRecord as SqliteIssuanceRecord
