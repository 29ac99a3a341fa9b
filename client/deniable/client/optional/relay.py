"""The transport to a collector through a relay (RFC 9458): everything is sealed for its gateway.

1. There is no other path: this module uses the collector's name only inside sealed messages, and
   never resolves or connects to it (D13).
2. Each send is sealed anew, in the same size as all others.
3. An answer that does not open counts as none: the relay's statuses, known problem types,
   Retry-After and Date are ignored (D8).

4. A gateway key counts if it came with the app, signed by the authority that the app pins, or if
   the newest key of the authority's chain signed it. A former key's signature is not enough: its
   thief must not choose the device's key.
5. The sequence never decreases. If two lists have the same sequence, the second is refused.
6. The newest key of the newest list is used; requests that it cannot open wait for the next.
7. An app that pins all its surveys keeps the keys that it came with, whatever an older version
   fetched: those could be for this device alone, as manifests could (RFC 9458, section 7).
8. An app that pins a log accepts no keys that the log's witnesses have not seen, and does not use
   keys fetched before it pinned the log.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import logged_envelope
from deniable.client.ledger.authorities import Authorities
from deniable.client.parts import NoPin
from deniable.client.sending.transport import (
    REQUEST_SECONDS,
    Direct,
    HttpAnswer,
    Transport,
    TransportError,
)
from deniable.client.state.erasing import record_event, record_once
from deniable.client.state.transactions import kept
from deniable.client.survey import Survey
from deniable.messages import (
    InvalidManifest,
    LoggedEnvelope,
    Refusal,
    RefusalCode,
    check_origin,
    media_type,
)
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    GatewayKeys,
    encapsulated_answer_bytes,
    open_gateway_keys,
)
from deniable.messages.texts import host_of
from deniable.oblivious_http import BinaryRequest, KeyConfiguration, ObliviousHttpError
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM,
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    ResponseOpener,
    seal_request,
)

_URL: Final = re.compile(r"(?P<origin>https?://[^/?#]+)(?P<path>/[!\"$-~]*)?", re.ASCII)
_MESSAGE_BYTES: Final = ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES
_HEAD_BYTES: Final = 1_024
"""The most bytes for status, headers and sealing of an answer, in addition to its body."""
_NOT_OPENED: Final = 400
_KEY_GONE: Final = (
    "HTTP 400: the gateway may no longer have the key that this app uses, and an app update may "
    "bring a new one. The relay itself may also have sent this answer"
)
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Relay:
    """The parts of a relay's address."""

    origin: str  # https://host[:port]; http for 127.0.0.1 and [::1]
    path: str  # the path of the resource for sealed requests, with its query

    @classmethod
    def at(cls, url: str, collector: str) -> "Relay":
        """Return the relay at a URL; ValueError if it is invalid, or at the collector's host."""
        match = _URL.fullmatch(url)
        try:
            if match is None:
                raise InvalidManifest("relay", "must be https://host[:port]/path")
            check_origin(match["origin"])
        except InvalidManifest as error:
            raise ValueError(f"relay {error.reason}") from error
        host = host_of(match["origin"])
        if host == host_of(collector) and host not in _THIS_MACHINE:
            raise ValueError(
                "relay must be on another host: a relay on the collector's host hides nothing"
            )
        return cls(match["origin"], match["path"] or "/")


class ByRelay(Direct):
    """The connection of an app with a relay, whose bundled keys are ``keys``."""

    relayed = True

    def __init__(
        self, relay: Relay, collector: str, keys: GatewayKeys, pin: NoPin, *, pinned: bool
    ) -> None:
        self._relay = relay
        self._collector = collector
        self._keys = keys
        self._pin = pin
        self._pinned = pinned

    def reached(
        self, way: Transport, authorities: Authorities, clock: Clock
    ) -> tuple["Keyring", Transport]:
        """Return the keys to seal for, and a transport to the collector through the relay."""
        keyring = Keyring(authorities, self._keys, self._pin, pinned=self._pinned)
        return keyring, RelayTransport(
            way, self._relay, self._collector, lambda: keyring.newest(clock.now())
        )


class RelayTransport:
    """A transport to the collector, through a relay.

    Args:
        way: the transport to the relay.
        relay: the destination of sealed requests.
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
        """Send one request, and return the answer that the gateway sealed."""
        fields = tuple((name.lower(), value) for name, value in headers.items())
        message = BinaryRequest(method, self._scheme, self._authority, path, fields, body)
        try:
            sealed, opener = seal_request(self._key(), message.encode(padded_to=_MESSAGE_BYTES))
        except ObliviousHttpError as error:
            raise TransportError("the gateway's key is not valid", unsent=True) from error
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
            text = f"{error}, at the relay"
            raise TransportError(text, unsent=error.unsent) from error
        given = media_type(answer.headers.get("content-type", ""))
        if (answer.status, given) != (200, RESPONSE_TYPE):
            why = f"the relay sent its own answer (HTTP {answer.status}), not the collector's"
            if answer.status == _NOT_OPENED and KEY_PROBLEM.encode() in answer.body:
                why = _KEY_GONE
            raise TransportError(why)
        return _opened(opener, answer.body, most)


def _opened(opener: ResponseOpener, sealed: bytes, most: int) -> HttpAnswer:
    try:
        response = BinaryResponse.decode(opener.open(sealed))
    except ObliviousHttpError as error:
        raise TransportError("the relay's answer cannot be opened") from error
    headers = dict(response.headers)
    if headers.get("content-encoding", "identity") != "identity":
        raise TransportError("the answer has a Content-Encoding that was not requested")
    if len(response.body) > most:
        raise TransportError("the answer is too long")
    return HttpAnswer(response.status, headers, response.body)


class Keyring:
    """One collector's gateway keys; every method raises ``StateUnavailable``.

    ``bundled`` came with the app, which is ``pinned`` if it pins the ids of all its surveys;
    ``pin`` is its pinned log.
    """

    def __init__(
        self, authorities: Authorities, bundled: GatewayKeys, pin: NoPin, *, pinned: bool
    ) -> None:
        self.pinned = pinned
        self._pin = pin
        self._authorities = authorities
        self.state = authorities.state
        self._bundled = bundled
        self._opened: dict[tuple[bytes, tuple[bytes, ...]], GatewayKeys] = {}

    @kept
    def newest(self, now: float) -> KeyConfiguration:
        """Return the key to seal for."""
        with self.state.reading(now) as connection:
            return self._known(connection).configurations[0]

    def is_as_bundled(self, connection: sqlite3.Connection | None) -> bool:
        """Return whether the key to seal for came with the app, as on all devices."""
        return self._known(connection) is self._bundled

    @kept
    def learn(self, envelope: bytes, proof: bytes, now: float) -> None:
        """Accept the signed keys that a collector publishes, unless they are known already.

        Raises:
            ManifestRefused: for keys that the log's witnesses have not seen.
            Refusal: for violations of rules 4 and 5; ``bad-signature`` also if the authority may
                have been rotated to a key that this device does not know.
        """
        with self.state.transaction(now) as connection:
            known, chain = self._known(connection), self._authorities.chain(connection)
            offered = open_gateway_keys(envelope, chain)
            if offered == known:
                return
            open_gateway_keys(envelope, chain[-1:])
            if offered.origin != known.origin:
                raise Refusal(
                    RefusalCode.MALFORMED, "the gateway keys are for a different collector"
                )
            if offered.sequence <= known.sequence:
                raise Refusal(
                    RefusalCode.MALFORMED, "the gateway keys are older than this device's"
                )
            key = offered.configurations[0].public_key.hex()
            if why_not := self._pin.why_not(envelope, proof):
                detail = f"the gateway key {key}: {why_not}"
                record_once(connection, now, ManifestFault.NOT_WITNESSED, detail)
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO gateway_keys (origin, envelope, proof)"
                    " VALUES (?, ?, ?)",
                    (known.origin, envelope, self._pin.kept(proof)),
                )
                record_event(connection, now, "gateway-keys", f"number {offered.sequence}, {key}")
        if why_not:
            raise ManifestRefused(ManifestFault.NOT_WITNESSED, detail)

    def _known(self, connection: sqlite3.Connection | None) -> GatewayKeys:
        row = (
            connection
            and connection.execute(
                "SELECT envelope, proof FROM gateway_keys WHERE origin = ?",
                (self._bundled.origin,),
            ).fetchone()
        )
        if not row or self.pinned:
            return self._bundled
        known = [self._bundled]
        with suppress(Refusal, TypeError):  # corrupted bytes, or not signed by the newest key
            key = row[0], self._authorities.chain(connection)[-1:]
            if self._pin.why_not(*row):
                return self._bundled
            if key not in self._opened:
                self._opened = {key: open_gateway_keys(*key)}
            known.append(self._opened[key])
        return max(known, key=lambda keys: keys.sequence)


def bundled_gateway_keys(
    given: bytes | None,
    surveys: Iterable[Survey],
    collector: str,
    authority: bytes,
    pin: NoPin,
) -> GatewayKeys:
    """Return the newest of the app's gateway keys; a relay needs at least one."""
    of_argument: object = given
    if not isinstance(of_argument, bytes | None):
        raise TypeError("gateway_keys must be the signed keys as bytes, not a path to them")
    logged = [] if given is None else [logged_envelope(given)]
    logged += [
        LoggedEnvelope(bundle.gateway, bundle.gateway_proof)
        for survey in surveys
        if (bundle := survey.bundle) is not None and bundle.gateway is not None
    ]
    if not logged:
        raise ValueError(
            "relay needs the collector's gateway keys: run `deniable gateway new` and then "
            "`deniable survey export` for a bundle with them, or pass gateway_keys"
        )
    try:
        keys = [open_gateway_keys(envelope, (authority,)) for envelope, _ in logged]
    except Refusal as error:
        raise ValueError(f"gateway_keys must be signed by the authority: {error}") from error
    if any(one.origin != collector for one in keys):
        raise ValueError(f"gateway_keys must be the keys of {collector}")
    why_not = [pin.why_not(*one) for one in logged]
    if all(why_not):
        raise ValueError(
            f"gateway_keys do not satisfy log_policy: {why_not[0]}; once the keys are in the "
            "public log, `deniable survey export` includes the proof in bundles"
        )
    witnessed = [one for one, why in zip(keys, why_not, strict=True) if not why]
    return max(witnessed, key=lambda one: one.sequence)
