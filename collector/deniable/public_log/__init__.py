"""The public log of a collector: every question that its authority ever signed, in order."""

from deniable.public_log.public_log import CHECKPOINT_PATH as CHECKPOINT_PATH
from deniable.public_log.public_log import PublicLog as PublicLog
from deniable.public_log.public_log import large_path as large_path
