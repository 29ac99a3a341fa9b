"""Signed reports of simulated devices, as the requests that a collector gets."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.load import http_request
from benchmarks.servers import run_command
from benchmarks.surveys import ORIGIN
from deniable.messages import Report, SignedReport, pack_upload, sign_report

BATCH: Final = 100
"""Reports in a request of many."""

SURVEY_NAME: Final = "benchmark"
_SURVEY: Final = """\
name = "benchmark"
question = "Which one?"
categories = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
epsilon = "1"
epoch = "1 week"
epochs = 1
minimum_reports = 1
"""


@dataclass(frozen=True, slots=True)
class Uploads:
    """Requests that are the same in every round.

    Attributes:
        singles: requests of one report.
        batches: requests of :data:`BATCH` other reports.
        reports: the reports of the singles, read.
    """

    singles: Sequence[bytes]
    batches: Sequence[bytes]
    reports: Sequence[SignedReport]


def make_collector(directory: Path) -> bytes:
    """Make a collector that publishes a survey; return the survey's id."""
    run_command("init", directory, "--origin", ORIGIN, "--port", "0")
    survey = directory.with_name("survey.toml")
    survey.write_text(_SURVEY, "utf-8")
    settings = directory / "collector.toml"
    # All the load comes from one address; who reads the histogram has no token.
    written = settings.read_text("utf-8") + f'address_rate = 0\npublic = ["{SURVEY_NAME}"]\n'
    settings.write_text(written, "utf-8")
    published = run_command("survey", "publish", survey, "--dir", directory)
    (survey_id,) = re.findall(r"\b[0-9a-f]{64}\b", published)
    return bytes.fromhex(survey_id)


def sign_uploads(survey_id: bytes, singles: int, batches: int) -> Uploads:
    """Sign the reports of as many devices as the requests need."""
    envelopes = [
        sign_report(os.urandom(32), Report(survey_id, 0, number % 16))
        for number in range(singles + batches * BATCH)
    ]
    alone, together = envelopes[:singles], envelopes[singles:]
    return Uploads(
        [http_request(pack_upload([envelope])) for envelope in alone],
        [
            http_request(pack_upload(together[first : first + BATCH]))
            for first in range(0, len(together), BATCH)
        ],
        [SignedReport.from_envelope(envelope) for envelope in alone],
    )
