"""Doubles for the tests of an app that embeds the client; nothing else of deniable imports them.

``Capture`` keeps what the app reports in memory; with pytest it is the fixture
``deniable_capture``. ``FakeCollector`` is a collector in the test's own process, on a real socket,
that misbehaves when told to; ``FakeIssuer`` vouches for its devices, ``FakeRelay`` stands between
them and the collector. docs/testing.md shows them.
"""

from deniable.client.testing.capture import Capture, CapturedReport
from deniable.client.testing.fake_collector import FakeCollector
from deniable.client.testing.fake_issuer import FakeIssuer
from deniable.client.testing.fake_relay import FakeRelay
from deniable.client.testing.honest import ReceivedReport
from deniable.client.testing.loopback import ReceivedRequest
from deniable.client.testing.misbehaviour import (
    MANIFEST_MISBEHAVIOURS,
    UPLOAD_MISBEHAVIOURS,
    AnyMisbehaviour,
    Misbehaviour,
    Problem,
    Refused,
    Route,
)

__all__ = [
    "MANIFEST_MISBEHAVIOURS",
    "UPLOAD_MISBEHAVIOURS",
    "AnyMisbehaviour",
    "Capture",
    "CapturedReport",
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
