"""A collector read over HTTP by an analyst who pins its authority's key.

H1. No survey is believed that the pinned key, or the last to which it handed over, has not signed.
H2. The token goes to the URL that was given and nowhere else: redirects are not followed, and plain
    HTTP is for this machine only.
H3. Counts of a sealed epoch that are all of it are those of its seal, or are not handed on.
H4. No answer is read beyond a cap in bytes and in time.
"""

import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final
from urllib.parse import quote, urlsplit

from deniable.messages import (
    GATEWAY_KEYS_PATH,
    MAX_MANIFEST_BYTES,
    MAX_MANIFESTS_BYTES,
    MAX_ROTATIONS_BYTES,
    PROBLEM_JSON,
    InvalidManifest,
    Manifest,
    Refusal,
    RefusalCode,
    check_name,
    check_public_key,
    follow_rotations,
    media_type,
    open_manifest,
    open_rotation,
    read_problem,
    split_logged,
    split_manifests,
    split_rotations,
)
from deniable.messages.bundle import Bundle, make_bundle, read_bundle
from deniable.messages.gateway import MAX_GATEWAY_ANSWER_BYTES
from deniable.reading.errors import (
    NoSuchSurvey,
    NotAllowed,
    NotReached,
    Refused,
    Untrusted,
)
from deniable.reading.notes import Note, read_notes
from deniable.reading.source import EpochCounts, ListedEpoch, Source
from deniable.reading.wire import most_epochs, read_counts, read_epochs

_MOST_JSON_BYTES: Final = 128 << 20
_MOST_ENVELOPE_BYTES: Final = MAX_MANIFEST_BYTES + 1024
_MOST_PROBLEM_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 1 << 16
_MOST_DETAIL: Final = 300
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TOKEN: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def pinned(authority: str | Path) -> bytes:
    """Return the key that is given in hex, or that signed a file of ``deniable survey export``."""
    if isinstance(authority, str) and _ID.fullmatch(authority.lower()):
        return bytes.fromhex(authority)
    try:
        return read_bundle(Path(authority).read_bytes()).authority
    except OSError as error:
        raise ValueError(
            "an authority is its public key, 64 hex digits, or a file of `deniable survey export`; "
            f"there is no such file: {authority}"
        ) from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow none: the answer is an error like any other."""


class HttpSource(Source):
    """A collector at a URL.

    Args:
        url: ``https://host[:port]``, with a path if a proxy has it under one; ``http`` for this
            machine only.
        authority: the public key, 32 bytes, that signs its surveys or handed over to whoever does.
        token: an analyst's; of public surveys none is needed.
        seconds: how long any one answer may take.

    Raises:
        ValueError: if one of them cannot be.
    """

    def __init__(
        self, url: str, authority: bytes, token: str | None = None, *, seconds: float = 120.0
    ) -> None:
        parts = urlsplit(url)
        here = parts.hostname in _HERE
        if parts.scheme != "https" and not (parts.scheme == "http" and here):
            raise ValueError("a collector's URL begins with https://; http:// is for this machine")
        if not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("a collector's URL is https://host[:port], perhaps with a path")
        try:
            check_public_key(authority)
        except Refusal as refusal:
            raise ValueError("an authority's key is 64 hex digits: the public one") from refusal
        if token is not None and not _TOKEN.fullmatch(token):
            raise ValueError("a token is one line, as `deniable token new` printed it")
        self._url = url.rstrip("/")
        self._authority = authority
        self._token = token
        self._seconds = seconds
        self._opened: dict[str, Manifest] = {}
        handlers: list[urllib.request.BaseHandler] = [
            _NoRedirects(),
            urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        ]
        if here:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def __repr__(self) -> str:
        """Return the source's URL; the token is a secret."""
        return f"HttpSource({self._url!r})"

    def names(self) -> tuple[str, ...]:
        """Return the names of the published surveys; what they are is verified when they are read.

        Raises:
            ReadingError: as any method; the module ``errors`` lists why.
        """
        names = {_text(survey, "name") for survey in self._surveys("/v1/surveys")}
        try:
            for name in names:
                check_name(name)
        except InvalidManifest as error:
            raise _unreadable() from error
        return tuple(sorted(names))

    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """Return all surveys of a name, the newest first, verified."""
        identifiers = [_id(version) for version in self._versions(name)]
        unknown = [identifier for identifier in identifiers if identifier not in self._opened]
        if unknown:
            signer = self._signer()
            for identifier in unknown:
                self._opened[identifier] = self._signed(name, identifier, signer)[1]
        manifests = [self._opened[identifier] for identifier in identifiers]
        if any(manifest.name != name for manifest in manifests):
            raise Untrusted("the collector names a survey of another name")
        return tuple(sorted(manifests, key=lambda manifest: -manifest.sequence))

    def ended(self, name: str) -> Mapping[bytes, int]:
        """Return which surveys of a name were ended, as the collector says."""
        return {
            bytes.fromhex(_id(version)): version["ended_at"]
            for version in self._versions(name)
            if type(version.get("ended_at")) is int
        }

    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return which of the survey's issuers are not trusted any more, as the collector says."""
        return self._life(manifest)[1]

    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures."""
        return self._life(manifest)[0]

    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return counts, checked against their seals."""
        most, parts = most_epochs(manifest), [""]
        if epochs is not None:
            span = range(min(epochs, default=0), max(epochs, default=-1) + 1)
            pieces = (span[i : i + most] for i in range(0, len(span), most))
            parts = [f"&epoch={piece[0]}-{piece[-1]}" for piece in pieces]
        counts: list[EpochCounts] = []
        for part in parts:
            try:
                body = self._json(f"{_path(manifest)}/counts?{_survey(manifest)}{part}", True)
            except Refused as refused:
                if refused.code == RefusalCode.TOO_FEW_REPORTS:
                    continue
                raise
            counts.extend(read_counts(manifest, body))
        numbers = [epoch_counts.epoch for epoch_counts in counts]
        # Seals do not tell of an epoch that came twice, and would count twice.
        if numbers != sorted(set(numbers)) or (epochs is None and len(numbers) > 1):
            raise Untrusted("the collector answered about other epochs than were asked for")
        return tuple(
            epoch_counts
            for epoch_counts in counts
            if epochs is None or epoch_counts.epoch in epochs
        )

    def notes(self, name: str) -> tuple[Note, ...]:
        """Return the notes about the surveys of a name, as the collector tells them."""
        body = self._json(f"/v1/surveys/{quote(name)}/notes", True)
        try:
            return read_notes(body["notes"] if isinstance(body, dict) else None)
        except (KeyError, ValueError) as error:
            raise _unreadable() from error

    def bundle(self, manifests: Sequence[Manifest]) -> Bundle:
        """Return the bundle for an app, verified under the key that signs now."""
        signer = self._signer()
        signed = [
            self._signed(manifest.name, manifest.survey_id.hex(), signer)[0]
            for manifest in manifests
        ]
        gateway, gateway_proof, proofs = None, b"", dict[bytes, bytes]()
        try:
            with suppress(NoSuchSurvey):  # as it answers what it has not, or does not know
                body = self._get(GATEWAY_KEYS_PATH, MAX_GATEWAY_ANSWER_BYTES)
                gateway, gateway_proof = split_logged(body)
            with suppress(NoSuchSurvey):
                path = f"/v1/surveys/{quote(manifests[0].name)}/manifests"
                proofs = dict(split_manifests(self._get(path, MAX_MANIFESTS_BYTES)))
        except Refusal as refusal:
            raise _unreadable() from refusal
        return make_bundle(
            signed,
            signer,
            gateway,
            proofs=[proofs.get(envelope, b"") for envelope in signed],
            gateway_proof=gateway_proof,
        )

    def _life(self, manifest: Manifest) -> tuple[tuple[ListedEpoch, ...], frozenset[bytes]]:
        body = self._json(f"{_path(manifest)}/epochs?{_survey(manifest)}", True)
        return read_epochs(manifest, body)

    def _versions(self, name: str) -> list[dict[str, Any]]:
        try:
            check_name(name)
        except InvalidManifest as error:
            raise NoSuchSurvey(f"no survey can have this name: it {error.reason}") from error
        try:
            return self._surveys(f"/v1/surveys/{quote(name)}/versions")
        except NoSuchSurvey:
            return []

    def _surveys(self, path: str) -> list[dict[str, Any]]:
        body = self._json(path)
        listed = body.get("surveys") if isinstance(body, dict) else None
        if not isinstance(listed, list) or not all(isinstance(survey, dict) for survey in listed):
            raise _unreadable()
        return listed

    def _signer(self) -> bytes:
        """Return the key that signs now: a rotation signs every survey anew."""
        try:
            published = split_rotations(self._get("/v1/authority", MAX_ROTATIONS_BYTES))
            rotations = [open_rotation(envelope) for envelope, _ in published]
            return follow_rotations(self._authority, rotations)[-1]
        except Refusal as refusal:
            raise Untrusted(
                f"the rotations of the authority's key are not sound ({refusal.reason}); ask the "
                "operator which key signs now, and pin that"
            ) from refusal

    def _signed(self, name: str, identifier: str, signer: bytes) -> tuple[bytes, Manifest]:
        """Return a survey as the key signed it, and opened."""
        path = f"/v1/surveys/{quote(name)}/manifest?survey={identifier}"
        envelope = self._get(path, _MOST_ENVELOPE_BYTES)
        try:
            manifest = open_manifest(envelope, signer)
        except Refusal as refusal:
            if refusal.code is RefusalCode.BAD_SIGNATURE:
                raise Untrusted(
                    "a survey is not signed by the authority whose key was given, nor by one to "
                    "which it handed over; ask the operator: `deniable authority show` tells it"
                ) from refusal
            raise Untrusted(
                f"a survey that the authority signed cannot be read here ({refusal.reason}); "
                "a newer version of deniable may"
            ) from refusal
        if manifest.survey_id.hex() != identifier:
            raise Untrusted("the collector gave another survey than was asked for")
        return envelope, manifest

    def _json(self, path: str, allowed: bool = False) -> Any:
        try:
            return json.loads(self._get(path, _MOST_JSON_BYTES, allowed))
        except (ValueError, RecursionError) as error:
            raise _unreadable() from error

    def _get(self, path: str, most: int, allowed: bool = False) -> bytes:
        """Return the body of a 200; with the token, where that is what allows it."""
        request = urllib.request.Request(self._url + path)  # noqa: S310 - https, or this machine
        if allowed and self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        deadline = time.monotonic() + self._seconds
        try:
            try:
                with self._answer(request) as answer:
                    return _read(answer, most, deadline)
            except urllib.error.HTTPError as answered:
                with answered:
                    raise self._refusal(answered, deadline) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            cause = getattr(error, "reason", error)
            reason = cause if isinstance(cause, str) else type(cause).__name__
            if isinstance(cause, ssl.SSLCertVerificationError):
                reason = cause.verify_message
            raise NotReached(
                f"the collector at {self._url} did not answer ({reason}); is the URL right, and is "
                "it up? Else try again later"
            ) from error

    def _answer(self, request: urllib.request.Request) -> Any:
        """Return the answer once its head is there, or raise why there is none, in time."""
        # On a thread that nobody waits for then: nothing interrupts the system's resolver, and a
        # socket's timeout begins anew with each byte of a head that drips.
        answers: SimpleQueue[Any] = SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._opener.open(request, timeout=self._seconds))
            except Exception as error:  # noqa: BLE001 - raised by whoever waits
                answers.put(error)

        Thread(target=ask, name="deniable-reading", daemon=True).start()
        try:
            answer = answers.get(timeout=self._seconds)
        except Empty:
            raise TimeoutError from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _refusal(self, answered: urllib.error.HTTPError, deadline: float) -> Exception:
        status, content_type = answered.code, answered.headers.get("Content-Type", "")
        if status in {401, 403}:
            return NotAllowed(
                "the collector wants the token of an analyst: the operator makes one with "
                "`deniable token new`"
                + (" (the one that was given does not do)" if self._token is not None else "")
            )
        body = _read(answered, _MOST_PROBLEM_BYTES, deadline)
        code = read_problem(body, content_type, status)
        if code is RefusalCode.NOT_FOUND:
            return NoSuchSurvey("no such survey is published there")
        if media_type(content_type) != PROBLEM_JSON:
            return NotReached(
                f"{self._url} answered with status {status}, and not as a collector does; give "
                "the collector's own URL: redirects are not followed"
            )
        try:
            detail = json.loads(body).get("detail")
        except (ValueError, AttributeError, RecursionError):
            detail = None
        if not isinstance(detail, str) or not detail.isprintable() or len(detail) > _MOST_DETAIL:
            detail = f"status {status}"
        return Refused(f"the collector refuses: {detail}", None if code is None else code.value)


def _read(answer: Any, most: int, deadline: float) -> bytes:
    pieces, size = [], 0
    while piece := answer.read1(_PIECE_BYTES):
        size += len(piece)
        pieces.append(piece)
        if size > most:
            raise NotReached("the collector's answer is too long; is it a collector?")
        if time.monotonic() > deadline:
            raise NotReached("the collector's answer took too long to arrive; try again later")
    if answer.length:  # http.client says nothing if less came than was announced
        raise NotReached("the collector's answer was cut short; try again")
    return b"".join(pieces)


def _path(manifest: Manifest) -> str:
    return f"/v1/surveys/{quote(manifest.name)}"


def _survey(manifest: Manifest) -> str:
    return f"survey={manifest.survey_id.hex()}"


def _text(described: Mapping[str, Any], key: str) -> str:
    value = described.get(key)
    if not isinstance(value, str):
        raise _unreadable()
    return value


def _id(described: Mapping[str, Any]) -> str:
    if not _ID.fullmatch(identifier := _text(described, "survey_id")):
        raise _unreadable()
    return identifier


def _unreadable() -> NotReached:
    return NotReached("the collector's answer is none; is it a collector, of about this version?")
