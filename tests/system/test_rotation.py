"""The authority's key is rotated beside a running collector: old and new devices go on."""

from pathlib import Path

from deniable.client import Client, HttpTransport, Survey
from deniable.messages import MAX_ROTATIONS_BYTES
from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import DENIABLE, run
from tests.support.surveys import CATEGORIES, QUESTION
from tests.support.watched import until

DECLARED = Survey(NAME, QUESTION, CATEGORIES, max_epsilon="1")


def device(collector: CollectorProcess, state: Path) -> Client:
    return collector.device([DECLARED], state, delivery_seconds=0.0)


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
