"""The observations of a scenario, and the acts that always convict a device: no I/O."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from deniable.counterparts.bodies import split_upload
from deniable.counterparts.signing import verify_signature
from deniable.messages import Manifest, Refusal, SignedReport, day_text

UPLOAD_PATH = "/v1/reports"


@dataclass(frozen=True, slots=True)
class Request:
    """A received request with its time by the device's clocks, which stopped meanwhile."""

    now: float
    since_start: float  # running seconds since the app's start
    device: str  # which of the scenario's states was open
    during: str  # the command in progress
    consented: bool  # whether the user had consented by then
    connection: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]  # by lower-case name, in order
    body: bytes = field(repr=False)

    @property
    def is_upload(self) -> bool:
        """Return whether this request is an upload of reports."""
        return self.method == "POST" and self.path == UPLOAD_PATH

    @property
    def survey(self) -> str:
        """Return the survey's name in a fetch; "" for other requests."""
        parts = self.path.split("/")
        return parts[3] if self.path.startswith("/v1/surveys/") and len(parts) > 3 else ""

    def header(self, name: str) -> str:
        """Return the values of a header."""
        return ", ".join(value for key, value in self.headers if key == name)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of ``report``; the outcome "" means unknown, since the device was killed."""

    now: float
    device: str
    survey: str
    outcome: str
    epoch: int | None


class Sent(NamedTuple):
    """One send of a report."""

    request: Request
    envelope: bytes
    signed: SignedReport
    manifest: Manifest  # the manifest of its survey id

    @property
    def identity(self) -> tuple[str, bytes, int]:
        """Return device, survey and epoch, which allow one draw in a device's life."""
        report = self.signed.report
        return self.request.device, report.survey_id, report.epoch


class Conviction(NamedTuple):
    """A broken rule, and the observation that proves it."""

    rule: str
    seen: str


@dataclass
class Log:
    """The log of a scenario, in order."""

    requests: list[Request] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    manifests: dict[bytes, Manifest] = field(default_factory=dict)  # all signed manifests, by id
    never: dict[bytes, str] = field(default_factory=dict)  # ids not to be followed, with reasons

    @property
    def uploads(self) -> list[Request]:
        """Return the requests that upload reports."""
        return [request for request in self.requests if request.is_upload]

    def sent(self, name: str | None = None, device: str | None = None) -> list[Sent]:
        """Return the readable reports in order of arrival, repeats included."""
        return [
            sent
            for request in self.uploads
            if device in {None, request.device}
            for sent in read_upload(request, self.manifests)
            if name in {None, sent.manifest.name}
        ]


def read_upload(request: Request, manifests: Mapping[bytes, Manifest]) -> Iterator[Sent]:
    """Yield the readable reports of an upload, for known surveys."""
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


MOST_SENDS: Final = 6
MOST_FETCHES: Final = 8
_DAY: Final = 86_400
_SLACK: Final = 1.0
_PATHS: Final = ("/v1/surveys/", "/v1/authority", "/v1/reports", "/v1/gateway")
_WHOLE: Final = re.compile(r"/v1/(surveys/[^/?#;]+/manifests?|authority|reports|gateway[a-z/-]*)")
_TELLING: Final = ("cookie", "if-none-match", "if-modified-since", "authorization", "from")
_OF_ONE_DRAW: Final = frozenset({"D3", "D4", "D5"})


def convictions(log: Log, rule: str, *, steady: bool) -> Iterator[Conviction]:
    """Yield the convictions that follow from a log.

    Args:
        log: the observations.
        rule: the rule that a second draw breaks; D3 if it is not about draws.
        steady: whether the device's clocks ran evenly.
    """
    sent = log.sent()
    yield from _draws(sent, rule if rule in _OF_ONE_DRAW else "D3")
    yield from _followed(sent, log)
    yield from _calls(log)
    yield from _reports(log, sent)
    yield from _requests(log)
    yield from _sends(sent, steady=steady)
    yield from _fetches(log)


def _draws(sent: list[Sent], rule: str) -> Iterator[Conviction]:
    """Check that each epoch of a name is reported once, in one signed message."""
    envelopes: dict[tuple[str, bytes, int], set[bytes]] = defaultdict(set)
    spans: dict[tuple[str, str], set[tuple[int, int, bytes, int]]] = defaultdict(set)
    for one in sent:
        envelopes[one.identity].add(one.envelope)
        epoch, schedule = one.signed.report.epoch, one.manifest.schedule
        begins = schedule.start + epoch * schedule.epoch_seconds
        span = begins, begins + schedule.epoch_seconds, one.manifest.survey_id, epoch
        spans[one.request.device, one.manifest.name].add(span)
    for (_, survey_id, epoch), drawn in envelopes.items():
        if len(drawn) > 1:
            name = next(one.manifest.name for one in sent if one.identity[1] == survey_id)
            yield Conviction(rule, f"{len(drawn)} different reports for {name!r}, epoch {epoch}")
    for (_, name), of_name in spans.items():
        in_order = sorted(of_name)
        for first, second in pairwise(in_order):
            if second[0] < first[1] and first[2] != second[2]:
                yield Conviction(rule, f"reports to two manifests of {name!r} overlap in time")


def _followed(sent: list[Sent], log: Log) -> Iterator[Conviction]:
    for survey_id, why in log.never.items():
        if any(one.manifest.survey_id == survey_id for one in sent):
            rule, _, how = why.partition(": ")
            yield Conviction(rule, f"a report was sent for a survey {how}")


def _calls(log: Log) -> Iterator[Conviction]:
    if any(request.during == "report" for request in log.requests):
        yield Conviction("D6", "a request arrived during the call of report")
    if any(not request.consented for request in log.requests):
        yield Conviction("D7", "a request arrived although the user had not agreed")
    if any(request.during == "open" for request in log.requests):
        yield Conviction("D7", "a request arrived while the app was starting")


def _reports(log: Log, sent: list[Sent]) -> Iterator[Conviction]:
    for request in log.uploads:
        try:
            envelopes = list(split_upload(request.body))
            for envelope in envelopes:
                signed = SignedReport.from_envelope(envelope)
                verify_signature(signed)
                if signed.report.survey_id not in log.manifests:
                    yield Conviction("report", "a report with a survey id that no manifest has")
        except Refusal as refusal:
            yield Conviction("report", f"an upload that is refused: {refusal}")
            continue
        if len(envelopes) > 1:
            yield Conviction("D7", f"{len(envelopes)} reports in one request")
        if request.header("content-type") != "application/msgpack":
            yield Conviction("report", "an upload whose Content-Type is not application/msgpack")
        if request.header("content-encoding"):
            yield Conviction("report", "an upload with a Content-Encoding")
    keys: dict[bytes, set[tuple[str, bytes, int]]] = defaultdict(set)
    for one in sent:
        keys[one.signed.public_key].add(one.identity)
        report, manifest = one.signed.report, one.manifest
        in_domain = report.response < manifest.mechanism.responses
        if not (in_domain and report.epoch < manifest.schedule.epochs):
            yield Conviction("report", "a report with a response or epoch that the survey lacks")
        if one.signed.credential is not None:
            yield Conviction("report", "a credential in a report for an open survey")
        if not any(
            call.survey == manifest.name
            and call.outcome in {"", "recorded"}
            and call.epoch in {None, report.epoch}
            for call in log.calls
        ):
            yield Conviction("report", f"a report of {manifest.name!r} that was never recorded")
    if any(len({(survey, epoch) for _, survey, epoch in used}) > 1 for used in keys.values()):
        yield Conviction("report", "one key signed reports for several surveys or epochs")
    if any(len({device for device, _, _ in used}) > 1 for used in keys.values()):
        yield Conviction("D5", "a copy of the state used the device's own key")


def _requests(log: Log) -> Iterator[Conviction]:
    agents = {request.header("user-agent") for request in log.requests}
    if len(agents) > 1:
        yield Conviction("D7", f"several User-Agents: {sorted(agents)}")
    for name in _TELLING:
        if any(request.header(name) for request in log.requests):
            yield Conviction("D7", f"a request with the header {name}")
    strange = {r.path for r in log.requests if not r.path.startswith(_PATHS)}
    if strange:
        yield Conviction("D8", f"a request for {min(strange)}, which is not a path of the protocol")
    longer = {r.path for r in log.requests if not _WHOLE.fullmatch(r.path)} - strange
    if longer:
        yield Conviction("D7", f"a request for {min(longer)}, longer than the protocol's paths")


def _sends(sent: list[Sent], *, steady: bool) -> Iterator[Conviction]:
    times: dict[tuple[str, bytes, int], list[float]] = defaultdict(list)
    for one in sent:
        times[one.identity].append(one.request.now)
    for (_, _, epoch), at in times.items():
        if len(at) > MOST_SENDS:
            yield Conviction("D8", f"a report of epoch {epoch} was sent {len(at)} times")
        gaps = [later - earlier for earlier, later in pairwise(at[1:])]
        if steady and gaps and min(gaps) < _DAY - _SLACK:
            hours = min(gaps) / 3600
            yield Conviction(
                "D8", f"a third or later send came {hours:.2f} hours after the previous send"
            )


def _fetches(log: Log) -> Iterator[Conviction]:
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for request in log.requests:
        if request.method == "GET" and request.survey:
            day = day_text(request.now)
            counts[request.device, request.survey, day] += 1
    worst = max(counts.values(), default=0)
    if worst > MOST_FETCHES:
        yield Conviction("D10", f"{worst} requests for the manifests of one survey in a day")
