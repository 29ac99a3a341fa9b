"""The hostile collector: answers that mark devices, and an operator who follows no rule."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any, Final

from deniable.conformance.observations import Log, Request, read_upload
from deniable.counterparts.bodies import pack_answer_to_upload, pack_manifests, pack_problem
from deniable.counterparts.loopback import Answer
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

CUT: Final = None
"""A marker instead of an answer: the connection ends without one."""

_MARKS: Final = (
    ("etag", '"a-mark-of-this-device"'),
    ("set-cookie", "mark=of-this-device; Path=/; Max-Age=999999999"),
    ("access-control-allow-origin", "*"),
    ("access-control-allow-methods", "GET, POST"),
    ("access-control-allow-headers", "content-type"),
)
# Pages cannot control connections, and read few headers.
_OF_PAGES: Final = (
    ("access-control-expose-headers", "date, retry-after"),
    ("connection", "close"),
)


def marked(answer: Answer, now: float, *, to_page: bool) -> Answer:
    """Return the answer, dated, with a cookie and an ETag: no device sends them back."""
    date = "date", formatdate(min(max(now, 0), 2**37), usegmt=True)
    return replace(answer, headers=(date, *_MARKS, *answer.headers, *_OF_PAGES * to_page))


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
