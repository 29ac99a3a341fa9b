"""Fakes for the tests of an app that embeds the client: a collector, an issuer and a relay.

``FakeCollector`` is a collector in the test's own process, on a real socket, that misbehaves on
request; ``FakeIssuer`` vouches for its devices, ``FakeRelay`` is between them and the collector.
docs/testing.md shows them. Nothing else in deniable imports them.
"""

from deniable.fakes.behaviour import (
    AnyMisbehaviour,
    Misbehaviour,
    Problem,
    ReceivedReport,
    Refused,
    Route,
)
from deniable.fakes.fake_collector import FakeCollector
from deniable.fakes.fake_parties import FakeIssuer, FakeRelay
from deniable.fakes.loopback import ReceivedRequest

__all__ = [
    "AnyMisbehaviour",
    "FakeCollector",
    "FakeIssuer",
    "FakeRelay",
    "Misbehaviour",
    "Problem",
    "ReceivedReport",
    "ReceivedRequest",
    "Refused",
    "Route",
]
