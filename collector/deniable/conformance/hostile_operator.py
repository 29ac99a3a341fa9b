"""The operator of a hostile collector, who holds the authority's key and follows no rule."""

import os
import threading
from collections.abc import Callable
from typing import Any, Final

from deniable.conformance.hostile_collector import Answer
from deniable.conformance.observations import Log, Request, read_upload
from deniable.messages import (
    PROBLEM_JSON,
    Enrolment,
    Manifest,
    RefusalCode,
    Schedule,
    SigningKey,
    UploadAnswer,
    pack_manifests,
    pack_problem,
    sign_manifest,
)

DAY: Final = 86_400
MIDNIGHT: Final = 20_000 * DAY
"""When surveys begin, unless a scenario wants it otherwise."""
CATEGORIES: Final = ("never", "sometimes", "always")

Reply = Callable[[int], Answer | None]
"""The answer to the n-th request about a survey, from 1 on."""


class HostileOperator:
    """Signs what a scenario wants, and says it.

    Attributes:
        log: all that was observed.
        served: the envelopes of each name, the newest first.
        uploads, fetches: by a survey's name, what the collector says; else it is honest.
        prove: returns the log's proof that comes with an envelope.
    """

    def __init__(self) -> None:
        self.log = Log()
        self.midnight = MIDNIGHT
        self.authority = SigningKey(os.urandom(32))
        self.served: dict[str, list[bytes]] = {}
        self.uploads: dict[str, Reply] = {}
        self.fetches: dict[str, Reply] = {}
        self.prove: Callable[[bytes], bytes] = lambda _: b""
        self._counts: dict[tuple[str, str], int] = {}
        self._counting = threading.Lock()

    @property
    def origin(self) -> str:
        """Return the collector's origin."""
        raise NotImplementedError

    def manifest(self, name: str, **changes: Any) -> Manifest:
        """Return a manifest that fits the declaration of its name, but for the changes."""
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
        """Serve these manifests of one name from now on, the newest first."""
        self.served[manifests[0].name] = [self.sign(manifest) for manifest in manifests]

    def serve(self, name: str, envelope: bytes) -> None:
        """Serve any bytes as the one manifest of a name."""
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
        return self.manifests_of(name) or problem(RefusalCode.NOT_FOUND)

    def manifests_of(self, name: str) -> Answer | None:
        """Return the honest answer to a fetch."""
        envelopes = self.served.get(name)
        msgpack = (("content-type", "application/msgpack"),)
        if not envelopes:
            return None
        return Answer(200, pack_manifests(envelopes, [*map(self.prove, envelopes)]), msgpack)

    def _count(self, kind: str, name: str) -> int:
        with self._counting:
            self._counts[kind, name] = self._counts.get((kind, name), 0) + 1
            return self._counts[kind, name]


def declared(name: str, **changes: Any) -> dict[str, Any]:
    """Return the declaration of a survey, as a bundle has it."""
    question = f"How often: {name}?"
    declaration = {"name": name, "question": question, "categories": list(CATEGORIES)}
    return {**declaration, "max_epsilon": "1", **changes}


JSON: Final = (("content-type", "application/json"),)


def accepted(_: int = 1) -> Answer:
    """Return the answer that one report was counted."""
    return Answer(200, UploadAnswer(1, 0).to_json(), JSON)


def refused(code: RefusalCode) -> Answer:
    """Return the answer that one report was refused."""
    return Answer(200, UploadAnswer(0, 0, ((0, code),)).to_json(), JSON)


def problem(code: RefusalCode, *headers: tuple[str, str], status: int | None = None) -> Answer:
    """Return the answer that the request as a whole was refused."""
    status = status or code.http_status or 400
    body = pack_problem(code, "as the scenario wants", status)
    return Answer(status, body, (("content-type", PROBLEM_JSON), *headers))
