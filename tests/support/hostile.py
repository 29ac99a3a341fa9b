"""A collector that answers anything at any time, and remembers all that it was ever sent."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from deniable.client import HttpAnswer, TransportError
from deniable.messages import Manifest, RefusalCode, SignedReport, sign_manifest
from tests.support.clock import FakeClock
from tests.support.devices import (
    ACCEPTED,
    DUPLICATE,
    PORTAL,
    problem,
    read_upload,
    refused,
)
from tests.support.surveys import AUTHORITY

FATES: tuple[str, ...] = (
    "honest",
    "unreachable",
    "swallowed",  # counted, and the answer lost
    "portal",
    "proxy",
    "nonsense",
    "redirect",
    *(f"refused:{code.value}" for code in RefusalCode),
    *(f"problem:{code.value}" for code in RefusalCode if code.http_status),
)
"""What may become of an upload."""


class SkewedClock(FakeClock):
    """A device's clock that is wrong by an offset; only the offset jumps, true time never does."""

    offset = 0.0

    def now(self) -> float:
        return self.time + self.offset


@dataclass
class Told:
    """What the collector was sent of one survey's epoch, and what it said of it.

    Attributes:
        reports: distinct (public key, payload) pairs.
        codes: every code that it refused them with.
        counted: whether it ever said that it has the report.
    """

    reports: set[tuple[bytes, bytes]] = field(default_factory=set)
    codes: set[RefusalCode] = field(default_factory=set)
    counted: bool = False


class HostileCollector:
    """A transport to a collector whose operator holds the authority's key and follows no rule.

    Attributes:
        fate: what becomes of the next uploads, one of FATES.
        fetch: what becomes of fetches: served, portal, missing or unreachable.
        manifests: every manifest it ever signed, by id.
        published: the one it serves, by name.
        told: by (survey id, epoch).
        listening: false while nobody consents; a request is a fault then.

    Args:
        clock: whose true time it goes by when it is honest.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.fate = "honest"
        self.fetch = "served"
        self.listening = True
        self.manifests: dict[bytes, Manifest] = {}
        self.published: dict[str, Manifest] = {}
        self.told: defaultdict[tuple[bytes, int], Told] = defaultdict(Told)
        self._clock = clock
        self._receipts: dict[tuple[bytes, int, bytes], bytes] = {}

    def publish(self, manifest: Manifest) -> None:
        """Serve this manifest from now on."""
        self.manifests[manifest.survey_id] = manifest
        self.published[manifest.name] = manifest

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
    ) -> HttpAnswer:
        assert self.listening, "a request without consent"
        if path == "/v1/authority":
            return HttpAnswer(200, {}, b"\x90")
        if method == "GET":
            return self._serve(path.split("/")[3], headers)
        signed = read_upload(body)
        told = self.told[signed.report.survey_id, signed.report.epoch]
        told.reports.add((signed.public_key, signed.payload))
        answer = self._answer(signed, told)
        assert len(answer.body) <= most
        return answer

    def _serve(self, name: str, headers: Mapping[str, str]) -> HttpAnswer:
        if self.fetch == "unreachable":
            raise TransportError("cut")
        if self.fetch == "portal":
            return PORTAL
        manifest = self.published.get(name)
        if manifest is None or self.fetch == "missing":
            return HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>")
        if headers.get("If-None-Match") == f'"{manifest.survey_id.hex()}"':
            return HttpAnswer(304, {}, b"")
        return HttpAnswer(200, {}, sign_manifest(manifest, AUTHORITY))

    def _answer(self, signed: SignedReport, told: Told) -> HttpAnswer:
        kind, _, code = self.fate.partition(":")
        if kind == "refused":
            told.codes.add(RefusalCode(code))
            return refused(RefusalCode(code), retry_after="999999")
        if kind == "problem":
            told.codes.add(RefusalCode(code))
            return problem(RefusalCode(code), retry_after="7")
        if kind in {"honest", "swallowed"}:
            answer = self._judge(signed, told)
            if kind == "honest":
                return answer
        if kind == "portal":
            return PORTAL
        if kind == "proxy":
            return HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>")
        if kind == "nonsense":
            sums = {"accepted": 1, "duplicates": 1, "refused": []}
            return HttpAnswer(200, {"content-type": "application/json"}, json.dumps(sums).encode())
        if kind == "redirect":
            return HttpAnswer(302, {"location": "https://login.example/"}, b"")
        raise TransportError("cut")

    def _judge(self, signed: SignedReport, told: Told) -> HttpAnswer:
        report = signed.report
        schedule = self.manifests[report.survey_id].schedule
        if self._clock.time < schedule.opens(report.epoch):
            code = RefusalCode.TOO_EARLY
        elif self._clock.time >= schedule.closes(report.epoch):
            code = RefusalCode.EPOCH_CLOSED
        else:
            identity = (report.survey_id, report.epoch, signed.public_key)
            known = self._receipts.setdefault(identity, signed.payload)
            assert known == signed.payload, "one key signed two responses"
            answer = DUPLICATE if told.counted else ACCEPTED
            told.counted = True
            return answer
        told.codes.add(code)
        return refused(code)
