"""Answers of a collector over HTTP, limited in bytes and time.

F1. The token is sent only to the given URL: redirects are not followed, and plain HTTP is for this
    machine only.
F2. Every answer is limited in bytes and in time.
F3. A request has the same head as a device's, byte for byte, so the server cannot identify the
    reader by it; only a token is added.
"""

import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.request
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

from deniable.messages import PROBLEM_JSON, USER_AGENT, RefusalCode, media_type, read_problem
from deniable.reading.source import NoSuchSurvey, NotAllowed, NotReached, NotThere, Refused

_MOST_PROBLEM_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 1 << 16
_MOST_DETAIL: Final = 300
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TOKEN: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: the answer is an error like any other."""


class _HostFirst(urllib.request.BaseHandler):
    handler_order = 900  # after urllib has put the Host among the other headers

    def https_request(self, request: urllib.request.Request) -> urllib.request.Request:
        """Leave the Host to http.client, which writes it where it does for devices."""
        request.remove_header("Host")
        return request

    http_request = https_request


class Fetcher:
    """Fetches answers below a URL, with the arguments of an ``HttpSource``."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float) -> None:
        parts = urlsplit(url)
        here = parts.hostname in _HERE
        if parts.scheme != "https" and not (parts.scheme == "http" and here):
            raise ValueError("a collector's URL must use https; http is only for this machine")
        if not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("a collector's URL must be https://host[:port], possibly with a path")
        if token is not None and not _TOKEN.fullmatch(token):
            raise ValueError("a token must be one line, as printed by `deniable token new`")
        self.url = url.rstrip("/")
        self._token = token
        self._seconds = seconds
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects(), _HostFirst()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        if here:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)
        self._opener.addheaders = [("User-Agent", USER_AGENT)]

    def get(self, path: str, most: int, allowed: bool = False) -> bytes:
        """Return the body of a 200 answer; the token is sent if access requires it.

        Raises:
            ReadingError: with the reason, if there is no such answer.
        """
        return self.tagged(path, most, allowed)[0]

    def tagged(self, path: str, most: int, allowed: bool = False) -> tuple[bytes, str]:
        """Return the body and the ETag of a 200, as :meth:`get` does."""
        request = urllib.request.Request(self.url + path)  # noqa: S310 - https, or this machine
        if allowed and self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        deadline = time.monotonic() + self._seconds
        try:
            try:
                with self._answer(request) as answer:
                    return _read(answer, most, deadline), answer.headers.get("ETag", "")
            except urllib.error.HTTPError as answered:
                with answered:
                    raise self._refusal(answered, deadline) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            cause = getattr(error, "reason", error)
            reason = cause if isinstance(cause, str) else type(cause).__name__
            if isinstance(cause, ssl.SSLCertVerificationError):
                reason = cause.verify_message
            raise NotReached(
                f"the collector at {self.url} did not respond ({reason}); check the URL, or try "
                "again later"
            ) from error

    def _answer(self, request: urllib.request.Request) -> Any:
        """Return the answer once its head has arrived, or raise an error, in time."""
        # On a thread that can be abandoned: nothing interrupts the system's resolver, and a
        # socket's timeout restarts with each byte of a slow head.
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
                "the collector requires an analyst's token: the operator creates one with "
                "`deniable token new`"
                + (" (the given token is not sufficient)" if self._token is not None else "")
            )
        body = _read(answered, _MOST_PROBLEM_BYTES, deadline)
        code = read_problem(body, content_type, status)
        if code is RefusalCode.NOT_FOUND:
            return NoSuchSurvey("this survey is not published there")
        if media_type(content_type) != PROBLEM_JSON:
            failure = NotThere if status == http.HTTPStatus.NOT_FOUND else NotReached
            return failure(
                f"{self.url} responded with status {status}, which no collector sends; give "
                "the collector's own URL: redirects are not followed"
            )
        try:
            detail = json.loads(body).get("detail")
        except (ValueError, AttributeError, RecursionError):
            detail = None
        if not isinstance(detail, str) or not detail.isprintable() or len(detail) > _MOST_DETAIL:
            detail = f"status {status}"
        return Refused(f"the collector refused: {detail}", None if code is None else code.value)


def _read(answer: Any, most: int, deadline: float) -> bytes:
    pieces, size = [], 0
    while piece := answer.read1(_PIECE_BYTES):
        size += len(piece)
        pieces.append(piece)
        if size > most:
            raise NotReached("the response is too long; is this a collector?")
        if time.monotonic() > deadline:
            raise NotReached("the collector's response took too long to arrive; try again later")
    if answer.length:  # http.client does not report an answer shorter than announced
        raise NotReached("the collector's response was cut short; try again")
    return b"".join(pieces)


def unreadable() -> NotReached:
    """Return the error for an answer that does not have a collector's form."""
    return NotReached(
        "this is not a collector's response; check the URL, and the collector's version"
    )
