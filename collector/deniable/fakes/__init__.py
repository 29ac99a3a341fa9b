"""Fakes for the tests of an app that embeds the client: a collector and an issuer.

``Capture`` keeps an app's reports in memory instead. ``FakeCollector`` is a collector in the test's
own process, on a real socket, that misbehaves on request; ``FakeIssuer`` vouches for its devices.
docs/testing.md shows them. In deniable, only the fixture ``deniable_capture`` imports them.
"""

from deniable.fakes.behaviour import (
    AnyMisbehaviour,
    Misbehaviour,
    Problem,
    ReceivedReport,
    ReceivedRequest,
    Refused,
    Route,
)
from deniable.fakes.capture import Capture, CapturedReport
from deniable.fakes.fake_collector import FakeCollector
from deniable.fakes.fake_issuer import FakeIssuer

__all__ = [
    "AnyMisbehaviour",
    "Capture",
    "CapturedReport",
    "FakeCollector",
    "FakeIssuer",
    "Misbehaviour",
    "Problem",
    "ReceivedReport",
    "ReceivedRequest",
    "Refused",
    "Route",
]
