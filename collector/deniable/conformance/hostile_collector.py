"""The hostile collector: sockets that record everything, and an operator who follows no rule."""

import os
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any, Final, NamedTuple

from deniable.conformance.observations import Log, Request, read_upload
from deniable.counterparts.bodies import pack_answer_to_upload, pack_manifests, pack_problem
from deniable.counterparts.signing import sign_manifest
from deniable.messages import (
    PROBLEM_JSON,
    Enrolment,
    Manifest,
    RefusalCode,
    Schedule,
    SigningKey,
    UploadAnswer,
)

_POLL_SECONDS: Final = 0.02
_MOST_BODY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, with its headers other than the common ones."""

    status: int = 200
    body: bytes = field(default=b"", repr=False)
    headers: tuple[tuple[str, str], ...] = ()


CUT: Final = None
"""A marker instead of an answer: the connection ends without one."""


class Incoming(NamedTuple):
    """A received request, with its connection's number; headers by lower-case name, in order."""

    connection: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class HostileCollector(socketserver.ThreadingTCPServer):
    """The sockets of a collector; ``respond`` creates its answers, and ``clock`` dates them.

    Every answer has a cookie and an ETag: no device sends them back. Connections are kept open, so
    that reuse is detected.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, respond: Callable[[Incoming], Answer | None], clock: Callable[[], float]
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.clock = clock
        self.numbers = count(1)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="hostile-collector", daemon=True
        )
        self._thread.start()

    @property
    def origin(self) -> str:
        """Return the server's origin."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        """Free the port; connections end with their threads."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a device that hung up, or was killed."""


class _Handler(BaseHTTPRequestHandler):
    server: HostileCollector
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._number = next(self.server.numbers)

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(min(int(length), _MOST_BODY_BYTES) if length.isdigit() else 0)
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        if self.command == "OPTIONS":  # a browser's preflight request
            answer: Answer | None = Answer(204)
        else:
            came = Incoming(self._number, self.command, self.path, headers, body)
            answer = self.server.respond(came)
        if answer is CUT:
            self.close_connection = True
            return
        date = min(max(self.server.clock(), 0), 2**37)
        lines = [
            f"HTTP/1.1 {answer.status} Answer",
            f"date: {formatdate(date, usegmt=True)}",
            'etag: "a-mark-of-this-device"',
            "set-cookie: mark=of-this-device; Path=/; Max-Age=999999999",
            "access-control-allow-origin: *",
            "access-control-allow-methods: GET, POST",
            "access-control-allow-headers: content-type",
            *(f"{name}: {value}" for name, value in answer.headers),
            f"content-length: {len(answer.body)}",
        ]
        # A page's request has an origin: pages cannot control connections, and read few headers.
        if "origin" in self.headers:
            lines += ["access-control-expose-headers: date, retry-after", "connection: close"]
            self.close_connection = True
        self.wfile.write("\r\n".join((*lines, "", "")).encode("latin-1") + answer.body)

    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = _respond  # noqa: N815 - of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name above
        """Log nothing."""


DAY: Final = 86_400
MIDNIGHT: Final = 20_000 * DAY
"""The default beginning of surveys."""
CATEGORIES: Final = ("never", "sometimes", "always")

Reply = Callable[[int], Answer | None]
"""The answer to the n-th request about a survey, from 1 on."""


class HostileOperator:
    """The operator, which signs and serves data as a scenario requires.

    Attributes:
        origin: the collector's origin.
        log: all observations.
        served: the envelopes of each name, newest first.
        uploads, fetches: the collector's answers by a survey's name; otherwise it is honest.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.log = Log()
        self.midnight = MIDNIGHT
        self.authority = SigningKey(os.urandom(32))
        self.served: dict[str, list[bytes]] = {}
        self.uploads: dict[str, Reply] = {}
        self.fetches: dict[str, Reply] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._counting = threading.Lock()

    def manifest(self, name: str, **changes: Any) -> Manifest:
        """Return a manifest that fits the declaration of its name, except for the changes."""
        schedule = Schedule(self.midnight, DAY, 30, DAY)
        fields: dict[str, Any] = {
            "name": name,
            "sequence": 1,
            "nonce": os.urandom(16),
            "question": f"How often: {name}?",
            "categories": CATEGORIES,
            "epsilon": "1",
            "delta": "0",
            "schedule": schedule,
            "origin": self.origin,
            "enrolment": Enrolment(),
            "minimum_reports": 1,
        }
        return Manifest(**{**fields, **changes})

    def sign(self, manifest: Manifest) -> bytes:
        """Return a manifest's envelope."""
        self.log.manifests[manifest.survey_id] = manifest
        return sign_manifest(manifest, self.authority)

    def publish(self, *manifests: Manifest) -> None:
        """Serve these manifests of one name from now on, newest first."""
        self.served[manifests[0].name] = [self.sign(manifest) for manifest in manifests]

    def serve(self, name: str, envelope: bytes) -> None:
        """Serve any bytes as the only manifest of a name."""
        self.served[name] = [envelope]

    def answer(self, request: Request) -> Answer | None:
        """Return the scenario's answer to a request, or an honest one."""
        if request.is_upload:
            sent = next(read_upload(request, self.log.manifests), None)
            name = sent.manifest.name if sent else ""
            return self.uploads.get(name, accepted)(self._count("upload", name))
        if request.path == "/v1/authority":
            return Answer(200, b"\x90")
        name = request.survey
        if name in self.fetches:
            return self.fetches[name](self._count("fetch", name))
        if not (envelopes := self.served.get(name)):
            return problem(RefusalCode.NOT_FOUND)
        msgpack = (("content-type", "application/msgpack"),)
        return Answer(200, pack_manifests(envelopes), msgpack)

    def _count(self, kind: str, name: str) -> int:
        with self._counting:
            self._counts[kind, name] = self._counts.get((kind, name), 0) + 1
            return self._counts[kind, name]


def declared(name: str, **changes: Any) -> dict[str, Any]:
    """Return the declaration of a survey, in a bundle's form."""
    question = f"How often: {name}?"
    declaration = {"name": name, "question": question, "categories": list(CATEGORIES)}
    return {**declaration, "max_epsilon": "1", **changes}


JSON: Final = (("content-type", "application/json"),)


def accepted(_: int = 1) -> Answer:
    """Return the answer for one counted report."""
    return Answer(200, pack_answer_to_upload(UploadAnswer(1, 0)), JSON)


def refused(code: RefusalCode) -> Answer:
    """Return the answer for one refused report."""
    return Answer(200, pack_answer_to_upload(UploadAnswer(0, 0, ((0, code),))), JSON)


def problem(code: RefusalCode, *headers: tuple[str, str], status: int | None = None) -> Answer:
    """Return the answer that refuses the request as a whole."""
    status = status or code.http_status or 400
    body = pack_problem(code, "as the scenario wants", status)
    return Answer(status, body, (("content-type", PROBLEM_JSON), *headers))
