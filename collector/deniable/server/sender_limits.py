"""Limits of senders: how many reports and requests an address may send.

Addresses are in token buckets in memory, and nowhere else.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Final

from aiohttp import web

from deniable.directory import Config
from deniable.messages import MAX_UPLOAD_REPORTS, Refusal, RefusalCode
from deniable.server.connection_slots import Address, is_among, mark, sender

_MOST_REMEMBERED: Final = 65_536
_BURST_SECONDS: Final = 10.0


class TokenBuckets:
    """A bucket for each sender: ``rate`` tokens flow in per second, up to ``burst``.

    Rate 0 means no limit. Beyond ``most`` senders, the least recent one is dropped first.
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float], most: int = _MOST_REMEMBERED
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, sender: Hashable, tokens: float = 1.0) -> bool:
        """Take tokens from a sender's bucket; if there are too few, take none and return False."""
        if not self._rate:
            return True
        now = self._clock()
        held, at = self._buckets.pop(sender, (self._burst, now))
        held = min(self._burst, held + (now - at) * self._rate)
        enough = held >= tokens
        self._buckets[sender] = (held - tokens if enough else held, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return enough


class SenderLimits:
    """The limits of all senders, in one worker."""

    def __init__(self, config: Config) -> None:
        self._trusted = config.trusted_proxies
        self._relays = config.relays
        self._relayed_from = config.relayed_from
        # A batch larger than any bucket would always be refused.
        self._of_addresses = _buckets(config.address_rate, MAX_UPLOAD_REPORTS)
        self._of_relays = _buckets(config.relay_rate, 1)

    def charge(self, request: web.BaseRequest, tokens: float) -> None:
        """Take tokens from the bucket of a request's sender.

        Raises:
            Refusal: rate-limited, if the bucket has too few.
        """
        address = self._sender(request)
        of_relay = is_among(address, self._relays)
        limits = self._of_relays if of_relay else self._of_addresses
        if not limits.take(mark(address), tokens):
            raise Refusal(RefusalCode.RATE_LIMITED, "too many reports from this address")

    def check_relayed(self, gateway_request: web.BaseRequest | None, now: float) -> None:
        """Check that a relay sent the gateway's request, if only relays may send requests.

        Raises:
            Refusal: forbidden; also for requests without the gateway: None.
        """
        if self._relayed_from <= now and not (
            gateway_request and is_among(self._sender(gateway_request), self._relays)
        ):
            raise Refusal(RefusalCode.FORBIDDEN, "this collector accepts reports only from relays")

    def _sender(self, request: web.BaseRequest) -> Address | None:
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", ()))
        return sender(request.remote or "", forwarded, self._trusted)


def _buckets(rate: float, least: float) -> TokenBuckets:
    """Return buckets for ten seconds' inflow, and at least this much."""
    return TokenBuckets(rate, max(rate * _BURST_SECONDS, least), monotonic)
