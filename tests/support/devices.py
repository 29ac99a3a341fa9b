"""A device at a bench: the real client, a clock that is told, and a collector that is scripted."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from deniable.client import (
    Client,
    HttpAnswer,
    Journal,
    ManifestFault,
    ManifestRefused,
    NotReady,
    NotRecorded,
    OutcomeStatus,
    Refresh,
    TransportError,
)
from deniable.client.state import state_file
from deniable.counterparts.bodies import (
    pack_answer_to_upload,
    pack_manifests,
    pack_problem,
    pack_rotations,
    split_upload,
)
from deniable.counterparts.signing import sign_manifest, verify_signature
from deniable.mechanisms import RandomisedResponse
from deniable.mechanisms.mechanism import os_random_word
from deniable.messages import (
    PROBLEM_JSON,
    Manifest,
    RefusalCode,
    SignedReport,
    SigningKey,
    UploadAnswer,
)
from tests.support.clients import client_of
from tests.support.clock import FakeClock
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, ORIGIN, START, manifest
from tests.support.transports import Call, TransportDouble

NAME = MANIFEST.name
_connect = state_file._connect

PORTAL = HttpAnswer(200, {"content-type": "text/html"}, b"<html>Welcome to the hotel</html>")
UNREACHABLE = TransportError("ConnectionRefusedError")
OFFLINE = TransportError("gaierror", unsent=True)
NO_THREAD = Mock(side_effect=RuntimeError("can't start new thread"))  # in place of Thread.start


def judged(
    accepted: int = 0, duplicates: int = 0, *refused: tuple[int, RefusalCode], **headers: str
) -> HttpAnswer:
    """Return the answer to an upload that was read; reports are refused by their index."""
    body = pack_answer_to_upload(UploadAnswer(accepted, duplicates, refused))
    return HttpAnswer(200, {"content-type": "application/json", **_named(headers)}, body)


def refused(code: RefusalCode, **headers: str) -> HttpAnswer:
    return judged(0, 0, (0, code), **headers)


def problem(code: RefusalCode, status: int | None = None, **headers: str) -> HttpAnswer:
    found = status or code.http_status
    assert found is not None
    named = {"content-type": PROBLEM_JSON, **_named(headers)}
    return HttpAnswer(found, named, pack_problem(code, "why"))


def dated(answer: HttpAnswer, seconds: float) -> HttpAnswer:
    """Return an answer that tells the date."""
    date = format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True)
    return replace(answer, headers={**answer.headers, "date": date})


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


ACCEPTED, DUPLICATE = judged(accepted=1), judged(duplicates=1)


def lie(category: int, manifest: Manifest = MANIFEST) -> Callable[[], int]:
    """Return a draw that always names this category, whatever the answer."""
    mechanism = manifest.mechanism
    assert isinstance(mechanism, RandomisedResponse)
    word = category * mechanism.lies
    return lambda: word


def truth(manifest: Manifest = MANIFEST) -> Callable[[], int]:
    word = manifest.mechanism.grid - 1
    return lambda: word


def why(refreshed: Refresh, name: str = NAME) -> NotRecorded | None:
    """Return why a survey is not ready, or goes on with an older manifest."""
    return refreshed.errors.get(name) or refreshed.declined.get(name)


def fault_of(came: Refresh | NotRecorded | None, name: str = NAME) -> ManifestFault | None:
    """Return which rule the manifest broke that was offered last; None if it was taken."""
    error = why(came, name) if isinstance(came, Refresh) else came
    assert error is None or isinstance(error, ManifestRefused)
    return error.fault if error else None


def took(refreshed: Refresh) -> bool:
    """Tell whether every manifest was taken; time or a certificate may still keep back a report."""
    errors = (*refreshed.errors.values(), *refreshed.declined.values())
    return not any(isinstance(e, ManifestRefused) or type(e) is NotReady for e in errors)


def entries_of(journal: Journal, kind: str) -> list[SimpleNamespace]:
    """Return the facts of a kind of entries, with their time."""
    entries = [entry for entry in journal.entries if entry.kind == kind]
    return [SimpleNamespace(at=entry.at, lines=entry.lines, **entry.facts) for entry in entries]


def plain(shown: object) -> str:
    """Return what is shown as one line."""
    return " ".join(str(shown).split())


def connect_carelessly(path: Path, patience: float | None = None) -> sqlite3.Connection:
    """Open a state as the device does, and wait for no disk: nobody cuts the power here."""
    connection = _connect(path, patience)
    connection.execute("PRAGMA synchronous=OFF")
    return connection


class CountingDraw:
    """The operating system's words, counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        return os_random_word()


class FakeTransport(TransportDouble):
    """A collector in a variable.

    Attributes:
        answer: to every upload: an answer, an error to raise, or a function of the body.
    """

    def __init__(self, *manifests: Manifest) -> None:
        self.manifests: dict[str, list[bytes]] = {}  # signed envelopes, by name, the newest last
        self.rotations: list[bytes] = []  # of the authority, signed
        self.proofs: dict[bytes, bytes] = {}  # of the log, by envelope; else none is sent
        self.answer: HttpAnswer | Exception | Callable[[bytes], HttpAnswer] = ACCEPTED
        self.requests: list[Call] = []  # all that came
        self.meanwhile: Callable[[Call], object] = lambda _: None  # called while each is under way
        self.clock: FakeClock | None = None  # by which answers tell the date, if any
        for published in manifests:
            self.publish(published)

    def publish(self, manifest: Manifest, authority: SigningKey = AUTHORITY) -> bytes:
        """Serve this manifest alone under its name from now on; return the envelope."""
        envelope = sign_manifest(manifest, authority)
        self.manifests[manifest.name] = [envelope]
        return envelope

    def publish_all(self, *manifests: Manifest) -> None:
        """Serve these manifests of one name from now on, the newest last."""
        envelopes = [sign_manifest(manifest, AUTHORITY) for manifest in manifests]
        self.manifests[manifests[0].name] = envelopes

    @property
    def envelopes(self) -> list[bytes]:
        return [envelope for envelopes in self.manifests.values() for envelope in envelopes]

    def respond(self, call: Call) -> HttpAnswer:
        call.stands()
        self.requests.append(replace(call, stands=lambda: None))  # which holds the client
        self.meanwhile(call)
        fetched = call.method == "GET"
        answer = self._manifest(call.path) if fetched else self._judge(call.body)
        if fetched and self.clock is not None:
            answer = dated(answer, self.clock.time)
        if len(answer.body) > call.most:
            raise TransportError("the answer is too long")
        return answer

    def _manifest(self, path: str) -> HttpAnswer:
        if path == "/v1/authority":
            rotations = self.rotations
            return HttpAnswer(200, {}, pack_rotations(rotations, self._proofs(rotations)))
        envelopes = self.manifests.get(path.split("/")[3])
        if envelopes is None:
            return HttpAnswer(404, {}, b"")
        several = path.endswith("/manifests")
        newest_first = envelopes[::-1]
        packed = pack_manifests(newest_first, self._proofs(newest_first))
        return HttpAnswer(200, {}, packed if several else envelopes[-1])

    def _proofs(self, envelopes: Iterable[bytes]) -> list[bytes]:
        return [self.proofs.get(envelope, b"") for envelope in envelopes]

    def _judge(self, body: bytes) -> HttpAnswer:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if isinstance(self.answer, HttpAnswer) else self.answer(body)

    @property
    def uploads(self) -> list[bytes]:
        return [request.body for request in self.requests if request.method == "POST"]


def read_upload(body: bytes) -> SignedReport:
    """Return the one report of an upload, verified."""
    (envelope,) = split_upload(body)
    signed = SignedReport.from_envelope(envelope)
    verify_signature(signed)
    return signed


class Bench:
    """What a test of the client works with; closes every client in the end.

    Attributes:
        clock, transport, surveys: what clients are given unless told otherwise.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "device.sqlite"  # of the state file
        self.clock = FakeClock()
        self.transport = FakeTransport(MANIFEST)
        self.surveys = [DECLARED]
        self.draw = CountingDraw()  # what clients are given unless told otherwise; counts
        self._clients: list[Client] = []

    def client(self, **changes: Any) -> Client:
        arguments: dict[str, Any] = {
            "authority": AUTHORITY.public_key,
            "surveys": self.surveys,
            "state": self.path,
            "consent": "on",
            "background": False,
            "clock": self.clock,
            "transport": self.transport,
            "unsafe_draw": self.draw,
            **changes,
        }
        self.transport.clock = self.clock
        client = client_of(arguments.pop("collector", ORIGIN), **arguments)
        self._clients.append(client)
        return client

    def ready(self, **changes: Any) -> Client:
        """Return a client that holds the manifests of its surveys."""
        client = self.client(**changes)
        assert took(client.refresh(force=True))
        return client

    def reported(self, **changes: Any) -> Client:
        """Return such a client that has reported once."""
        client = self.ready(**changes)
        assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
        return client

    def several(self, count: int, **changes: Any) -> Client:
        """Return a client that has reported to so many surveys, which all clients declare then."""
        self.surveys = [replace(DECLARED, name=f"survey-{number}") for number in range(count)]
        for survey in self.surveys:
            self.transport.publish(manifest(name=survey.name))
        client = self.ready(**{"lifetime_epsilon": "1000", **changes})
        assert all(client.report(survey, "good").ok for survey in self.surveys)
        return client

    def report_daily(self, client: Client, days: Iterable[int]) -> None:
        """Have a client report on these days of the survey."""
        for day in days:
            self.clock.time = START + day * DAY
            assert client.report(NAME, "good").status is OutcomeStatus.RECORDED

    @property
    def mark(self) -> Path:
        """Return the path of the state's mark."""
        return self.path.with_name(f"{self.path.name}.mark")

    @property
    def is_open(self) -> bool:
        """Tell whether somebody has the state open: SQLite's log is there then."""
        return self.path.with_name(f"{self.path.name}-wal").exists()

    @property
    def envelope(self) -> bytes:
        """Return the signed bytes of the one report in the state."""
        ((envelope,),) = self.rows("SELECT envelope FROM decisions")
        assert isinstance(envelope, bytes)
        return envelope

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(query).fetchall()

    def files(self) -> dict[str, bytes]:
        """Return the bytes of every file beside and including the state."""
        return {file.name: file.read_bytes() for file in _all_files(self.path.parent)}

    def on_disk(self, needle: bytes) -> list[str]:
        return [name for name, content in self.files().items() if needle in content]

    def dump(self) -> list[str]:
        """Return all rows of the state, as SQL."""
        with closing(sqlite3.connect(self.path)) as connection:
            return [*connection.iterdump()]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _all_files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())
