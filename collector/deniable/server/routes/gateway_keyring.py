"""The gateway's keys, as a worker holds them: read anew when their file was replaced."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from deniable.directory import Config, read_gateway_file
from deniable.enrolment import KeyFileError
from deniable.messages import GatewayKeys, Refusal, RefusalCode
from deniable.oblivious_http import PrivateKey
from deniable.server.routes.catalogue import Catalogue

_LOG = logging.getLogger("deniable.collector")
_SECONDS_BETWEEN_LOOKS: Final = 1.0


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The keys that a worker opens requests with, and their list as the authority signed it."""

    signed: bytes
    listed: GatewayKeys
    private: Mapping[int, PrivateKey] = field(repr=False)


class GatewayKeyring:
    """The keys in the file; with none, the collector has no gateway."""

    def __init__(
        self, config: Config, catalogue: Catalogue, clock: Callable[[], float] = monotonic
    ) -> None:
        self._file = config.gateway_keys
        self._origin = config.origin
        self._catalogue = catalogue
        self._clock = clock
        self._looked_at = -_SECONDS_BETWEEN_LOOKS
        self._seen: object = None
        self._held: HeldKeys | None = None

    def read(self) -> HeldKeys:
        """Return the keys; those that are there are looked at once a second at most.

        Raises:
            Refusal: not-found, if there are none.
        """
        now = self._clock()
        if self._held is None or now - self._looked_at >= _SECONDS_BETWEEN_LOOKS:
            self._looked_at = now
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
                raise KeyFileError(f"they are for {listed.origin}")
        except (KeyFileError, OSError) as error:
            _LOG.error("the gateway's keys stay as they were: %s", error)
        else:
            self._held = HeldKeys(gateway.signed, listed, gateway.private_keys())
