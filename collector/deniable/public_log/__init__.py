"""The public log of a collector: every question that its authority ever signed, in order."""

from deniable.public_log.copies import files_at as files_at
from deniable.public_log.copies import read_log as read_log
from deniable.public_log.copies import write_files as write_files
from deniable.public_log.errors import LogForked as LogForked
from deniable.public_log.errors import LogKeyMissing as LogKeyMissing
from deniable.public_log.errors import LogRolledBack as LogRolledBack
from deniable.public_log.errors import PublicLogError as PublicLogError
from deniable.public_log.log_key import find_log_key as find_log_key
from deniable.public_log.log_key import keep_record as keep_record
from deniable.public_log.log_key import log_key_file as log_key_file
from deniable.public_log.log_key import read_record as read_record
from deniable.public_log.log_key import record_file as record_file
from deniable.public_log.log_key import verifier_key as verifier_key
from deniable.public_log.log_key import write_record as write_record
from deniable.public_log.public_log import CHECKPOINT_PATH as CHECKPOINT_PATH
from deniable.public_log.public_log import PublicLog as PublicLog
from deniable.public_log.public_log import entries_text as entries_text
from deniable.public_log.public_log import large_path as large_path
from deniable.public_log.publisher import Publisher as Publisher
from deniable.public_log.recovering import recover as recover
from deniable.public_log.recovering import replace_key as replace_key
from deniable.public_log.witnesses import Answer as Answer
from deniable.public_log.witnesses import Witnesses as Witnesses
from deniable.public_log.witnesses import ask as ask
from deniable.public_log.witnesses import cosign as cosign
