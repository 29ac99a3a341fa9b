"""Behind a relay: all is sealed, nothing goes round it, and what does not open is weather (D13)."""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import HttpAnswer, OutcomeStatus, ReportEntry, Survey, TransportError
from deniable.client.optional.relay import Relay as RelayAddress
from deniable.client.optional.relay import RelayTransport
from deniable.messages import (
    Enrolment,
    RefusalCode,
    Rotation,
    Schedule,
    SigningKey,
    sign_manifest,
    sign_rotation,
)
from deniable.messages.bundle import make_bundle
from deniable.messages.gateway import GATEWAY_KEYS_PATH
from deniable.oblivious_http import KeyConfiguration, PrivateKey
from tests.support.devices import ACCEPTED, NAME, Bench, FakeTransport, problem, read_upload
from tests.support.effort import THOROUGH
from tests.support.hostile_collector import HostileCollector, SkewedClock
from tests.support.relays import FATES, RELAY, SEALED, Gateway, HostileRelay, Relay
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, ORIGIN, START, manifest
from tests.support.transports import Call, TransportDouble

NEXT = SigningKey(b"the authority's next seed, 00001")
MANIFESTS = f"/v1/surveys/{NAME}/manifests"


@pytest.fixture
def gateway(bench: Bench) -> Gateway:
    return Gateway(bench.transport)


@pytest.fixture
def relay(gateway: Gateway) -> Relay:
    return Relay(gateway)


@pytest.fixture
def relayed(gateway: Gateway, relay: Relay) -> dict[str, Any]:
    """Return the arguments of a client behind the relay, with the keys as they are now."""
    return {"relay": RELAY, "gateway_keys": gateway.envelope(), "transport": relay}


def paths(gateway: Gateway) -> list[str]:
    return [request.path for request in gateway.opened]


def test_d13_all_that_a_device_sends_goes_sealed_through_the_relay(
    bench: Bench, gateway: Gateway, relay: Relay, relayed: dict[str, Any]
) -> None:
    client = bench.reported(**relayed)
    assert client.flush().delivered == 1
    assert sorted(paths(gateway)[:-1]) == [GATEWAY_KEYS_PATH, MANIFESTS]
    assert paths(gateway)[-1] == "/v1/reports"
    upload = gateway.opened[-1]
    assert upload.headers == (("content-type", "application/msgpack"),)
    assert read_upload(upload.body).report.survey_id == MANIFEST.survey_id
    assert len(set(relay.seen)) == len(relay.seen) == len(gateway.opened)


def test_the_longest_requests_fit_into_the_one_size() -> None:
    """A token of 256 bytes, the last epoch and response, the longest names: all are padded."""
    report = b"\x91" + bytes(1 + 34 + 2 + 53 + 66 + 259)
    collector = f"https://{'a' * 253}:65535"
    seen: list[Call] = []

    class Way(TransportDouble):
        def respond(self, call: Call) -> HttpAnswer:
            seen.append(call)
            return HttpAnswer(502, {}, b"")

    key = KeyConfiguration(0, Gateway(FakeTransport()).keys[1].public_key)
    transport = RelayTransport(Way(), RelayAddress("https://relay", "/"), collector, lambda: key)
    headers = {"Content-Type": "application/msgpack"}
    for method, path, body in (
        ("POST", "/v1/reports", report),
        ("GET", f"/v1/surveys/{'n' * 64}/manifests", b""),
    ):
        with pytest.raises(TransportError):
            transport.request(method, path, headers, body, 100)
    assert {len(call.body) for call in seen} == {1024}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"gateway_keys": None}, "relay needs the collector's gateway keys"),
        ({"relay": "http://relay.example/"}, "http is for 127.0.0.1"),
        ({"relay": "https://user@relay.example/"}, "relay must be https"),
        ({"relay": "https://relay.example/#part"}, "relay must be https"),
        ({"relay": "https://relay.example/a b"}, "relay must be https"),
        ({"relay": "relay.example"}, "relay must be https"),
        ({"gateway_keys": b"\x92"}, "not what the authority signed"),
        ({"authority": NEXT.public_key}, "not what the authority signed"),
        ({"collector": "https://other.example"}, "of another collector"),
        (
            {"collector": "https://relay.example:99", "relay": "https://relay.example/"},
            "another's host",
        ),
    ],
)
def test_a_relay_that_protects_nobody_is_refused_at_construction(
    bench: Bench, relayed: dict[str, Any], arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        bench.client(**{**relayed, **arguments})


def test_the_keys_of_a_bundle_will_do_and_the_newest_are_taken(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    gateway.rotate()
    bundle = make_bundle(bench.transport.envelopes, AUTHORITY.public_key, gateway.envelope())
    bench.surveys = [Survey.bundled(bundle.to_json())]
    del gateway.keys[1]
    for given in (None, relayed["gateway_keys"]):
        client = bench.client(**{**relayed, "gateway_keys": given})
        client.refresh(force=True)
    assert sorted(paths(gateway)) == [*[GATEWAY_KEYS_PATH] * 2, *[MANIFESTS] * 2]


def test_d13_a_report_drawn_under_a_relay_is_never_sent_without_one(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    bench.reported(**relayed).close()
    envelope = bench.envelope
    assert "by way of a relay only" in str(bench.client().journal())
    direct = bench.client()
    for days in range(2):
        bench.clock.time = START + days * 3600
        delivery = direct.flush()
        assert (delivery.delivered, delivery.dropped) == (0, 0)
    assert not bench.transport.uploads
    direct.close()
    assert bench.client(**relayed).flush().delivered == 1
    assert envelope in bench.transport.uploads[0]


def test_what_a_gateway_cannot_open_is_weather_and_told_as_a_key_that_may_be_gone(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    client = bench.reported(**relayed)
    gateway.keys[1] = PrivateKey(bytes(31) + b"\1")
    (why,) = client.flush(timeout=0.1).waiting
    assert why.startswith("unreachable: HTTP 400: the key that this app seals for may be gone")
    assert "an update of the app" in why
    assert bench.rows("SELECT status, unanswered FROM decisions") == [("pending", 1)]


def test_who_must_come_by_a_relay_is_told_so(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    client = bench.reported()
    bench.transport.answer = problem(RefusalCode.FORBIDDEN)
    assert client.flush(timeout=0.1).waiting == {"forbidden": 1}
    assert [line for line in caplog.messages if "(forbidden), but perhaps those of a relay" in line]
    text = " ".join(str(client.journal()).split())
    assert "Last answer forbidden (the collector takes none that come this way" in text


def test_a_report_drawn_without_a_relay_may_go_through_one(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    bench.reported().close()
    assert bench.client(**relayed).flush().delivered == 1
    assert paths(gateway) == ["/v1/reports"]


@pytest.mark.parametrize("change", ["comes", "goes", "is another", "has another path"])
def test_d12_consent_is_for_one_relay_s_host_or_none(
    bench: Bench, relayed: dict[str, Any], change: str
) -> None:
    first = relayed if change != "comes" else {}
    then = relayed if change != "goes" else {}
    if change == "is another":
        then = {**relayed, "relay": "http://127.0.0.1:10/relay?of=all"}
    if change == "has another path":
        then = {**relayed, "relay": "http://127.0.0.1:9/other"}
    with bench.client(consent="unset", **first) as client:
        client.set_consent("on")
        assert not client.uncovered
    uncovered = bench.client(consent="unset", **then).uncovered
    assert bool(uncovered) == (change != "has another path")


# What does not open is no answer.


def _transport(way: TransportDouble, gateway: Gateway) -> RelayTransport:
    key = KeyConfiguration(1, gateway.keys[1].public_key)
    return RelayTransport(way, RelayAddress.at(RELAY, ORIGIN), ORIGIN, lambda: key)


def test_d8_status_date_and_retry_after_are_those_that_were_sealed(
    bench: Bench, gateway: Gateway
) -> None:
    class Dates(Relay):
        def treat(self, call: Call) -> HttpAnswer:
            answer = super().treat(call)
            # RFC 9110, section 8.3.1: a media type in capitals is the same.
            given = {"content-type": f"{SEALED['content-type'].title()}; charset=x"}
            outer = {**given, "date": "Tue, 01 Jan 2097 00:00:00 GMT", "retry-after": "9"}
            return HttpAnswer(answer.status, outer, answer.body)

    bench.transport.answer = HttpAnswer(503, {"retry-after": "7", "date": "today"}, b"full")
    answer = _transport(Dates(gateway), gateway).request("POST", "/v1/reports", {}, b"x", 100)
    assert answer == bench.transport.answer


@pytest.mark.parametrize(
    "fate", sorted(FATES.keys() - {"passes", "repeats", "replays", "delivers late"})
)
def test_d8_what_a_relay_does_itself_is_weather(bench: Bench, gateway: Gateway, fate: str) -> None:
    bench.transport.answer = ACCEPTED
    relay = HostileRelay(gateway, random.Random(7))
    transport = _transport(relay, gateway)

    def ask() -> HttpAnswer:
        return transport.request("POST", "/v1/reports", {}, b"x", 1000)

    relay.honest = True
    assert ask() == ACCEPTED  # and so the relay has an answer of another request
    relay.honest, relay.fate = False, fate
    with pytest.raises(TransportError):
        ask()


def test_an_encoded_or_long_answer_is_none_though_it_opens(bench: Bench, gateway: Gateway) -> None:
    for answer, why in (
        (HttpAnswer(200, {"content-encoding": "gzip"}, b""), "encoded"),
        (HttpAnswer(200, {}, bytes(101)), "too long"),
    ):
        bench.transport.answer = answer
        with pytest.raises(TransportError, match=why):
            _transport(Relay(gateway), gateway).request("POST", "/v1/reports", {}, b"x", 100)


# The gateway's keys.


def learnt(bench: Bench, client_arguments: dict[str, Any]) -> bool:
    """Refresh a day later; tell whether other gateway keys are held then."""
    before = bench.rows("SELECT envelope FROM gateway_keys")
    bench.clock.time += 2 * DAY
    with bench.client(**client_arguments) as client:
        client.refresh(force=True)
    return bench.rows("SELECT envelope FROM gateway_keys") != before


def test_keys_are_refreshed_with_manifests_and_kept_across_starts(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    bench.ready(**relayed).close()
    gateway.rotate()
    assert learnt(bench, relayed)
    del gateway.keys[1]  # what the app came with is gone: only what was kept can be opened
    with bench.client(**relayed) as client:
        assert client.report(NAME, "good").ok
        assert client.flush().delivered == 1
        assert "gateway-keys: number 2" in str(client.journal())
    bench.rows("UPDATE gateway_keys SET envelope = 7")  # bits rot
    with bench.client(**relayed) as client:
        opened = len(gateway.opened)
        client.refresh(force=True)
        assert len(gateway.opened) == opened


@pytest.mark.parametrize("what", ["older", "same number", "other authority", "former key"])
def test_keys_never_go_back_and_are_the_authority_s_newest(
    bench: Bench,
    gateway: Gateway,
    relayed: dict[str, Any],
    what: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench.ready(**relayed).close()
    gateway.rotate()
    assert learnt(bench, relayed)
    gateway.rotate()
    if what in {"older", "same number"}:
        gateway.sequence = 1 if what == "older" else 2
    if what == "other authority":
        gateway.authority = NEXT
    if what == "former key":
        handed = Rotation(AUTHORITY.public_key, NEXT.public_key, 1)
        bench.transport.rotations = [sign_rotation(handed, AUTHORITY, NEXT)]
        bench.transport.publish(manifest(sequence=1), NEXT)
    assert not learnt(bench, relayed)
    assert "no gateway keys were taken" in caplog.text


def test_a_hand_over_of_the_authority_is_followed_for_its_gateway_keys(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    bench.ready(**relayed).close()
    gateway.rotate()
    gateway.authority = NEXT
    handed = Rotation(AUTHORITY.public_key, NEXT.public_key, 1)
    bench.transport.rotations = [sign_rotation(handed, AUTHORITY, NEXT)]
    assert learnt(bench, relayed)
    assert paths(gateway)[-1] == "/v1/authority"


def test_a_former_key_s_list_is_none_once_its_key_handed_over(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    """Whoever stole that key could have signed the highest number."""
    bench.ready(**relayed).close()
    gateway.rotate()
    gateway.sequence = 2**32 - 1
    assert learnt(bench, relayed)
    gateway.authority, gateway.sequence = NEXT, 2
    handed = Rotation(AUTHORITY.public_key, NEXT.public_key, 1)
    bench.transport.rotations = [sign_rotation(handed, AUTHORITY, NEXT)]
    bench.transport.publish(manifest(sequence=1), NEXT)
    assert learnt(bench, relayed)


def test_d10_keys_are_asked_for_once_a_day(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    client = bench.client(**relayed)
    for hours in range(3 * 24):
        bench.clock.time = START + hours * 3600
        client.refresh()
    assert 2 <= paths(gateway).count(GATEWAY_KEYS_PATH) <= 3
    for _ in range(20):
        client.refresh(force=True)
    assert paths(gateway).count(GATEWAY_KEYS_PATH) <= 3 + 8


def test_an_app_that_pins_its_surveys_keeps_the_keys_that_it_came_with(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    gateway.rotate()
    bench.ready(**relayed).close()  # an older version of the app, which took what was offered
    gateway.opened.clear()
    del gateway.keys[2]
    bench.surveys = [replace(DECLARED, pinned_ids={MANIFEST.survey_id.hex()})]
    bench.ready(**relayed)
    assert paths(gateway) == [MANIFESTS]


def test_a_relay_that_consent_does_not_cover_is_asked_for_no_keys(
    bench: Bench, relay: Relay, relayed: dict[str, Any]
) -> None:
    older = bench.client(consent="unset")
    older.set_consent("on", "first start")
    older.close()
    updated = bench.client(**relayed, consent="unset")
    assert updated.uncovered
    updated.refresh(force=True)
    assert relay.seen == []


def test_a_device_whose_key_is_gone_waits_and_keeps_its_reports(
    bench: Bench, gateway: Gateway, relay: Relay, relayed: dict[str, Any]
) -> None:
    """What the gateway says of a key that it does not know, a relay can say as well."""
    client = bench.reported(**relayed)
    seen, opened = len(relay.seen), len(gateway.opened)
    gateway.rotate()
    del gateway.keys[1]
    delivery = client.flush()
    assert (delivery.delivered, delivery.dropped, delivery.pending) == (0, 0, 1)
    client.refresh(force=True)
    assert len(relay.seen) > seen
    assert len(gateway.opened) == opened
    client.close()
    updated = bench.client(**{**relayed, "gateway_keys": gateway.envelope()})
    assert updated.flush().delivered == 1


# A relay that does what it likes.


@pytest.mark.parametrize("seed", range(8 if THOROUGH else 2))
def test_whatever_a_relay_does_nothing_is_lost_doubled_or_sent_seven_times(
    tmp_path: Path, seed: int
) -> None:
    """It drops, delays, repeats, reorders, forges and is down; then three weeks it does its duty.

    So reports are lost only where six sends were, and counted at most once each.
    """
    rng, clock = random.Random(seed), SkewedClock()
    collector = HostileCollector(clock, lambda _: None)
    collector.publish(manifest(schedule=Schedule(START, DAY, 12, 80 * DAY)))
    gateway = Gateway(collector)
    relay = HostileRelay(gateway, rng)
    with Bench(tmp_path) as bench:
        bench.clock = clock
        arguments = {
            "relay": RELAY,
            "gateway_keys": gateway.envelope(),
            "transport": relay,
            "lifetime_epsilon": 100,
        }
        drawn = 0
        for day in range(12 + 21):
            relay.honest = day == 0 or day >= 12
            clock.time = START + day * DAY + rng.randrange(DAY // 2)
            with bench.client(**arguments) as client:
                client.refresh()
                drawn += client.report(NAME, "good").status is OutcomeStatus.RECORDED
                for _ in range(rng.randrange(1, 4)):
                    clock.time += rng.randrange(3600, DAY // 6)
                    client.flush(timeout=300)
            if rng.random() < 0.2:
                gateway.rotate()
        entries = [entry for entry in client.journal().entries if isinstance(entry, ReportEntry)]
    assert len(entries) == drawn == 12
    statuses = Counter(entry.status for entry in entries)
    assert statuses["delivered"] >= 6
    for entry in entries:
        told = collector.told[bytes.fromhex(entry.survey_id), entry.epoch]
        ends = {"dropped": ("unanswered", 6), "delivered": (entry.verdict, entry.sends)}
        assert (entry.verdict, entry.sends) == ends[entry.status]
        assert told.counted or entry.status == "dropped"
        assert entry.sends <= 6
        assert len(told.envelopes) <= 1
    assert len(collector._receipts) <= drawn
    assert len(set(relay.seen)) == len(relay.seen)
    assert len(relay.fates) > len(FATES) / 2


def test_d11_whoever_is_asked_is_told_what_the_relay_sees_and_with_whom_it_could_learn_more(
    bench: Bench, relayed: dict[str, Any]
) -> None:
    for given, behind in ((relayed, True), ({}, False)):
        page = bench.client(**given, manifests=[sign_manifest(MANIFEST, AUTHORITY)]).explain()
        full, brief = (" ".join(text.split()) for text in (str(page), page.brief()))
        assert page.relay == ("http://127.0.0.1:9" if behind else None)
        for text in (full, brief):
            assert ("sealed, by way of http://127.0.0.1:9" in text) is behind
            assert ("hides your network address from the collector" in text) is behind
        who = "the relay and the collector together" if behind else "the collector"
        assert f"Which network address a response came from: {who}" in full
        # Whoever is asked once reads that the app's own backend counts.
        assert ("access log of the app's backend" in brief) is behind
        assert "access log of the app's backend" in full


def test_blind_enrolment_is_promised_with_the_gateway_key_that_came_with_the_app_alone(
    bench: Bench, gateway: Gateway, relayed: dict[str, Any]
) -> None:
    """One key for each device would join its reports, and with the issuer those to an account."""
    keys = Enrolment("blind", issuer="issuer.example", keys=tuple(key.modulus for key in RSA_KEYS))
    survey = manifest(enrolment=keys, schedule=Schedule(START, DAY, 4, DAY))
    bench.transport.publish(survey)
    relayed |= {"manifests": [sign_manifest(survey, AUTHORITY)], "enrol": lambda _: None}
    bench.client(**relayed).refresh(force=True)
    for fetched in (False, True):
        if fetched:
            gateway.rotate()
            assert learnt(bench, relayed)
        said = " ".join(str(bench.client(**relayed).explain()).split())
        assert ("all three together" in said, "built into the app" in said) == (not fetched,) * 2
        assert ("made for this device alone" in said, "Not promised here" in said) == (fetched,) * 2


@pytest.mark.parametrize("other", ["not held", "open", "blind"])
def test_surveys_beside_a_blind_one_that_are_not_blind_show_issuer_and_collector_when_it_is_open(
    bench: Bench, relayed: dict[str, Any], other: str
) -> None:
    keys = Enrolment("blind", issuer="issuer.example", keys=tuple(key.modulus for key in RSA_KEYS))
    blind = manifest(enrolment=keys, schedule=Schedule(START, DAY, 4, DAY))
    bench.transport.publish(blind)
    beside = replace(blind, name="beside")
    if other == "open":
        beside = replace(beside, enrolment=Enrolment())
    if other != "not held":
        bench.transport.publish(beside)
    bench.surveys = [DECLARED, replace(DECLARED, name="beside")]
    relayed |= {"manifests": [sign_manifest(blind, AUTHORITY)], "enrol": lambda _: None}
    client = bench.client(**relayed, lifetime_epsilon="100")
    client.refresh(force=True)
    page = client.explain()
    for said in (" ".join(text.split()) for text in (str(page), page.brief())):
        assert ("all three together" in said) is (other == "blind")
        assert ("other questions, which take no blind token" in said) is (other != "blind")
