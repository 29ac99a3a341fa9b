"""Behind a relay: all is sealed, nothing goes round it, and what does not open is weather (D13)."""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import HttpAnswer, OutcomeStatus, Survey, TransportError
from deniable.client.optional.relay import Relay as RelayAddress
from deniable.client.optional.relay import RelayTransport
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Enrolment, Manifest, RefusalCode, Schedule, SigningKey
from deniable.messages.bundle import make_bundle
from deniable.messages.gateway import GATEWAY_KEYS_PATH
from deniable.oblivious_http import KeyConfiguration
from tests.support.devices import (
    ACCEPTED,
    NAME,
    Bench,
    FakeTransport,
    entries_of,
    problem,
    read_upload,
)
from tests.support.effort import THOROUGH
from tests.support.hostile_collector import HostileCollector, SkewedClock
from tests.support.relays import FATES, RELAY, SEALED, Gateway, HostileRelay, Relay
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import (
    AUTHORITY,
    DAY,
    DECLARED,
    MANIFEST,
    ORIGIN,
    START,
    manifest,
    rotation,
)
from tests.support.transports import Call, TransportDouble

NEXT = SigningKey(b"the authority's next seed, 00001")
HANDED = rotation(AUTHORITY, NEXT)
MANIFESTS = f"/v1/surveys/{NAME}/manifests"
BLIND_KEYS = tuple(key.modulus for key in RSA_KEYS)


class Behind(Bench):
    """A bench whose clients are behind the relay, with the keys as they were in the beginning.

    Attributes:
        direct: what makes a client one without a relay.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gateway = Gateway(self.transport)
        self.relay = Relay(self.gateway)
        keys = self.gateway.envelope()
        self.way: dict[str, Any] = {"relay": RELAY, "gateway_keys": keys, "transport": self.relay}
        self.direct = {"relay": None, "gateway_keys": None, "transport": self.transport}

    def client(self, **changes: Any) -> Any:
        return super().client(**{**self.way, **changes})

    def paths(self) -> list[str]:
        return [request.path for request in self.gateway.opened]

    def learnt(self) -> bool:
        """Refresh a day later; tell whether other gateway keys are held then."""
        before = self.rows("SELECT envelope FROM gateway_keys")
        self.clock.time += 2 * DAY
        with self.client() as client:
            client.refresh(force=True)
        return self.rows("SELECT envelope FROM gateway_keys") != before


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    with Behind(tmp_path) as bench:
        yield bench


@pytest.fixture
def gateway(bench: Behind) -> Gateway:
    return bench.gateway


def test_d13_all_that_a_device_sends_goes_sealed_through_the_relay(bench: Behind) -> None:
    assert bench.reported().flush().delivered == 1
    assert sorted(bench.paths()[:-1]) == [GATEWAY_KEYS_PATH, MANIFESTS]
    upload = bench.gateway.opened[-1]
    assert upload.path == "/v1/reports"
    assert upload.headers == (("content-type", "application/msgpack"),)
    assert read_upload(upload.body).report.survey_id == MANIFEST.survey_id
    assert len(set(bench.relay.seen)) == len(bench.relay.seen) == len(bench.gateway.opened)


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
    longest = f"/v1/surveys/{'n' * 64}/manifests"
    for method, path, body in (("POST", "/v1/reports", report), ("GET", longest, b"")):
        with pytest.raises(TransportError):
            transport.request(method, path, headers, body, 100)
    assert {len(call.body) for call in seen} == {1024}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"gateway_keys": None}, "relay needs the collector's gateway keys"),
        ({"relay": "http://relay.example/"}, "http is only for 127.0.0.1"),
        ({"relay": "https://user@relay.example/"}, "relay must be https"),
        ({"relay": "https://relay.example/#part"}, "relay must be https"),
        ({"relay": "https://relay.example/a b"}, "relay must be https"),
        ({"relay": "relay.example"}, "relay must be https"),
        ({"gateway_keys": b"\x92"}, "must be signed by the authority"),
        ({"authority": NEXT.public_key}, "must be signed by the authority"),
        ({"collector": "https://other.example"}, "must be the keys of https://other.example"),
        ({"collector": "https://r.example:99", "relay": "https://r.example/"}, "another host"),
    ],
)
def test_a_useless_relay_is_refused(bench: Behind, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        bench.client(**arguments)


def test_the_keys_of_a_bundle_will_do_and_the_newest_are_taken(bench: Behind) -> None:
    bench.gateway.rotate()
    envelopes, newer = bench.transport.envelopes, bench.gateway.envelope()
    bundle = make_bundle(envelopes, AUTHORITY.public_key, newer)
    bench.surveys = [Survey.bundled(bundle.to_json())]
    del bench.gateway.keys[1]
    for given in (None, bench.way["gateway_keys"]):
        bench.client(gateway_keys=given).refresh(force=True)
    assert sorted(bench.paths()) == [*[GATEWAY_KEYS_PATH] * 2, *[MANIFESTS] * 2]


def test_d13_a_report_drawn_under_a_relay_is_never_sent_without_one(bench: Behind) -> None:
    bench.reported().close()
    envelope = bench.envelope
    direct = bench.client(**bench.direct)
    assert "through a relay only" in str(direct.journal())
    for hours in range(2):
        bench.clock.time = START + hours * 3600
        delivery = direct.flush()
        assert (delivery.delivered, delivery.dropped) == (0, 0)
    assert not bench.transport.uploads
    direct.close()
    assert bench.client().flush().delivered == 1
    assert envelope in bench.transport.uploads[0]


def test_a_report_drawn_without_a_relay_may_go_through_one(bench: Behind) -> None:
    bench.reported(**bench.direct).close()
    assert bench.client().flush().delivered == 1
    assert bench.paths() == ["/v1/reports"]


def test_what_a_gateway_cannot_open_is_weather_and_said_to_be_a_lost_key(
    bench: Behind, caplog: pytest.LogCaptureFixture
) -> None:
    """What the gateway says of a key that it does not know, a relay can say as well."""
    client, gateway = bench.reported(), bench.gateway
    seen, opened = len(bench.relay.seen), len(gateway.opened)
    gateway.rotate()
    del gateway.keys[1]
    delivery = client.flush(timeout=0.1)
    (why,) = [line for line in caplog.messages if "HTTP 400: the gateway may no longer" in line]
    assert "an app update" in why
    assert (delivery.delivered, delivery.dropped, delivery.pending) == (0, 0, 1)
    assert bench.rows("SELECT status, unanswered FROM decisions") == [("pending", 1)]
    client.refresh(force=True)
    assert len(bench.relay.seen) > seen
    assert len(gateway.opened) == opened
    client.close()
    assert bench.client(gateway_keys=gateway.envelope()).flush().delivered == 1


def test_who_must_come_by_relay_is_told(bench: Behind, caplog: pytest.LogCaptureFixture) -> None:
    client = bench.reported(**bench.direct)
    bench.transport.answer = problem(RefusalCode.FORBIDDEN)
    assert client.flush(timeout=0.1).pending == 1
    assert [
        line
        for line in caplog.messages
        if "(forbidden), but may accept reports from a relay" in line
    ]
    text = " ".join(str(client.journal()).split())
    assert "Last answer forbidden (the collector refuses reports sent this way" in text


def test_d12_consent_is_for_one_relay_s_host_or_none(bench: Behind) -> None:
    another, path = ("http://127.0.0.1:10/relay?of=all", "http://127.0.0.1:9/other")
    for first, then, covered in (
        (bench.direct, bench.way, False),
        (bench.way, bench.direct, False),
        (bench.way, {"relay": another}, False),
        (bench.way, {"relay": path}, True),
    ):
        bench.path = bench.path.with_name(f"{bench.path.name}+")
        with bench.client(consent="unset", **first) as client:
            client.set_consent("on", "first start")
            assert not client.uncovered
        updated = bench.client(consent="unset", **then)
        assert (not updated.uncovered) == covered
        if not covered:
            seen = len(bench.relay.seen)
            updated.refresh(force=True)
            assert len(bench.relay.seen) == seen  # nor is it asked for keys


def _transport(way: TransportDouble, gateway: Gateway) -> RelayTransport:
    key = KeyConfiguration(1, gateway.keys[1].public_key)
    return RelayTransport(way, RelayAddress.at(RELAY, ORIGIN), ORIGIN, lambda: key)


def test_d8_status_date_and_retry_after_are_those_sealed(bench: Behind, gateway: Gateway) -> None:
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
def test_d8_what_a_relay_does_itself_is_weather(bench: Behind, fate: str) -> None:
    bench.transport.answer = ACCEPTED
    relay = HostileRelay(bench.gateway, random.Random(7))
    transport = _transport(relay, bench.gateway)
    relay.honest = True  # and so the relay has an answer of another request
    assert transport.request("POST", "/v1/reports", {}, b"x", 1000) == ACCEPTED
    relay.honest, relay.fate = False, fate
    with pytest.raises(TransportError):
        transport.request("POST", "/v1/reports", {}, b"x", 1000)


def test_an_encoded_or_long_answer_is_none_though_it_opens(bench: Behind, gateway: Gateway) -> None:
    encoded = HttpAnswer(200, {"content-encoding": "gzip"}, b"")
    for answer, why in ((encoded, "Encoding"), (HttpAnswer(200, {}, bytes(101)), "too long")):
        bench.transport.answer = answer
        with pytest.raises(TransportError, match=why):
            _transport(Relay(gateway), gateway).request("POST", "/v1/reports", {}, b"x", 100)


def test_keys_are_refreshed_with_manifests_and_stay_kept(bench: Behind, gateway: Gateway) -> None:
    bench.ready().close()
    gateway.rotate()
    assert bench.learnt()
    del gateway.keys[1]  # what the app came with is gone: only what was kept can be opened
    with bench.client() as client:
        assert client.report(NAME, "good").ok
        assert client.flush().delivered == 1
        assert "gateway-keys: number 2" in str(client.journal())
    bench.rows("UPDATE gateway_keys SET envelope = 7")  # bits rot
    with bench.client() as client:
        opened = len(gateway.opened)
        client.refresh(force=True)
        assert len(gateway.opened) == opened


@pytest.mark.parametrize("what", ["older", "same number", "other authority", "former key"])
def test_keys_never_go_back_and_are_the_authority_s_newest(
    bench: Behind, gateway: Gateway, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench.ready().close()
    gateway.rotate()
    assert bench.learnt()
    gateway.rotate()
    gateway.sequence = {"older": 1, "same number": 2}.get(what, gateway.sequence)
    if what == "other authority":
        gateway.authority = NEXT
    if what == "former key":
        bench.transport.rotations = [HANDED]
        bench.transport.publish(manifest(sequence=1), NEXT)
    assert not bench.learnt()
    assert "no gateway keys were accepted" in caplog.text


def test_a_hand_over_of_the_authority_is_followed_for_its_gateway_keys(bench: Behind) -> None:
    bench.ready().close()
    bench.gateway.rotate()
    bench.gateway.authority = NEXT
    bench.transport.rotations = [HANDED]
    assert bench.learnt()
    assert bench.paths()[-1] == "/v1/authority"


def test_a_former_key_s_list_is_none_once_it_handed_over(bench: Behind, gateway: Gateway) -> None:
    """Whoever stole that key could have signed the highest number."""
    bench.ready().close()
    gateway.rotate()
    gateway.sequence = 2**32 - 1
    assert bench.learnt()
    gateway.authority, gateway.sequence = NEXT, 2
    bench.transport.rotations = [HANDED]
    bench.transport.publish(manifest(sequence=1), NEXT)
    assert bench.learnt()


def test_d10_keys_are_asked_for_once_a_day(bench: Behind) -> None:
    client = bench.client()
    for hours in range(0, 3 * 24, 1 if THOROUGH else 3):
        bench.clock.time = START + hours * 3600
        client.refresh()
    assert 2 <= bench.paths().count(GATEWAY_KEYS_PATH) <= 3
    for _ in range(20):
        client.refresh(force=True)
    assert bench.paths().count(GATEWAY_KEYS_PATH) <= 3 + 8


def test_an_app_that_pins_its_surveys_keeps_the_keys_that_it_came_with(bench: Behind) -> None:
    bench.gateway.rotate()
    bench.ready().close()  # an older version of the app, which took what was offered
    bench.gateway.opened.clear()
    del bench.gateway.keys[2]
    bench.surveys = [replace(DECLARED, pinned_ids={MANIFEST.survey_id.hex()})]
    bench.ready()
    assert bench.paths() == [MANIFESTS]


@pytest.mark.parametrize("seed", range(8 if THOROUGH else 1))
def test_whatever_a_relay_does_nothing_is_lost_or_doubled(tmp_path: Path, seed: int) -> None:
    """It drops, delays, repeats, reorders, forges and is down; then three weeks it does its duty.

    So reports are lost only where six sends were, and counted at most once each.
    """
    rng, clock = random.Random(seed), SkewedClock()
    collector = HostileCollector(clock, lambda _: None)
    collector.publish(manifest(schedule=Schedule(START, DAY, 12, 80 * DAY)))
    gateway = Gateway(collector)
    relay, keys = HostileRelay(gateway, rng), gateway.envelope()
    way = {"relay": RELAY, "gateway_keys": keys, "transport": relay, "lifetime_epsilon": 100}
    with Bench(tmp_path) as bench:
        bench.clock = clock
        drawn = 0
        for day in range(12 + 21):
            relay.honest = day == 0 or day >= 12
            clock.time = START + day * DAY + rng.randrange(DAY // 2)
            with bench.client(**way) as client:
                client.refresh()
                drawn += client.report(NAME, "good").status is OutcomeStatus.RECORDED
                for _ in range(rng.randrange(1, 4)):
                    clock.time += rng.randrange(3600, DAY // 6)
                    client.flush(timeout=300)
            if rng.random() < 0.2:
                gateway.rotate()
        entries = entries_of(client.journal(), "report")
    assert len(entries) == drawn == 12
    assert Counter(entry.status for entry in entries)["delivered"] >= 6
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


def test_d11_whoever_is_asked_is_told_what_relay_and_collector_learn(bench: Behind) -> None:
    for given, behind in ((bench.way, True), (bench.direct, False)):
        page = bench.client(**given, manifests=[sign_manifest(MANIFEST, AUTHORITY)]).explain()
        full, brief = (" ".join(text.split()) for text in (str(page), page.brief()))
        for text in (full, brief):
            assert ("sealed, through http://127.0.0.1:9" in text) is behind
            assert ("hides your network address from the collector" in text) is behind
        who = "the relay and the collector together" if behind else "the collector"
        assert f"Which network address a response came from: {who}" in full
        # Whoever is asked once reads that the app's own backend counts.
        assert ("access log of the app's backend" in brief) is behind
        assert "access log of the app's backend" in full


def blind(bench: Behind) -> Manifest:
    """Publish a survey of blind tokens, which every client is given; return it."""
    keys = Enrolment("blind", issuer="issuer.example", keys=BLIND_KEYS)
    survey = manifest(enrolment=keys, schedule=Schedule(START, DAY, 4, DAY))
    bench.transport.publish(survey)
    bench.way |= {"manifests": [sign_manifest(survey, AUTHORITY)], "enrol": lambda _: None}
    return survey


def test_blind_enrolment_is_promised_with_the_key_that_the_app_has_alone(bench: Behind) -> None:
    """One key for each device would join its reports, and with the issuer those to an account."""
    blind(bench)
    bench.client().refresh(force=True)
    for fetched in (False, True):
        if fetched:
            bench.gateway.rotate()
            assert bench.learnt()
        said = " ".join(str(bench.client().explain()).split())
        assert ("all three together" in said) is not fetched
        assert ("made only for this device" in said) is fetched


@pytest.mark.parametrize("other", ["not held", "open", "blind"])
def test_surveys_beside_a_blind_one_show_when_it_is_open(bench: Behind, other: str) -> None:
    beside = replace(blind(bench), name="beside")
    if other == "open":
        beside = replace(beside, enrolment=Enrolment())
    if other != "not held":
        bench.transport.publish(beside)
    bench.surveys = [DECLARED, replace(DECLARED, name="beside")]
    client = bench.client(lifetime_epsilon="100")
    client.refresh(force=True)
    page = client.explain()
    for said in (" ".join(text.split()) for text in (str(page), page.brief())):
        assert ("all three together" in said) is (other == "blind")
        assert ("other questions, which use no blind token" in said) is (other != "blind")
