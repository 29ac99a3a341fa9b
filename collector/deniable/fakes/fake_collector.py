"""A collector inside a test: on a real socket, with real signatures, and with faults on request."""

import os
import re
import threading
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Final, Self

from deniable.budget import NANO, epsilon_to_nano
from deniable.client import DAY, Survey
from deniable.client.clock import Clock, SystemClock
from deniable.counterparts.bodies import (
    pack_answer_to_upload,
    pack_manifests,
    split_upload,
)
from deniable.counterparts.loopback import Answer, Incoming, LoopbackServer
from deniable.counterparts.signing import sign_manifest
from deniable.fakes.behaviour import (
    JSON,
    AnyMisbehaviour,
    Misbehaviour,
    Receipts,
    ReceivedReport,
    ReceivedRequest,
    Route,
    misleading_answer,
    problem_answer,
)
from deniable.mechanisms import KINDS
from deniable.messages import (
    FRESH,
    RANDOMISED_RESPONSE,
    Enrolment,
    Manifest,
    Refusal,
    RefusalCode,
    Repeat,
    Schedule,
    SigningKey,
)
from deniable.planning.calibration import calibrated
from deniable.publishing.numbering import continued

_AUTHORITY_PATH: Final = "/v1/authority"
_MANIFESTS: Final = re.compile("/v1/surveys/([^/]+)/manifests")
_MEDIA_TYPE: Final = "application/msgpack"
_NO_ROTATIONS: Final = b"\x90"


class FakeCollector:
    """An in-process collector on an ephemeral port of 127.0.0.1, for tests of an app.

    It has its own authority, and accepts and refuses reports according to docs/protocol.md, until
    it is made to misbehave. Use it as a context manager::

        with FakeCollector() as collector:
            collector.publish(THEME)
            with Client(collector.origin, authority=collector.authority, ...) as client:

    Give the client the same ``clock`` to move both.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._requests: list[ReceivedRequest] = []
        self._server = LoopbackServer(self._receive)
        self._clock = clock or SystemClock()
        self._plan: list[tuple[AnyMisbehaviour, frozenset[Route]]] = []
        self._key = SigningKey(os.urandom(32))
        self._signed: dict[bytes, Manifest] = {}  # by survey id
        self._published: dict[str, list[Manifest]] = {}  # by name, the newest first
        self._receipts = Receipts(self._signed.get)
        self.origin = self._server.origin
        self.authority = self._key.public_key.hex()

    def publish(
        self,
        survey: Survey,
        *,
        epsilon: str | None = None,  # of one report; by default the highest accepted
        delta: str = "0",
        kind: str | None = None,  # randomised-response; for several questions, one-question
        settings: Mapping[str, object] | None = None,  # other keys of a survey file, of the
        # kind; a matrix as integers over 2^64, which publishing makes of probabilities
        repeat: Repeat = FRESH,
        start: int | None = None,  # start of epoch 0, Unix seconds; see below for the default
        epoch_seconds: int | None = None,  # by default a day, or more if the survey requires it
        epochs: int = 1,  # that devices may answer: they reserve the epsilon of all of them
        grace_seconds: int = DAY,
        enrolment: Enrolment | None = None,  # by default open; or a ``FakeIssuer``'s
    ) -> bytes:
        """Sign a manifest of this survey and offer it until its last epoch is over.

        Earlier manifests of the name continue beside it. The first begins now, with epoch 0. A
        later one begins, as with ``deniable survey publish``, when the newest one's current epoch
        ends, and continues its numbers; no device decides a number twice. With ``start``, epoch 0
        begins then, and a device may have to wait for a number.

        You can also publish what the device should refuse: another question (``replace(survey,
        question=...)``), a higher epsilon, or a survey that has ended, for an app that bundles it.

        Returns:
            The signed manifest, for an app to bundle: ``ClientSettings(manifests=[...])``.

        Raises:
            InvalidManifest: for invalid content.
        """
        stated = _decimal(survey) if epsilon is None else epsilon
        length = max(DAY, survey.min_epoch_seconds) if epoch_seconds is None else epoch_seconds
        keys = {**(settings or {})}
        categories = survey.categories
        if survey.dimensions:
            kind = kind or "one-question"
            keys["dimensions"] = survey.dimensions
            categories = KINDS[kind].labels(survey.dimensions)
        if survey.texts:
            kind, keys = kind or "strings", {"lengths": (2, 4, 6, 8, 10, 12), **keys}
        with self._changed:
            before = self._published.setdefault(survey.name, [])
            begin, first = start, 0
            if begin is None:
                now = self._clock.now()
                begin, first = continued(
                    [manifest.schedule for manifest in before], length, now, int(now)
                )
            manifest = Manifest(
                name=survey.name,
                sequence=before[0].sequence + 1 if before else 1,
                nonce=os.urandom(16),
                question=survey.question,
                categories=categories,
                epsilon=stated,
                delta=delta,
                schedule=Schedule(begin, length, first + epochs, grace_seconds),
                origin=self.origin,
                enrolment=enrolment or Enrolment(),
                minimum_reports=1,
                specification=calibrated(
                    kind or RANDOMISED_RESPONSE.kind, len(categories), stated, keys, repeat
                ),
                repeat=repeat,
            )
            before.insert(0, manifest)
            self._signed[manifest.survey_id] = manifest
            return sign_manifest(manifest, self._key)

    def misbehave(
        self, misbehaviour: AnyMisbehaviour, *, times: int = 1, on: Route | None = None
    ) -> None:
        """Misbehave at the next requests where this can happen, after earlier misbehaviours.

        With ``on``, only at uploads, or only at fetches of manifests.
        """
        if on is not None and on not in misbehaviour.routes:
            raise ValueError(f"{misbehaviour} cannot happen to {on}")
        with self._changed:
            self._plan += [(misbehaviour, frozenset({on}) if on else misbehaviour.routes)] * times

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Return all requests, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def reports(self) -> tuple[ReceivedReport, ...]:
        """Return the accepted reports, each once, in order of arrival."""
        with self._changed:
            return tuple(self._receipts.taken)

    def counts(self, survey: str) -> Mapping[str, int]:
        """Return the reports' counts of each response of a survey's manifests, newest first."""
        with self._changed:
            counted = Counter(report.response for report in self.reports if report.survey == survey)
            published = self._published.get(survey)
            if not published:
                raise KeyError(f"no survey {survey!r} is published")
            # For a design, which has many responses, only those that arrived.
            named = [
                manifest.responses for manifest in published if type(manifest.responses) is tuple
            ]
            return dict.fromkeys(chain(*named), 0) | counted

    def await_reports(self, count: int, timeout: float = 10.0) -> tuple[ReceivedReport, ...]:
        """Return the reports once there are this many; raise ``TimeoutError`` if too late."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._receipts.taken) >= count, timeout):
                came = len(self._receipts.taken)
                raise TimeoutError(
                    f"{came} of {count} reports arrived in {timeout} s, in {len(self._requests)} "
                    "requests; is consent on, and is delivery_seconds 0?"
                )
            return self.reports

    def close(self) -> None:
        """End every connection and free the port."""
        self._server.stop()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FakeCollector({self.origin!r}, reports={len(self._receipts.taken)})"

    def _receive(self, came: Incoming) -> Answer | None:
        return self._respond(ReceivedRequest(came.method, came.path, dict(came.headers), came.body))

    def _respond(self, request: ReceivedRequest) -> Answer | None:
        with self._changed:
            self._requests.append(request)
            misbehaviour = self._next_misbehaviour(request)
            answer = self._answer(request, misbehaviour)
            self._changed.notify_all()
        if misbehaviour is Misbehaviour.STALL:
            self._server.stopped.wait()
        return answer

    def _answer(
        self, request: ReceivedRequest, misbehaviour: AnyMisbehaviour | None
    ) -> Answer | None:
        """Return the answer to a request, and accept its reports; None if no answer is sent."""
        if misbehaviour is None:
            return self._honest_answer(request)
        if misbehaviour is Misbehaviour.CUT_AFTER_STORING:
            self._honest_answer(request)
        return misleading_answer(misbehaviour, _count(request.body))

    def _honest_answer(self, request: ReceivedRequest) -> Answer:
        """Return the answer of a correct collector; for an unknown route, it is not-found."""
        try:
            if (request.method, request.path) == ("POST", "/v1/reports"):
                return self._take(request)
            if (request.method, request.path) == ("GET", _AUTHORITY_PATH):
                return _signed(_NO_ROTATIONS)
            matched = _MANIFESTS.fullmatch(request.path)
            if request.method == "GET" and matched:
                return self._manifests(matched[1])
        except Refusal as refusal:
            return problem_answer(refusal.code, refusal.reason)
        return problem_answer(RefusalCode.NOT_FOUND, "this path does not exist")

    def _take(self, request: ReceivedRequest) -> Answer:
        headers = request.headers
        if headers.get("content-type") != _MEDIA_TYPE or "content-encoding" in headers:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_MEDIA_TYPE}, unencoded")
        taken = self._receipts.upload(request.body, self._clock.now())
        return Answer(200, pack_answer_to_upload(taken), JSON)

    def _manifests(self, name: str) -> Answer:
        """Return all manifests of a name that have not ended, newest first."""
        envelopes = [
            sign_manifest(manifest, self._key)
            for manifest in self._published.get(name, [])
            if self._clock.now() < manifest.schedule.end
        ]
        if not envelopes:
            raise Refusal(RefusalCode.NOT_FOUND, "no survey has this name")
        return _signed(pack_manifests(envelopes))

    def _next_misbehaviour(self, request: ReceivedRequest) -> AnyMisbehaviour | None:
        if request.path == _AUTHORITY_PATH:  # requested because of a manifest's misbehaviour
            return None
        route: Route = "uploads" if request.method == "POST" else "manifests"
        for index, (_, routes) in enumerate(self._plan):
            if route in routes:
                return self._plan.pop(index)[0]
        return None


def _decimal(survey: Survey) -> str:
    """Return the highest epsilon that a survey accepts, in a manifest's form, rounded down."""
    whole, part = divmod(epsilon_to_nano("max_epsilon", survey.max_epsilon), NANO)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def _count(body: bytes) -> int:
    try:
        return len(list(split_upload(body)))
    except Refusal:
        return 1


def _signed(body: bytes) -> Answer:
    return Answer(200, body, (("content-type", _MEDIA_TYPE),))
