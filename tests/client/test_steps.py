"""How many steps a call takes: what is opened, and how often the disk is waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from deniable.client import Client, OutcomeStatus, Survey
from deniable.messages import Manifest
from deniable.messages.bundle import make_bundle
from tests.support.devices import NAME, Bench
from tests.support.surveys import AUTHORITY, DAY


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the payloads of the manifests that are read from now on."""
    payloads: list[bytes] = []
    real = Manifest.from_payload

    def counted(payload: bytes) -> Manifest:
        payloads.append(payload)
        return real(payload)

    monkeypatch.setattr(Manifest, "from_payload", counted)
    return payloads


@contextmanager
def written(client: Client, now: float) -> Iterator[Callable[[], int]]:
    """Tell how many transactions have held the writer lock."""
    with client._state.transaction(now) as connection:
        pass
    begun: list[str] = []
    connection.set_trace_callback(begun.append)
    yield lambda: begun.count("BEGIN IMMEDIATE")
    connection.set_trace_callback(None)


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a bundle"])
def test_a_first_report_reads_what_came_with_the_app_once(
    bench: Bench, read: list[bytes], alone: bool
) -> None:
    if alone:
        client = bench.client(manifests=bench.transport.envelopes)
    else:
        bundle = make_bundle(bench.transport.envelopes, AUTHORITY.public_key)
        client = bench.client(surveys=[Survey.bundled(bundle.to_json())])
        read.remove(read[0])  # when the file was made
    assert client.report(NAME, "good", strict=True).status is OutcomeStatus.RECORDED
    assert len(read) == 1


def test_a_report_is_one_write_and_sending_it_four(bench: Bench) -> None:
    client = bench.ready()
    client.report(NAME, "good", strict=True)
    bench.clock.time += DAY
    with written(client, bench.clock.time) as count:
        client.report(NAME, "good", strict=True)
        assert count() == 1
    client.flush()
    bench.clock.time += DAY
    client.report(NAME, "good", strict=True)
    with written(client, bench.clock.time) as count:
        assert client.flush().delivered == 1
        assert count() <= 4
