"""A collector inside a test: on a real socket, with real signatures, and bad manners on request."""

import os
import socket
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from deniable.budget import NANO, epsilon_to_nano
from deniable.client import DAY, Survey
from deniable.client.clock import Clock, SystemClock
from deniable.client.testing.fake_log import FakeLog
from deniable.client.testing.fake_relay import FakeGateway
from deniable.client.testing.honest import (
    AUTHORITY_PATH,
    FakeAuthority,
    Receipts,
    ReceivedReport,
    Routes,
)
from deniable.client.testing.loopback import (
    LoopbackServer,
    ReceivedRequest,
    drip,
    pack_answer,
)
from deniable.client.testing.misbehaviour import (
    FORGERIES,
    AnyMisbehaviour,
    Misbehaviour,
    Route,
    misleading_answer,
)
from deniable.mechanisms import KINDS
from deniable.messages import (
    FRESH,
    RANDOMISED_RESPONSE,
    Enrolment,
    Manifest,
    Refusal,
    Repeat,
    Schedule,
    Specification,
    split_upload,
)
from deniable.messages.gateway import GATEWAY_KEYS_PATH, GatewayKeys
from deniable.messages.numbering import continued


class FakeCollector:
    """An in-process collector on an ephemeral port of 127.0.0.1, for tests of an app.

    It has an authority of its own, and takes and refuses reports as docs/protocol.md says, until it
    is told to misbehave. Use it as a context manager::

        with FakeCollector() as collector:
            collector.publish(THEME)
            with Client(collector.origin, authority=collector.authority, ...) as client:

    Give the client the same ``clock`` to move both. All that it signs is in its ``log``, whose
    ``log.policy`` an app can pin (two of three witnesses), and of whose witnesses only so many
    cosign what it sends and returns from then on, as ``log.cosigning`` says.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._changed = threading.Condition(threading.RLock())
        self._gateway = FakeGateway()
        self._requests: list[ReceivedRequest] = []
        self._plan: list[tuple[AnyMisbehaviour, frozenset[Route]]] = []
        self._server = LoopbackServer(self._respond)
        self.origin = self._server.origin
        self.log = FakeLog(self.origin, self._clock.now)
        self._authority = FakeAuthority(self.log)
        self._receipts = Receipts(self._authority.signed.get)
        self.authority = self._authority.public_key
        self._keys = GatewayKeys(self.origin, 1, (self._gateway.configuration,))
        self._routes = Routes(self._authority, self._receipts, self._clock, self._keys)
        self.gateway_keys = self._authority.sign_keys(self._keys)

    def publish(
        self,
        survey: Survey,
        *,
        epsilon: str | None = None,  # of one report; by default the highest that is accepted
        delta: str = "0",
        kind: str | None = None,  # randomised-response; one-question, where there are several;
        # with ``kept`` two-round, of sets of one answer unless settings={"fresh": …} says otherwise
        distance: str | tuple[tuple[int, ...], ...] | None = None,  # of an ordinal survey
        kept: str | None = None,  # of a two-round survey, epsilon of the response that is kept
        settings: Mapping[str, object] | None = None,  # other keys of a survey file, of the kind
        repeat: Repeat = FRESH,
        start: int | None = None,  # of epoch 0, Unix seconds; by default as said below
        epoch_seconds: int | None = None,  # by default a day, or more if the survey wants it
        epochs: int = 1,  # that devices may answer: they reserve the epsilon of all of them
        grace_seconds: int = DAY,
        enrolment: Enrolment | None = None,  # by default open; or a ``FakeIssuer``'s
    ) -> bytes:
        """Sign a manifest of this survey and offer it until its last epoch is over.

        What was published before under the name goes on beside it. The first begins now, with epoch
        0; one that follows it begins, as with ``deniable survey publish``, when the newest one's
        current epoch ends, and goes on with its numbers, of which no device decides one twice. With
        ``start``, epoch 0 begins then, and a device may have to wait for a number.

        Whatever the device should refuse can be published too: another question
        (``replace(survey, question=...)``), a higher epsilon; or a survey that has ended, for an
        app that bundles it.

        Returns:
            The signed manifest, as an app may bundle it: ``Client(manifests=[...])``; as
            ``log.logged(...)`` has it with its proof, for one that pins the log.

        Raises:
            InvalidManifest: for what no manifest could hold.
        """
        stated = _decimal(survey) if epsilon is None else epsilon
        length = max(DAY, survey.min_epoch_seconds) if epoch_seconds is None else epoch_seconds
        keys = {"distance": distance, "kept": kept, **(settings or {})}
        categories = survey.categories
        if survey.dimensions:
            kind = kind or "one-question"
            keys["dimensions"] = survey.dimensions
            categories = KINDS[kind].labels(survey.dimensions)
        elif kept is not None:
            kind = kind or "two-round"
        keys = {key: value for key, value in keys.items() if value is not None}
        with self._changed:
            before = self._authority.published.get(survey.name, [])
            begin, first = start, 0
            if begin is None:
                now = self._clock.now()
                begin, first = continued(
                    [manifest.schedule for manifest in before], length, now, int(now)
                )
            manifest = Manifest(
                name=survey.name,
                sequence=before[0].sequence + 1 if before else 1,  # a rolled back one has 0
                nonce=os.urandom(16),
                question=survey.question,
                categories=categories,
                epsilon=stated,
                delta=delta,
                schedule=Schedule(begin, length, first + epochs, grace_seconds),
                origin=self.origin,
                enrolment=_from(first, enrolment or Enrolment()),
                minimum_reports=1,
                specification=Specification.calibrated(
                    kind or RANDOMISED_RESPONSE.kind, len(categories), stated, delta, keys
                ),
                repeat=repeat,
            )
            return self._authority.publish(manifest)

    def rotate_authority(self) -> None:
        """Hand over to a new key: manifests are signed by it from now on; ``authority`` stays."""
        with self._changed:
            self._authority.rotate()

    def misbehave(
        self, misbehaviour: AnyMisbehaviour, *, times: int = 1, on: Route | None = None
    ) -> None:
        """Misbehave at the next requests to which this can happen, after what was asked before.

        With ``on``, only at uploads, or only at fetches of manifests.
        """
        if on is not None and on not in misbehaviour.routes:
            raise ValueError(f"{misbehaviour} cannot happen to {on}")
        with self._changed:
            self._plan += [(misbehaviour, frozenset({on}) if on else misbehaviour.routes)] * times

    def behave(self) -> None:
        """Forget every misbehaviour that has not happened yet."""
        with self._changed:
            self._plan.clear()

    @property
    def reports(self) -> tuple[ReceivedReport, ...]:
        """Return the reports that were taken, each once, in the order in which they came."""
        with self._changed:
            return tuple(self._receipts.taken)

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Return all requests, in the order in which they came."""
        with self._changed:
            return tuple(self._requests)

    def counts(self, survey: str) -> Mapping[str, int]:
        """Return how many reports name each response of a survey's manifests, the newest first."""
        with self._changed:
            counted = Counter(report.response for report in self.reports if report.survey == survey)
            published = self._authority.published.get(survey)
            if not published:
                raise KeyError(f"no survey {survey!r} is published")
            # Of a design, whose responses are many, those that came.
            named = [
                manifest.responses for manifest in published if type(manifest.responses) is tuple
            ]
            return dict.fromkeys(chain(*named), 0) | counted

    def await_reports(self, count: int, timeout: float = 10.0) -> tuple[ReceivedReport, ...]:
        """Return the reports as soon as there are so many; raise ``TimeoutError`` if too late."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._receipts.taken) >= count, timeout):
                came = len(self._receipts.taken)
                raise TimeoutError(
                    f"{came} of {count} reports came in {timeout} s, with {len(self._requests)} "
                    "requests; is consent on, and delivery_seconds=0?"
                )
            return self.reports

    def close(self) -> None:
        """End every connection and free the port."""
        self._server.stop()

    def __enter__(self) -> "FakeCollector":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FakeCollector({self.origin!r}, reports={len(self._receipts.taken)})"

    def _respond(self, request: ReceivedRequest, connection: socket.socket) -> None:
        request, seal = self._gateway.open(request)
        with self._changed:
            self._requests.append(request)
            misbehaviour = self._next_misbehaviour(request)
            honest = None
            if misbehaviour is None:
                honest = self._routes.answer(request)
            elif misbehaviour.stores:  # of a 304 there is nothing to distort
                headers = {**request.headers, "if-none-match": ""}
                honest = self._routes.answer(replace(request, headers=headers))
            answer = honest
            if isinstance(misbehaviour, Misbehaviour) and misbehaviour in FORGERIES:
                answer = self._routes.forged(misbehaviour, request)
            elif misbehaviour is not None:
                answer = misleading_answer(misbehaviour, honest, _count(request.body))
            self._changed.notify_all()
        if answer is not None:
            connection.sendall(pack_answer(seal(answer)))
        elif misbehaviour is Misbehaviour.CUT_SHORT and honest is not None:
            connection.sendall(pack_answer(seal(honest))[:-1])
        elif misbehaviour is Misbehaviour.STALL:
            while connection.recv(4096):  # until somebody hangs up
                pass
        elif misbehaviour is Misbehaviour.DRIP:
            drip(connection, self._server.stopped)
        elif misbehaviour is Misbehaviour.HTTP_NONSENSE:
            connection.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")

    def _next_misbehaviour(self, request: ReceivedRequest) -> AnyMisbehaviour | None:
        # Asked because of a manifest's misbehaviour, or beside it.
        if request.path in {AUTHORITY_PATH, GATEWAY_KEYS_PATH}:
            return None
        route: Route = "uploads" if request.method == "POST" else "manifests"
        for index, (_, routes) in enumerate(self._plan):
            if route in routes:
                return self._plan.pop(index)[0]
        return None


def _from(first: int, enrolment: Enrolment) -> Enrolment:
    """Return the enrolment of a manifest whose epochs begin with this number."""
    return replace(enrolment, first=first) if enrolment.mode == "blind" else enrolment


def _decimal(survey: Survey) -> str:
    """Return the highest epsilon that a survey accepts, as a manifest writes it, rounded down."""
    whole, part = divmod(epsilon_to_nano("max_epsilon", survey.max_epsilon), NANO)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def _count(body: bytes) -> int:
    try:
        return len(list(split_upload(body)))
    except Refusal:
        return 1
