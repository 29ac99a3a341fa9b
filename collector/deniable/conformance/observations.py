"""The observations of a scenario: all that was asked of a device, and all that it then sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from deniable.messages import Manifest, Refusal, SignedReport, split_upload

UPLOAD_PATH = "/v1/reports"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came, and when: by the device's clocks, which stood still meanwhile."""

    now: float
    elapsed: float
    since_start: float  # running seconds since the app's start
    device: str  # which of the scenario's states was open
    during: str  # the command that was being carried out
    consented: bool  # whether the user had agreed by then
    connection: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]  # by lower-case name, in order
    body: bytes = field(repr=False)
    relayed: bool = False  # sealed for the collector, and opened by its gateway

    @property
    def is_upload(self) -> bool:
        """Tell whether this request brings reports."""
        return self.method == "POST" and self.path == UPLOAD_PATH

    @property
    def survey(self) -> str:
        """Return the survey's name that a fetch is about; "" of others."""
        parts = self.path.split("/")
        return parts[3] if self.path.startswith("/v1/surveys/") and len(parts) > 3 else ""

    def header(self, name: str) -> str:
        """Return the values of a header."""
        return ", ".join(value for key, value in self.headers if key == name)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of ``report``: with an outcome of "" nobody knows, since the device was killed."""

    now: float
    device: str
    survey: str
    outcome: str
    epoch: int | None


class Sent(NamedTuple):
    """A report as it was sent once."""

    request: Request
    envelope: bytes
    signed: SignedReport
    manifest: Manifest  # that its survey id names

    @property
    def identity(self) -> tuple[str, bytes, int]:
        """Return device, survey and epoch, for which there is one draw in a life."""
        report = self.signed.report
        return self.request.device, report.survey_id, report.epoch


@dataclass
class Log:
    """The log of a scenario, in order."""

    requests: list[Request] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    manifests: dict[bytes, Manifest] = field(default_factory=dict)  # all that were signed, by id
    never: dict[bytes, str] = field(default_factory=dict)  # ids that must not be followed, and why

    @property
    def uploads(self) -> list[Request]:
        """Return the requests that bring reports."""
        return [request for request in self.requests if request.is_upload]

    def sent(self, name: str | None = None, device: str | None = None) -> list[Sent]:
        """Return the readable reports in the order in which they came, repeats included."""
        return [
            sent
            for request in self.uploads
            if device in {None, request.device}
            for sent in read_upload(request, self.manifests)
            if name in {None, sent.manifest.name}
        ]


def read_upload(request: Request, manifests: Mapping[bytes, Manifest]) -> Iterator[Sent]:
    """Yield the reports of an upload that can be read, and whose surveys are known."""
    try:
        envelopes = list(split_upload(request.body))
    except Refusal:
        return
    for envelope in envelopes:
        try:
            signed = SignedReport.from_envelope(envelope)
        except Refusal:
            continue
        if (manifest := manifests.get(signed.report.survey_id)) is not None:
            yield Sent(request, envelope, signed, manifest)
