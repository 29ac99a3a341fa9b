"""What a collector takes, in memory: the protocol's checks in the protocol's order.

Size, form, key, survey, epoch, domain, signature, credential, receipt: each fault has one code. The
checks are the collector's own; the vectors that pin it pin what is before and after them as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from deniable.messages import (
    Manifest,
    Refusal,
    RefusalCode,
    SignedReport,
    UploadAnswer,
    split_upload,
)
from deniable.messages.admissible import check_report

__all__ = ["Receipts", "ReceivedReport"]


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """A report that the collector took.

    Attributes:
        survey: the survey's name.
        epoch: which time slice it is for.
        response: the category that it names, which only chance relates to the answer; left out of
            the repr.
    """

    survey: str
    epoch: int
    response: str = field(repr=False)


class Receipts:
    """The reports that were taken: the first of each identity wins.

    Args:
        known_survey: looks up a published survey by its id.

    Attributes:
        taken: in the order in which they came.
    """

    def __init__(self, known_survey: Callable[[bytes], Manifest | None]) -> None:
        self._known_survey = known_survey
        self._payloads: dict[tuple[bytes, int, bytes], bytes] = {}
        self.taken: list[ReceivedReport] = []

    def upload(self, body: bytes, now: float) -> UploadAnswer:
        """Judge and take what an upload holds.

        Args:
            body: of the request.
            now: Unix seconds.

        Raises:
            Refusal: too-large or malformed, for the body as a whole.
        """
        accepted = duplicates = 0
        refused: list[tuple[int, RefusalCode]] = []
        for index, envelope in enumerate(split_upload(body)):
            try:
                new = self.add(envelope, now)
            except Refusal as refusal:
                refused.append((index, refusal.code))
            else:
                accepted += new
                duplicates += not new
        return UploadAnswer(accepted, duplicates, tuple(refused))

    def add(self, envelope: bytes, now: float) -> bool:
        """Judge and take one report; return whether it is new.

        Raises:
            Refusal: with the code of the first check that it fails.
        """
        signed = SignedReport.from_envelope(envelope)
        report = signed.report
        manifest = self._known_survey(report.survey_id)
        if manifest is None:
            raise Refusal(RefusalCode.UNKNOWN_SURVEY, "no such survey is published here")
        check_report(signed, manifest, now)
        identity = (report.survey_id, report.epoch, signed.public_key)
        first = self._payloads.get(identity)
        if first is None:
            self._payloads[identity] = signed.payload
            response = manifest.categories[report.response]
            self.taken.append(ReceivedReport(manifest.name, report.epoch, response))
        elif first != signed.payload:
            raise Refusal(RefusalCode.REPORT_CONFLICT, "this key has made another report")
        return first is None
