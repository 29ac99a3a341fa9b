"""The gateway of RFC 9458: devices' requests from a relay, and their sealed answers.

G1. Requests are dispatched in this process, to the handlers that answer the same routes directly,
    and only for devices' routes.
G2. Every request that could be opened gets a sealed answer, even a refusal: the relay sees status
    200 and one of few sizes.
G3. The relay's address, which is charged, and the inner request share no log line or meter.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Final

from aiohttp import web

from deniable.directory import Config
from deniable.directory.gateway_file import read_gateway_file
from deniable.key_files import KeyFileError
from deniable.messages import Refusal, RefusalCode, media_type
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    GatewayKeys,
    encapsulated_answer_bytes,
)
from deniable.oblivious_http import ObliviousHttpError, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM,
    KEYS_TYPE,
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
    encode_list,
)
from deniable.server.connections import read_body
from deniable.server.logging_setup import LogThrottle
from deniable.server.metrics import Meters
from deniable.server.problems import answer_to, plain_problem
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.routing import ROUTES, DeviceHandler, MethodNotAllowed, Router
from deniable.server.sealed_requests import ResponseSealer, decode_request, open_request
from deniable.server.sender_limits import SenderLimits

_LOG = logging.getLogger("deniable.collector")


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The keys with which a worker opens requests, and their signed list."""

    signed: bytes
    listed: GatewayKeys
    private: Mapping[int, PrivateKey] = field(repr=False)


class GatewayKeyring:
    """The keys in the file; without a file, the collector has no gateway."""

    def __init__(self, config: Config, catalogue: Catalogue) -> None:
        self._file = config.gateway_keys
        self._origin = config.origin
        self._catalogue = catalogue
        self._seen: object = None
        self._held: HeldKeys | None = None

    def read(self) -> HeldKeys:
        """Return the keys, which are read again after a change of the file.

        Raises:
            Refusal: not-found, if there are none.
        """
        self._look()
        if self._held is None:
            raise Refusal(RefusalCode.NOT_FOUND, "this collector has no gateway for relays")
        return self._held

    def _look(self) -> None:
        try:
            status = self._file.stat()
        except OSError:
            self._held = self._seen = None
            return
        seen = status.st_ino, status.st_mtime_ns, status.st_size, self._catalogue.chain
        if seen == self._seen:
            return
        self._seen = seen
        try:
            gateway = read_gateway_file(self._file)
            listed = gateway.opened(self._catalogue.chain)
            if listed.origin != self._origin:
                raise KeyFileError(f"the gateway's keys are for {listed.origin}")
        except (KeyFileError, OSError) as error:
            _LOG.error("the previous gateway keys remain in use: %s", error)
        else:
            self._held = HeldKeys(gateway.signed, listed, gateway.private_keys())


_INNER_HEADERS: Final = ("Allow", "Content-Type", "Retry-After")


class Gateway:
    """A collector's gateway: the handler of its well-known path."""

    def __init__(
        self,
        config: Config,
        keyring: GatewayKeyring,
        handlers: Mapping[str, DeviceHandler],
        limits: SenderLimits,
        clock: Callable[[], float],
        meters: Meters,
        throttle: LogThrottle,
    ) -> None:
        self._origin = config.origin
        self._keyring = keyring
        self._router = Router([route for route in ROUTES if route.path in handlers], handlers)
        self._limits = limits
        self._clock = clock
        self._meters = meters
        self._throttle = throttle

    async def answer(self, request: web.BaseRequest, _: str) -> web.Response:
        """Answer a relay's request, or one for the keys."""
        held = self._keyring.read()
        if request.method != "POST":
            listed = encode_list(held.listed.configurations)
            return web.Response(body=listed, headers={"Content-Type": KEYS_TYPE})
        if media_type(request.headers.get("Content-Type", "")) != REQUEST_TYPE:
            raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {REQUEST_TYPE}")
        if (request.content_length or 0) > ENCAPSULATED_REQUEST_BYTES:
            raise Refusal(RefusalCode.TOO_LARGE, f"send exactly {ENCAPSULATED_REQUEST_BYTES} bytes")
        body = await read_body(request)
        try:
            if len(body) != ENCAPSULATED_REQUEST_BYTES:
                raise ObliviousHttpError("every request must have the same size")
            message, sealer = open_request(held.private, body)
        except ObliviousHttpError:
            self._limits.charge(request, 1)
            return plain_problem(400, "the request cannot be opened", KEY_PROBLEM)
        self._meters.requests_relayed.inc()
        return self._sealed(await self._answered(request, message), sealer)

    async def _answered(self, outer: web.BaseRequest, message: bytes) -> web.Response:
        try:
            self._limits.charge(outer, 1)
            self._limits.check_relayed(outer, self._clock())
            request = decode_request(message)
            if f"{request.scheme}://{request.authority}" != self._origin:
                return plain_problem(421, "Misdirected Request")
            if any(name == "expect" for name, _ in request.headers):  # RFC 9458, section 5.1
                return plain_problem(417, "Expectation Failed")
            route, handler, name = self._router.find(request.method, request.path)
            if request.method != route.method:
                raise MethodNotAllowed(route)
            return await handler(request, name)
        except Exception as error:  # noqa: BLE001 - answer_to() logs what is unforeseen
            if isinstance(error, ObliviousHttpError):
                error = Refusal(
                    RefusalCode.MALFORMED, "this is not a binary request of known length"
                )
            return answer_to(error, self._meters, self._throttle)

    def _sealed(self, answer: web.Response, sealer: ResponseSealer) -> web.Response:
        headers = [
            (name.lower(), answer.headers[name])
            for name in _INNER_HEADERS
            if name in answer.headers
        ]
        headers.append(("date", formatdate(int(self._clock()), usegmt=True)))
        assert isinstance(answer.body, bytes)
        encoded = BinaryResponse(answer.status, tuple(headers), answer.body).encode()
        size = encapsulated_answer_bytes(len(encoded) + RESPONSE_OVERHEAD_BYTES)
        sealed = sealer.seal(encoded.ljust(size - RESPONSE_OVERHEAD_BYTES, b"\0"))
        return web.Response(body=sealed, headers={"Content-Type": RESPONSE_TYPE})
