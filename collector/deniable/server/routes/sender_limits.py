"""Limits of senders: an address has its own, and a relay, which speaks for many, another."""

from time import monotonic
from typing import Final

from aiohttp import web

from deniable.directory import Config
from deniable.messages import MAX_UPLOAD_REPORTS, Refusal, RefusalCode
from deniable.server.routes.token_buckets import TokenBuckets
from deniable.server.transport.addresses import Address, is_among, mark, sender

_BURST_SECONDS: Final = 10.0


class SenderLimits:
    """The limits of all who send, in one worker."""

    def __init__(self, config: Config) -> None:
        self._trusted = config.trusted_proxies
        self._relays = config.relays
        self._relayed_from = config.relayed_from
        # A batch that no bucket could ever hold would be refused for good.
        self._of_addresses = buckets(config.address_rate, MAX_UPLOAD_REPORTS)
        self._of_relays = buckets(config.relay_rate, 1)

    def charge(self, request: web.BaseRequest, tokens: float) -> None:
        """Take tokens from the bucket of whoever sent a request.

        Raises:
            Refusal: rate-limited, if it has too few.
        """
        if not (self._of_addresses.limited or self._relays):
            return
        address = self._sender(request)
        of_relay = is_among(address, self._relays)
        limits = self._of_relays if of_relay else self._of_addresses
        if not limits.take(mark(address), tokens):
            raise Refusal(RefusalCode.RATE_LIMITED, "too much from this address")

    def check_relayed(self, request: web.BaseRequest, now: float) -> None:
        """Check that a relay sent a request of the gateway, where nobody else may.

        Raises:
            Refusal: forbidden.
        """
        if self._relayed_from <= now and not is_among(self._sender(request), self._relays):
            raise Refusal(RefusalCode.FORBIDDEN, "this collector takes reports of relays alone")

    def check_direct(self, now: float) -> None:
        """Check that reports may come without a relay; Refusal (forbidden) if not."""
        if self._relayed_from <= now:
            raise Refusal(RefusalCode.FORBIDDEN, "this collector takes reports of relays alone")

    def _sender(self, request: web.BaseRequest) -> Address | None:
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", ()))
        return sender(request.remote or "", forwarded, self._trusted)


def buckets(rate: float, least: float) -> TokenBuckets:
    """Return buckets that hold what flows in within ten seconds, and so much at least."""
    return TokenBuckets(rate, max(rate * _BURST_SECONDS, least), monotonic)
