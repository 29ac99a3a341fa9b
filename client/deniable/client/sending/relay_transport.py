"""The way to a collector by a relay (RFC 9458): all is sealed for its gateway, nothing goes round.

1. There is one way: this module knows the collector's name only to write it inside what is sealed,
   and never resolves or connects to it (D13).
2. Each send is sealed afresh, in the one size that all have.
3. What does not open is no answer, whatever it says: statuses, known problem types, Retry-After and
   Date of the relay are weather (D8).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from deniable.client.sending.transport import (
    REQUEST_SECONDS,
    HttpAnswer,
    Transport,
    TransportError,
    outage,
)
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    InvalidManifest,
    check_origin,
    encapsulated_answer_bytes,
    media_type,
)
from deniable.messages.texts import host_of
from deniable.oblivious_http import (
    KEY_PROBLEM,
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    BinaryRequest,
    BinaryResponse,
    KeyConfiguration,
    ObliviousHttpError,
    ResponseOpener,
    seal_request,
)

_URL: Final = re.compile(r"(?P<origin>https?://[^/?#]+)(?P<path>/[!\"$-~]*)?", re.ASCII)
_MESSAGE_BYTES: Final = ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES
_HEAD_BYTES: Final = 1_024
"""What status, headers and sealing of an answer take at most, beside its body."""
_NOT_OPENED: Final = 400
_KEY_GONE: Final = (
    "HTTP 400: the key that this app seals for may be gone, and an update of the app bring a new "
    "one; or the relay alone says so"
)
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Relay:
    """A relay's address, taken apart."""

    origin: str  # https://host[:port]; http for 127.0.0.1 and [::1]
    path: str  # of the resource that takes sealed requests, with its query

    @classmethod
    def at(cls, url: str, collector: str) -> "Relay":
        """Return the relay of a URL; ValueError if it is none, or runs where the collector does."""
        match = _URL.fullmatch(url)
        try:
            if match is None:
                raise InvalidManifest("relay", "must be https://host[:port]/path")
            check_origin(match["origin"])
        except InvalidManifest as error:
            raise ValueError(f"relay {error.reason}") from error
        host = host_of(match["origin"])
        if host == host_of(collector) and host not in _THIS_MACHINE:
            raise ValueError("relay must be another's host: the collector's own would hide nothing")
        return cls(match["origin"], match["path"] or "/")


class RelayTransport:
    """A transport to the collector, through a relay.

    Args:
        way: the transport to the relay.
        relay: where sealed requests go.
        collector: the origin whose gateway opens them.
        key: returns the gateway key to seal for, at each send.
    """

    def __init__(
        self, way: Transport, relay: Relay, collector: str, key: Callable[[], KeyConfiguration]
    ) -> None:
        self._way = way
        self._relay = relay
        self._scheme, _, self._authority = collector.partition("://")
        self._key = key

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Send one request, and return what the gateway sealed as its answer."""
        fields = tuple((name.lower(), value) for name, value in headers.items())
        message = BinaryRequest(method, self._scheme, self._authority, path, fields, body)
        try:
            sealed, opener = seal_request(self._key(), message.encode(padded_to=_MESSAGE_BYTES))
        except ObliviousHttpError as error:
            raise TransportError("the gateway's key is not sound", unsent=True) from error
        try:
            answer = self._way.request(
                "POST",
                self._relay.path,
                {"Content-Type": REQUEST_TYPE},
                sealed,
                encapsulated_answer_bytes(most + _HEAD_BYTES),
                timeout,
                before_body,
            )
        except TransportError as error:
            raise _at_the_relay(error) from error
        came = len(answer.body)
        given = media_type(answer.headers.get("content-type", ""))
        if (answer.status, given) != (200, RESPONSE_TYPE):
            why = f"the relay's own answer (HTTP {answer.status}), none of the collector"
            if answer.status == _NOT_OPENED and KEY_PROBLEM.encode() in answer.body:
                why = _KEY_GONE
            raise TransportError(why, received=came)
        return _opened(opener, answer.body, most)

    def find_route(self, timeout: float = REQUEST_SECONDS) -> None:
        """Look for a route to the relay; nobody is asked for the collector."""
        if (error := outage(self._way, timeout)) is not None:
            raise _at_the_relay(error) from error


def _at_the_relay(error: TransportError) -> TransportError:
    text = f"{error}, at the relay"
    return TransportError(text, unsent=error.unsent, received=error.received)


def _opened(opener: ResponseOpener, sealed: bytes, most: int) -> HttpAnswer:
    came = len(sealed)
    try:
        response = BinaryResponse.decode(opener.open(sealed))
    except ObliviousHttpError as error:
        why = "what the relay passed on does not open"
        raise TransportError(why, received=came) from error
    headers = dict(response.headers)
    if headers.get("content-encoding", "identity") != "identity":
        raise TransportError("an encoded answer, which was not asked for", received=came)
    if len(response.body) > most:
        raise TransportError("the answer is too long", received=came)
    return HttpAnswer(response.status, headers, response.body)
