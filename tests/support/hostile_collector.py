"""A collector that answers anything at any time, and remembers all that it was ever sent."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from deniable.client import HttpAnswer, TransportError
from deniable.counterparts.bodies import pack_manifests, split_upload
from deniable.counterparts.signing import sign_manifest, verify_signature
from deniable.messages import Manifest, RefusalCode, SignedReport, SigningKey
from tests.support.clock import FakeClock
from tests.support.devices import PORTAL, dated, judged, problem
from tests.support.surveys import AUTHORITY
from tests.support.transports import Call, TransportDouble

_NOT_FOUND = HttpAnswer(404, {"content-type": "text/html"}, b"<h1>Not Found</h1>")
_STRANGER = SigningKey(b"a stranger's seed of the tests 1")
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

FETCHES: tuple[str, ...] = ("served", "several", "portal", "missing", "unreachable", "forged")
"""What may become of a fetch: the latest manifest is served, or the latest few, or none."""
_SEVERAL = 4


class SkewedClock(FakeClock):
    """A device's clock that is wrong by an offset; only the offset jumps, true time never does."""

    offset = 0.0

    def now(self) -> float:
        return self.time + self.offset


@dataclass
class Told:
    """What the collector was sent of one survey's epoch, and what it said of it."""

    envelopes: set[bytes] = field(default_factory=set)  # the distinct bytes of its uploads
    codes: set[RefusalCode] = field(default_factory=set)  # every code that it refused them with
    counted: bool = False  # whether it ever said that it has the report


class HostileCollector(TransportDouble):
    """A transport to a collector whose operator holds the authority's key and follows no rule.

    Args:
        clock: whose true time it goes by when it is honest.
        gate: called with the path before each request; raises if there must be none.
    """

    def __init__(self, clock: FakeClock, gate: Callable[[str], None]) -> None:
        self.fate = "honest"  # what becomes of the next uploads, one of FATES
        self.fetch = "served"  # what becomes of fetches, one of FETCHES
        self.served: list[Manifest] = []  # those that it handed out, in order
        self.manifests: dict[bytes, Manifest] = {}  # every manifest it ever signed, by id
        self.published: dict[str, Manifest] = {}  # the latest that it signed, by name
        self.told: defaultdict[tuple[bytes, int], Told] = defaultdict(Told)  # by (survey id, epoch)
        self._clock = clock
        self._gate = gate
        self._receipts: dict[tuple[bytes, int, bytes], bytes] = {}

    def publish(self, manifest: Manifest) -> None:
        """Serve this manifest from now on."""
        self.manifests[manifest.survey_id] = manifest
        self.published[manifest.name] = manifest

    def respond(self, call: Call) -> HttpAnswer:
        self._gate(call.path)
        call.stands()
        if call.path == "/v1/authority":
            return HttpAnswer(200, {}, b"\x90")
        if call.method == "GET":
            return dated(self._serve(call.path.split("/")[3]), self._clock.time)
        (envelope,) = split_upload(call.body)
        answer = self._answer(*self._receive(envelope))
        assert len(answer.body) <= call.most
        return answer

    def _receive(self, envelope: bytes) -> tuple[SignedReport, Told]:
        signed = SignedReport.from_envelope(envelope)
        verify_signature(signed)
        told = self.told[signed.report.survey_id, signed.report.epoch]
        told.envelopes.add(envelope)
        return signed, told

    def _serve(self, name: str) -> HttpAnswer:
        if self.fetch == "unreachable":
            raise TransportError("cut")
        if self.fetch in {"portal", "missing"}:
            return PORTAL if self.fetch == "portal" else _NOT_FOUND
        ours = [manifest for manifest in self.manifests.values() if manifest.name == name]
        latest = ours[: -_SEVERAL - 1 : -1] if self.fetch == "several" else ours[-1:]
        if self.fetch == "forged":
            return _manifests_answer(latest, _STRANGER)
        self.served += latest
        return _manifests_answer(latest, AUTHORITY)

    def _answer(self, signed: SignedReport, told: Told) -> HttpAnswer:
        kind, _, code = self.fate.partition(":")
        if kind in {"refused", "problem"}:
            told.codes.add(RefusalCode(code))
        if kind == "refused":
            return _upload_answer(RefusalCode(code))
        if kind == "problem":
            return problem(RefusalCode(code), retry_after="7")
        if kind in {"honest", "swallowed"}:
            verdict = self._judge(signed, told)
            if kind == "honest":
                return _upload_answer(verdict)
        if kind == "portal":
            return PORTAL
        if kind == "proxy":
            return _NOT_FOUND
        if kind == "nonsense":
            sums = {"accepted": 1, "duplicates": 1, "refused": []}
            return HttpAnswer(200, {"content-type": "application/json"}, json.dumps(sums).encode())
        if kind == "redirect":
            return HttpAnswer(302, {"location": "https://login.example/"}, b"")
        raise TransportError("cut")

    def _judge(self, signed: SignedReport, told: Told) -> RefusalCode | str:
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
            verdict = "duplicate" if told.counted else "accepted"
            told.counted = True
            return verdict
        told.codes.add(code)
        return code


def _manifests_answer(manifests: list[Manifest], signer: SigningKey) -> HttpAnswer:
    envelopes = [sign_manifest(manifest, signer) for manifest in manifests]
    return HttpAnswer(200, {}, pack_manifests(envelopes))


def _upload_answer(verdict: RefusalCode | str) -> HttpAnswer:
    if isinstance(verdict, RefusalCode):
        return judged(0, 0, (0, verdict), retry_after="999999")
    taken = (1, 0) if verdict == "accepted" else (0, 1)
    return judged(*taken, retry_after="999999")
