"""The issuer: an app's backend vouches that a device is one device, once per account and epoch.

``deniable.enrolment.routes`` mounts it in an aiohttp application. Any other framework can use
``answer_enrolment``, or ``answer_token_request`` for a blind issuer.
"""

from deniable.enrolment.blind_issuer import BlindIssuer as BlindIssuer
from deniable.enrolment.blind_issuer import ended_moduli as ended_moduli
from deniable.enrolment.epoch_keys import EpochKeys as EpochKeys
from deniable.enrolment.epoch_keys import PublicKeys as PublicKeys
from deniable.enrolment.epoch_keys import create_epoch_keys as create_epoch_keys
from deniable.enrolment.issuer import EnrolmentAnswer as EnrolmentAnswer
from deniable.enrolment.issuer import Issuer as Issuer
from deniable.enrolment.issuer import answer_enrolment as answer_enrolment
from deniable.enrolment.issuer import answer_token_request as answer_token_request
from deniable.enrolment.record import AnotherKey as AnotherKey
from deniable.enrolment.record import IssuanceRecord as IssuanceRecord
from deniable.enrolment.record import IssuerError as IssuerError
from deniable.enrolment.record import NotListed as NotListed
from deniable.enrolment.record import RecordError as RecordError
from deniable.enrolment.record import SqliteIssuanceRecord as SqliteIssuanceRecord
from deniable.enrolment.record import WrongRecordKey as WrongRecordKey
from deniable.enrolment.record import read_record_key as read_record_key
from deniable.key_files import KeyFileError as KeyFileError
from deniable.key_files import create_key_file as create_key_file
from deniable.key_files import read_key_file as read_key_file
