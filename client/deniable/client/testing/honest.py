"""An honest collector in memory: it signs manifests, checks reports and answers devices."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from deniable.client import HttpAnswer
from deniable.client.clock import Clock
from deniable.client.testing.fake_log import FakeLog
from deniable.client.testing.loopback import ReceivedRequest
from deniable.client.testing.misbehaviour import Misbehaviour, problem_answer
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    Manifest,
    Refusal,
    RefusalCode,
    Rotation,
    SignedReport,
    SigningKey,
    UploadAnswer,
    pack_manifests,
    pack_rotations,
    sign_manifest,
    sign_rotation,
    split_upload,
)
from deniable.messages.admissible import check_report
from deniable.messages.gateway import GATEWAY_KEYS_PATH, GatewayKeys, sign_gateway_keys

AUTHORITY_PATH: Final = "/v1/authority"
_MEDIA_TYPE: Final = "application/msgpack"
_MANIFESTS: Final = re.compile("/v1/surveys/([^/]+)/manifest(s?)")


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """A report that the collector took."""

    survey: str  # the survey's name
    epoch: int
    response: str = field(repr=False)  # what it names, which only chance relates to the answer


class FakeAuthority:
    """A key of its own, every manifest that it ever signed, and the log of all that it signs."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self._key = SigningKey(os.urandom(32))
        self.signed: dict[bytes, Manifest] = {}  # by survey id
        self.published: dict[str, list[Manifest]] = {}  # by name, the newest first
        self.public_key = self._key.public_key.hex()  # the first key's, however often it is rotated
        self.rotations: list[bytes] = []

    def publish(self, manifest: Manifest) -> bytes:
        """Sign a manifest as the newest of its name; return the envelope."""
        self.published.setdefault(manifest.name, []).insert(0, manifest)
        return self.sign(manifest)

    def sign(self, manifest: Manifest) -> bytes:
        """Return a manifest's envelope; a device may follow it from now on."""
        self.signed[manifest.survey_id] = manifest
        return sign_manifest(manifest, self._key)

    def rotate(self) -> None:
        """Hand over to a new key, which signs from now on."""
        old, self._key = self._key, SigningKey(os.urandom(32))
        sequence = len(self.rotations) + 1
        rotation = Rotation(old.public_key, self._key.public_key, sequence)
        self.rotations.append(sign_rotation(rotation, old, self._key))

    def sign_keys(self, keys: GatewayKeys) -> bytes:
        """Return the envelope of a gateway's keys, and its proof."""
        return self.log.logged(sign_gateway_keys(keys, self._key))

    def forge(self, misbehaviour: Misbehaviour, published: Manifest) -> bytes:
        """Return the envelope of another manifest than the published one: one of ``FORGERIES``."""
        other = replace(published, nonce=os.urandom(16))
        if misbehaviour is Misbehaviour.WRONG_SIGNATURE:
            return sign_manifest(other, SigningKey(os.urandom(32)))
        if misbehaviour is Misbehaviour.WRONG_ORIGIN:
            return self.sign(replace(other, origin="https://elsewhere.example"))
        if misbehaviour is Misbehaviour.ROLLED_BACK:
            return self.sign(replace(other, sequence=published.sequence - 1))
        return self.sign(other)  # with the same sequence: an equivocation


class Receipts:
    """The reports that were taken, as they came: the first of each identity wins.

    The checks are the collector's own, in the protocol's order.
    """

    def __init__(self, known_survey: Callable[[bytes], Manifest | None]) -> None:
        self._known_survey = known_survey
        self._payloads: dict[tuple[bytes, int, bytes], bytes] = {}
        self.taken: list[ReceivedReport] = []

    def upload(self, body: bytes, now: float) -> UploadAnswer:
        """Judge and take what an upload holds.

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
        first = self._payloads.setdefault(identity, signed.payload)
        if first != signed.payload:
            raise Refusal(RefusalCode.REPORT_CONFLICT, "this key has made another report")
        if first is not signed.payload:
            return False
        response = manifest.responses[report.response]
        self.taken.append(ReceivedReport(manifest.name, report.epoch, response))
        return True


class Routes:
    """``GET`` of manifests, rotations and gateway keys, and ``POST /v1/reports``."""

    def __init__(
        self, authority: FakeAuthority, receipts: Receipts, clock: Clock, keys: GatewayKeys
    ) -> None:
        self._authority = authority
        self._receipts = receipts
        self._clock = clock
        self._keys = keys

    def answer(self, request: ReceivedRequest) -> HttpAnswer:
        """Answer any request honestly; one of no route is not-found."""
        try:
            if (request.method, request.path) == ("POST", "/v1/reports"):
                return self._take(request)
            if (request.method, request.path) == ("GET", AUTHORITY_PATH):
                rotations = self._authority.rotations
                return _signed(pack_rotations(rotations, self._proofs(rotations)))
            if (request.method, request.path) == ("GET", GATEWAY_KEYS_PATH):
                return _signed(self._authority.sign_keys(self._keys))
            matched = _MANIFESTS.fullmatch(request.path)
            if request.method == "GET" and matched:
                return self._serve(matched[1], bool(matched[2]), request)
        except Refusal as refusal:
            return problem_answer(refusal.code, refusal.reason)
        return problem_answer(RefusalCode.NOT_FOUND, "there is nothing at this path")

    def forged(self, misbehaviour: Misbehaviour, request: ReceivedRequest) -> HttpAnswer:
        """Answer a request for manifests with a forgery of the newest."""
        matched = _MANIFESTS.fullmatch(request.path)
        published = self._authority.published.get(matched[1]) if matched else None
        if not matched or not published:
            return problem_answer(RefusalCode.NOT_FOUND, "there is nothing to forge")
        forged = self._authority.forge(misbehaviour, published[0])
        return _signed(pack_manifests([forged], self._proofs([forged])) if matched[2] else forged)

    def _proofs(self, envelopes: Iterable[bytes]) -> list[bytes]:
        return [self._authority.log.proof(envelope) for envelope in envelopes]

    def _take(self, request: ReceivedRequest) -> HttpAnswer:
        headers = request.headers
        if headers.get("content-type") != _MEDIA_TYPE or "content-encoding" in headers:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_MEDIA_TYPE}, as it is")
        if len(request.body) > MAX_UPLOAD_BYTES:
            raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_UPLOAD_BYTES} bytes a request")
        taken = self._receipts.upload(request.body, self._clock.now())
        return HttpAnswer(200, {"content-type": "application/json"}, taken.to_json())

    def _serve(self, name: str, every: bool, request: ReceivedRequest) -> HttpAnswer:
        """Serve every manifest that has not ended, as devices ask, or the newest."""
        published = self._authority.published.get(name, [])
        if every:
            published = [
                manifest for manifest in published if self._clock.now() < manifest.schedule.end
            ]
        if not published:
            raise Refusal(RefusalCode.NOT_FOUND, "no survey has this name")
        envelopes = [self._authority.sign(manifest) for manifest in published]
        if every:
            return _signed(pack_manifests(envelopes, self._proofs(envelopes)))
        tag = f'"{published[0].survey_id.hex()}"'
        if request.headers.get("if-none-match") == tag:
            return HttpAnswer(304, {"etag": tag}, b"")
        return _signed(envelopes[0], etag=tag)


def _signed(body: bytes, **headers: str) -> HttpAnswer:
    return HttpAnswer(200, {"content-type": _MEDIA_TYPE, **headers}, body)
