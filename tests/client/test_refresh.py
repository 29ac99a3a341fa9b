"""Where manifests come from (D6): the app's bundle, or a refresh that asks for very little."""

import math
from dataclasses import replace
from unittest.mock import Mock

import pytest

from deniable.client import ConsentMissing, HttpAnswer, ManifestFault, NotReady, TransportError
from deniable.client.client import engine_of
from deniable.client.ledger import admission
from deniable.client.ledger.admission import open_trusted
from deniable.counterparts.bodies import pack_manifests
from deniable.counterparts.signing import sign_manifest
from deniable.messages import SigningKey
from tests.support.devices import NAME, PORTAL, Bench, FakeTransport, fault_of
from tests.support.effort import THOROUGH
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, START, manifest
from tests.support.transports import Call

OTHER = manifest(name="another")
OTHER_DECLARED = replace(DECLARED, name="another")


class Answering(FakeTransport):
    """Answers every fetch alike."""

    def __init__(self, answer: HttpAnswer | TransportError) -> None:
        super().__init__()
        self.fetched = answer
        self.hangs = 0.0

    def respond(self, call: Call) -> HttpAnswer:
        super().respond(call)
        if isinstance(self.fetched, TransportError):
            if self.clock is not None:
                self.clock.time += self.hangs
            raise self.fetched
        return self.fetched


def test_d7_a_refresh_asks_for_each_survey_and_tells_nothing_of_the_device(bench: Bench) -> None:
    # No If-None-Match: it would tell which of several stories a device was told, and be kept
    # through purge and copies.
    bench.transport.publish(OTHER)
    client = bench.client(surveys=[DECLARED, OTHER_DECLARED])
    client.refresh()
    client.purge()
    client.refresh(force=True)
    asked = sorted((r.method, r.path, dict(r.headers), r.body) for r in bench.transport.requests)
    paths = [f"/v1/surveys/{name}/manifests" for name in ("another", "another", NAME, NAME)]
    assert asked == [("GET", path, {}, b"") for path in paths]


def asked_after(bench: Bench, seconds: float) -> int:
    """Return how many fetches the thread would make in this time, waking once a minute."""
    client = bench.client(delivery_seconds=0)
    engine_of(client).refresh_when_due()
    before = len(bench.transport.requests)
    for _ in range(int(seconds // 60)):
        bench.clock.time += 60
        engine_of(client).refresh_when_due()
    client.close()
    return len(bench.transport.requests) - before


def test_d10_a_manifest_that_is_held_is_asked_for_after_a_day_and_more(bench: Bench) -> None:
    assert asked_after(bench, DAY - 60) == 0
    assert asked_after(bench, DAY / 2) == 1


@pytest.mark.parametrize("nothing", [[], [PORTAL.body]])
def test_d10_what_does_not_come_is_asked_ever_seldomer(bench: Bench, nothing: list[bytes]) -> None:
    bench.transport.manifests[NAME] = nothing
    assert 3 <= asked_after(bench, 3600) <= 6
    assert asked_after(bench, DAY) <= 8
    assert asked_after(bench, 3 * DAY) <= 6


def test_d10_who_asks_for_rotations_too_makes_no_nine_requests_a_day(bench: Bench) -> None:
    transport = bench.transport = Answering(PORTAL)  # once, so that eight are not pairs
    strange = pack_manifests([sign_manifest(MANIFEST, SigningKey(bytes(32)))])
    with bench.client() as client:
        for _ in range(10):
            client.refresh(force=True)
            transport.fetched = HttpAnswer(200, {}, strange)
    assert len(transport.requests) == 8


def test_d10_two_versions_of_an_app_on_one_state_ask_once_a_day_each(bench: Bench) -> None:
    versions = [DECLARED, replace(DECLARED, max_epsilon="2")]
    for hour in range(24) if THOROUGH else (0, 1, 11, 12, 23):
        bench.clock.time = START + hour * DAY / 24
        with bench.client(surveys=[versions[hour % 2]]) as client:
            assert client.refresh().ready == (NAME,)
    assert len(bench.transport.requests) == 2
    for start in range(40 if THOROUGH else 12):  # and all together no more than one may
        with bench.client(surveys=[versions[start % 2]]) as client:
            client.refresh(force=True)
    assert len(bench.transport.requests) == 2 + 8  # of two days
    bench.clock.time += 30 * DAY
    bench.client(surveys=[replace(DECLARED, max_epsilon="3")]).refresh()
    assert bench.rows("SELECT count(*) FROM refreshes") == [(1,)]  # the others are gone


def test_d10_the_threads_first_request_comes_at_a_random_time(bench: Bench) -> None:
    client = bench.client()
    engine_of(client).refresh_when_due()
    assert bench.transport.requests == []
    assert 0 < engine_of(client).manifests.next_refresh - bench.clock.monotonic() <= 30
    client.close()
    bench.clock.time += 30
    client = bench.client()  # another start does not draw anew
    engine_of(client).refresh_when_due()
    assert len(bench.transport.requests) == 1


@pytest.mark.parametrize("hangs", [0.0, 20.0])
def test_d10_what_never_left_the_device_does_not_count(bench: Bench, hangs: float) -> None:
    offline = Answering(TransportError("gaierror", unsent=True))
    offline.clock, offline.hangs = bench.clock, hangs
    client = bench.client(transport=offline, delivery_seconds=0)
    for _ in range(30):
        began = bench.clock.time
        engine_of(client).refresh_when_due()
        bench.clock.time = engine_of(client).manifests.next_refresh
        # From try to try, however long a resolver takes.
        assert bench.clock.time - began <= 600
    assert len(offline.requests) == 30
    client = bench.client(delivery_seconds=0)
    engine_of(client).refresh_when_due()
    assert client.report(NAME, "good").ok


def test_an_app_that_changes_its_declaration_asks_at_once(bench: Bench) -> None:
    bench.ready().close()
    bench.transport.publish(manifest(sequence=1, question="How is it now?"))
    client = bench.client(surveys=[replace(DECLARED, question="How is it now?")])
    assert client.refresh().ready == (NAME,)


def test_a_bundle_never_keeps_a_device_from_fetching_what_is_newer(bench: Bench) -> None:
    bundled = [sign_manifest(offered, AUTHORITY) for offered in (OTHER, MANIFEST)]
    client = bench.client(manifests=[*bundled, b"damaged"], lifetime_epsilon="100")
    for sequence in (1, 2):
        newer = manifest(sequence=sequence)
        bench.transport.publish(newer)
        assert client.refresh(force=True).ready == (NAME,)
        with engine_of(client).state.transaction(START) as connection:
            assert engine_of(client).ledger.following.accepted(connection, NAME) == [newer]


def test_d2_a_bundled_manifest_is_judged_like_any_other(bench: Bench) -> None:
    elsewhere = manifest(origin="https://elsewhere.example")
    for bundled, fault in (
        (b"damaged", ManifestFault.MALFORMED),
        (sign_manifest(MANIFEST, SigningKey(bytes(32))), ManifestFault.BAD_SIGNATURE),
        (sign_manifest(manifest(epsilon="2"), AUTHORITY), ManifestFault.TOO_HIGH_EPSILON),
        (sign_manifest(elsewhere, AUTHORITY), ManifestFault.WRONG_ORIGIN),
    ):
        client = bench.client(manifests=[bundled])
        assert fault_of(client.report(NAME, "good").error) is fault
        client.close()
    assert bench.draw.count == 0


def test_a_bundled_manifest_is_opened_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock(side_effect=open_trusted)
    monkeypatch.setattr(admission, "open_trusted", opened)
    bundled = [
        sign_manifest(manifest(epsilon="2"), AUTHORITY),
        sign_manifest(MANIFEST, SigningKey(bytes(32))),
        b"damaged",
    ]
    client = bench.client(manifests=bundled)
    errors = [client.report(NAME, "good").error for _ in range(3)]
    assert [call.args[0] for call in opened.call_args_list] == bundled
    assert [str(error) for error in errors] == [str(errors[0])] * 3
    assert len({id(error) for error in errors}) == 3  # an app may raise each, with its frames


@pytest.mark.parametrize("jump", [-50 * 365 * DAY, -DAY, 2 * DAY, 10 * 365 * DAY])
def test_a_jump_puts_off_a_refresh_by_a_day_and_a_quarter(bench: Bench, jump: float) -> None:
    with bench.client(delivery_seconds=0) as client:
        engine_of(client).refresh_when_due()
    bench.clock.time += jump
    client = bench.client(delivery_seconds=0)
    for _ in range(3):
        engine_of(client).refresh_when_due()
        bench.clock.time += DAY * 5 / 8
    assert len(bench.transport.requests) >= 2


def test_the_verdict_on_a_bundled_manifest_is_forgotten_with_its_reasons(bench: Bench) -> None:
    bundled = [sign_manifest(MANIFEST, AUTHORITY)]
    client = bench.client(manifests=bundled)
    bench.clock.time = MANIFEST.schedule.end
    assert fault_of(client.report(NAME, "good").error) is ManifestFault.ENDED
    bench.clock.time = START  # the clock was wrong
    assert client.report(NAME, "good").ok


def test_consent_that_ends_during_a_refresh_ends_its_requests(bench: Bench) -> None:
    bench.transport.publish(OTHER)
    client = bench.client(surveys=[DECLARED, OTHER_DECLARED])
    bench.transport.meanwhile = lambda _: client.set_consent("off")
    refreshed = client.refresh(force=True)
    # Nothing that came is taken.
    assert bench.rows("SELECT count(*) FROM manifests") == [(0,)]
    assert {type(error) for error in refreshed.errors.values()} == {ConsentMissing}
    bench.transport.meanwhile = lambda _: None
    client.set_consent("on")
    assert isinstance(client.report("another", "good").error, NotReady)
    assert set(client.refresh(force=True).ready) == {NAME, "another"}


def test_a_thread_that_may_not_ask_rests_until_it_is_woken(bench: Bench) -> None:
    client = bench.client(consent="unset", delivery_seconds=0)
    assert engine_of(client).run_maintenance() == math.inf
    client.set_consent("on")
    assert isinstance(client.report(NAME, "good").error, NotReady)  # and not the lack of consent
    assert engine_of(client).run_maintenance() > DAY / 2
    assert client.report(NAME, "good").ok


def test_a_foreign_manifest_keeps_out_none_that_came_with_it(bench: Bench) -> None:
    foreign = sign_manifest(manifest(sequence=9), SigningKey(bytes(32)))
    bench.transport.manifests[NAME] = [sign_manifest(MANIFEST, AUTHORITY), foreign]
    bench.transport.rotations = [b"nonsense"]
    assert bench.client().refresh().ready == (NAME,)


def test_d10_doubt_about_the_time_asks_once(bench: Bench) -> None:
    bench.reported()
    bench.path.unlink()
    for _ in range(24):
        client = bench.client(delivery_seconds=0)
        bench.transport.clock = None  # a collector that tells no date
        client.refresh()
        client.close()
        bench.clock.time += 600
    assert len(bench.transport.requests) == 2


def test_no_timeout_makes_a_refresh_raise(bench: Bench) -> None:
    for timeout in (math.inf, 1e12, -5.0, 0.0):
        bench.client().refresh(timeout)
