"""Witnesses of logs: who cosigns a log's checkpoint only if it extends all that they saw of it.

C2SP tlog-witness, of which ``sign-subtree`` is left out: it needs ML-DSA-44. The server and the
client of publishers are the modules of these names, since they need aiohttp.
"""

from deniable.witnessing.errors import (
    NoAnswer,
    NotCosigned,
    WitnessDirectoryError,
    WitnessingError,
)
from deniable.witnessing.judgement import Cosigner, judge
from deniable.witnessing.submission import MAX_SUBMISSION_BYTES, Submission
from deniable.witnessing.witness_directory import WatchedLog, WitnessDirectory

__all__ = [
    "MAX_SUBMISSION_BYTES",
    "Cosigner",
    "NoAnswer",
    "NotCosigned",
    "Submission",
    "WatchedLog",
    "WitnessDirectory",
    "WitnessDirectoryError",
    "WitnessingError",
    "judge",
]
