"""The authority's key is rotated beside a running collector: old and new devices go on."""

from pathlib import Path
from typing import Any

import pytest

from deniable.client import DAY, Client, HttpTransport, ManifestFault, ManifestRefused, Survey
from deniable.messages import MAX_ROTATIONS_BYTES, sign_manifest
from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import DENIABLE, run
from tests.support.surveys import AUTHORITY, CATEGORIES, QUESTION, manifest
from tests.support.watched import until

DECLARED = Survey(NAME, QUESTION, CATEGORIES, max_epsilon="1")


def device(collector: CollectorProcess, state: Path, **changes: Any) -> Client:
    return collector.device([DECLARED], state, delivery_seconds=0.0, **changes)


def test_devices_of_every_age_follow_a_rotation(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    transport = HttpTransport(collector.origin)

    def published() -> bytes:
        return transport.request("GET", "/v1/authority", {}, b"", MAX_ROTATIONS_BYTES).body

    assert published() == b"\x90"
    with device(collector, tmp_path / "old.sqlite") as client:
        assert client.refresh().errors == {}
    run([*DENIABLE, "authority", "rotate", "--yes", "--dir", collector.directory])
    until(lambda: published() != b"\x90")
    for state in ("old.sqlite", "new.sqlite"):
        with device(collector, tmp_path / state) as client:
            assert client.refresh().errors == {}
            assert client.report(NAME, "good").ok
            assert client.flush().delivered == 1
    # The survey kept its id, so that both are counted together.
    assert sum(collector.shown_counts()) == 2
    assert collector.complaints == ""


@pytest.mark.long
def test_a_stranger_is_not_followed_whatever_the_real_collector_says(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    stranger = manifest(origin=collector.origin, name=NAME)
    assert stranger.schedule.epoch_seconds == DAY
    pinned = AUTHORITY.public_key.hex()
    with device(collector, tmp_path / "device.sqlite", authority=pinned) as client:
        error = client.refresh().errors[NAME]
        assert isinstance(error, ManifestRefused)
        assert error.fault is ManifestFault.BAD_SIGNATURE
    # Nor does a device of the real authority take what the stranger signed from a bundle.
    bundled = [sign_manifest(stranger, AUTHORITY)]
    with device(collector, tmp_path / "other.sqlite", manifests=bundled) as client:
        refused = client.report(NAME, "good").error
        assert isinstance(refused, ManifestRefused)
        assert refused.fault is ManifestFault.BAD_SIGNATURE
