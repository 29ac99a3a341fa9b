"""Sends are counted before they happen: the journal owns up to each, whatever comes in between."""

from collections.abc import Callable

import pytest

from deniable.client import Client, Consent, Delivery, HttpAnswer
from deniable.client.client import engine_of
from deniable.client.transparency.journal import ReportEntry
from deniable.messages import RefusalCode
from tests.support.devices import ACCEPTED, PORTAL, Bench, refused


def entry(client: Client) -> ReportEntry:
    (found,) = [each for each in client.journal().entries if isinstance(each, ReportEntry)]
    return found


def withdraw(client: Client) -> None:
    client.set_consent(Consent.OFF)


def withdraw_and_consent(client: Client) -> None:
    client.set_consent(Consent.OFF)
    client.set_consent(Consent.ON)


MEANWHILE: dict[str, Callable[[Client], None]] = {
    "withdrawn": withdraw,
    "withdrawn and given": withdraw_and_consent,
    "purged": Client.purge,
}


def sent(bench: Bench, meanwhile: Callable[[Client], None], came: HttpAnswer) -> Client:
    """Return a device on which something happened while its one request was under way."""
    client = bench.reported()

    def answer(_body: bytes) -> HttpAnswer:
        meanwhile(client)
        return came

    bench.transport.answer = answer
    client.flush(1)
    return client


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_was_delivered_while_it_was_dropped_is_said_to_be_delivered(
    bench: Bench, what: str
) -> None:
    client = sent(bench, MEANWHILE[what], ACCEPTED)
    found = entry(client)
    assert (found.status, found.verdict) == ("delivered", "accepted")
    assert (found.sends, found.unanswered) == (1, 0)
    assert found.content is None  # the bytes stay erased


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_was_sent_in_vain_while_it_was_dropped_stays_dropped_and_was_sent(
    bench: Bench, what: str
) -> None:
    client = sent(bench, MEANWHILE[what], PORTAL)
    found = entry(client)
    assert found.status == "dropped"
    assert (found.sends, found.unanswered) == (1, 1)  # it may have been counted
    assert client.flush() == Delivery()


def test_a_process_that_dies_while_it_sends_has_counted_the_send(bench: Bench) -> None:
    client = bench.reported()

    def die(_body: bytes) -> HttpAnswer:
        raise KeyboardInterrupt

    bench.transport.answer = die
    with pytest.raises(KeyboardInterrupt):
        client.flush()
    client.close()
    again = bench.client()
    assert (entry(again).sends, entry(again).unanswered) == (1, 1)
    bench.transport.answer = refused(RefusalCode.EPOCH_CLOSED)
    assert again.flush().reasons == {"may-have-been-counted": 1}
    assert (entry(again).sends, entry(again).unanswered) == (2, 1)


def test_nothing_is_sent_that_was_dropped_since_it_was_picked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.reported()
    outbox = engine_of(client).outbox
    pick = outbox.pending

    def picked_too_early(now: float) -> object:
        picked = pick(now)
        client.set_consent(Consent.OFF)
        return picked

    monkeypatch.setattr(outbox, "pending", picked_too_early)
    client.flush()
    assert bench.transport.uploads == []
    assert entry(client).sends == 0
