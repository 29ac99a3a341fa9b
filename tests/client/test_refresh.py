"""Where manifests come from (D6): the app's bundle, or a refresh that asks for very little."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from deniable.client import (
    IN_MEMORY,
    ConsentMissing,
    HttpAnswer,
    ManifestFault,
    ManifestRefused,
    NotReady,
    OutcomeStatus,
    Refresh,
    TransportError,
    manifests,
)
from deniable.client.ledger.admission import SignedManifest, open_trusted
from deniable.messages import SigningKey, sign_manifest
from tests.support.clock import FakeClock
from tests.support.devices import NAME, PORTAL, UNREACHABLE, Bench, FakeTransport
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, START, manifest

OTHER = manifest(name="another")
OTHER_DECLARED = replace(DECLARED, name="another")


class Answering(FakeTransport):
    """Answers every fetch alike."""

    def __init__(self, answer: HttpAnswer | TransportError) -> None:
        super().__init__()
        self.fetched = answer

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
    ) -> HttpAnswer:
        super().request(method, path, headers, body, most)
        if isinstance(self.fetched, TransportError):
            raise self.fetched
        return self.fetched


def test_d7_a_refresh_asks_for_each_declared_survey_and_tells_only_the_id_it_holds(
    bench: Bench,
) -> None:
    bench.transport.publish(OTHER)
    client = bench.client(surveys=[DECLARED, OTHER_DECLARED])
    client.refresh()
    client.refresh()
    asked = [(r.method, r.path, dict(r.headers), r.body) for r in bench.transport.requests]
    paths = [f"/v1/surveys/{name}/manifest" for name in (NAME, "another")]
    etags = [f'"{offered.survey_id.hex()}"' for offered in (MANIFEST, OTHER)]
    first: list[object] = [("GET", path, {}, b"") for path in paths]
    again: list[object] = [
        ("GET", path, {"If-None-Match": etag}, b"") for path, etag in zip(paths, etags, strict=True)
    ]
    assert asked == first + again


def test_an_unchanged_manifest_needs_no_answer(bench: Bench) -> None:
    bench.ready().close()
    client = bench.client(transport=Answering(HttpAnswer(304, {}, b"")))
    assert client.refresh() == Refresh((NAME,), {})


@pytest.mark.parametrize(
    "answer",
    [
        UNREACHABLE,
        HttpAnswer(304, {}, b""),  # of nothing that this device holds
        HttpAnswer(404, {}, b""),
        HttpAnswer(302, {"location": "/"}, b""),
        HttpAnswer(500, {}, sign_manifest(MANIFEST, AUTHORITY)),
        HttpAnswer(200, {}, bytes(3_000_000)),
    ],
)
def test_without_an_answer_the_survey_is_not_ready(
    bench: Bench, answer: HttpAnswer | TransportError
) -> None:
    transport = Answering(answer)
    if isinstance(answer, HttpAnswer) and len(answer.body) > 2_000_000:
        transport.fetched = TransportError("the answer is too long")
    client = bench.client(transport=transport)
    refresh = client.refresh()
    assert refresh.ready == ()
    assert isinstance(refresh.errors[NAME], NotReady)
    assert isinstance(client.report(NAME, "good").error, NotReady)


def test_an_answer_longer_than_any_manifest_is_not_taken(bench: Bench) -> None:
    bench.transport.manifests[NAME] = bytes((1 << 20) + 1025)
    assert isinstance(bench.client().refresh().errors[NAME], NotReady)


def test_a_newer_manifest_that_is_refused_leaves_the_older_one_in_force(bench: Bench) -> None:
    client = bench.ready()
    bench.transport.publish(manifest(sequence=1, epsilon="3"))
    refresh = client.refresh()
    assert refresh.ready == (NAME,)
    assert isinstance(refresh.errors[NAME], ManifestRefused)
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


def asked_after(bench: Bench, seconds: float) -> int:
    """Return how many fetches the thread would make in this time, waking once a minute."""
    client = bench.client()
    client.refresh()
    before = len(bench.transport.requests)
    for _ in range(int(seconds // 60)):
        bench.clock.time += 60
        client._refresh_when_due()
    return len(bench.transport.requests) - before


def test_a_manifest_that_is_held_is_asked_for_again_after_a_day_or_two(bench: Bench) -> None:
    assert asked_after(bench, DAY - 60) == 0
    assert asked_after(bench, 2 * DAY) >= 1


def test_a_manifest_that_did_not_come_is_asked_for_again_within_the_hour(bench: Bench) -> None:
    bench.transport.manifests.clear()
    assert 3 <= asked_after(bench, 3600) <= 6


def test_d8_a_captive_portals_page_delays_the_manifest_no_longer_than_silence(
    bench: Bench,
) -> None:
    bench.transport.manifests[NAME] = PORTAL.body
    assert 3 <= asked_after(bench, 3600) <= 6


def test_d6_a_bundled_manifest_lets_a_device_report_that_was_never_online(bench: Bench) -> None:
    bundled = [sign_manifest(MANIFEST, AUTHORITY)]
    client = bench.client(manifests=bundled, transport=Answering(UNREACHABLE))
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


def test_d6_each_survey_finds_its_own_manifest_in_the_bundle(bench: Bench) -> None:
    bundled = [sign_manifest(offered, AUTHORITY) for offered in (MANIFEST, OTHER)]
    for order in (bundled, bundled[::-1]):
        client = bench.client(manifests=order, surveys=[DECLARED, OTHER_DECLARED], state=IN_MEMORY)
        assert client.report(NAME, "good").ok
        assert client.report("another", "good").ok


def test_a_bundle_never_keeps_a_device_from_fetching_what_is_newer(bench: Bench) -> None:
    bundled = [sign_manifest(offered, AUTHORITY) for offered in (OTHER, MANIFEST)]
    client = bench.client(manifests=[*bundled, b"damaged"], lifetime_epsilon="100")
    for sequence in (1, 2):
        newer = manifest(sequence=sequence)
        bench.transport.publish(newer)
        assert client.refresh().ready == (NAME,)
        held = client._ledger.newest_manifest_id(NAME, START)
        assert held == newer.survey_id


@pytest.mark.parametrize(
    ("bundled", "fault"),
    [
        (b"damaged", ManifestFault.MALFORMED),
        (sign_manifest(MANIFEST, SigningKey(bytes(32))), ManifestFault.BAD_SIGNATURE),
        (sign_manifest(manifest(epsilon="2"), AUTHORITY), ManifestFault.TOO_HIGH_EPSILON),
        (
            sign_manifest(manifest(origin="https://elsewhere.example"), AUTHORITY),
            ManifestFault.WRONG_ORIGIN,
        ),
    ],
)
def test_d2_a_bundled_manifest_is_judged_like_any_other(
    bench: Bench, bundled: bytes, fault: ManifestFault
) -> None:
    client = bench.client(manifests=[bundled])
    error = client.report(NAME, "good").error
    assert isinstance(error, ManifestRefused)
    assert error.fault is fault
    assert bench.draw.count == 0


def test_a_refresh_that_cannot_store_says_so_for_each_survey(bench: Bench) -> None:
    bench.path.mkdir()
    refresh = bench.client(surveys=[DECLARED, OTHER_DECLARED]).refresh()
    assert refresh.ready == ()
    assert set(refresh.errors) == {NAME, "another"}
    assert bench.transport.requests == []


class JumpingClock(FakeClock):
    """A clock whose time of day may be set, which moves nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0.0

    def now(self) -> float:
        return self.time + self.jumped


@pytest.mark.parametrize("jump", [-50 * 365 * DAY, -DAY, DAY, 10 * 365 * DAY])
def test_a_clock_that_jumps_neither_puts_off_the_next_refresh_nor_hastens_it(
    bench: Bench, jump: float
) -> None:
    bench.clock = clock = JumpingClock()
    client = bench.client()
    client.refresh()
    before = len(bench.transport.requests)
    clock.jumped = jump
    client._refresh_when_due()
    assert len(bench.transport.requests) == before
    clock.time += 2 * DAY
    client._refresh_when_due()
    assert len(bench.transport.requests) > before


def test_a_bundled_manifest_is_opened_once_however_often_it_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[bytes] = []

    def counting(envelope: bytes, chain: Sequence[bytes]) -> SignedManifest:
        opened.append(envelope)
        return open_trusted(envelope, chain)

    monkeypatch.setattr(manifests, "open_trusted", counting)
    bundled = [
        sign_manifest(manifest(epsilon="2"), AUTHORITY),
        sign_manifest(MANIFEST, SigningKey(bytes(32))),
        b"damaged",
    ]
    client = bench.client(manifests=bundled)
    errors = [client.report(NAME, "good").error for _ in range(3)]
    assert opened == bundled
    assert [str(error) for error in errors] == [str(errors[0])] * 3
    assert len({id(error) for error in errors}) == 3  # an app may raise each, with its frames


def test_the_verdict_on_a_bundled_manifest_is_not_remembered_beyond_its_reasons(
    bench: Bench,
) -> None:
    bundled = [sign_manifest(MANIFEST, AUTHORITY)]
    client = bench.client(manifests=bundled)
    bench.clock.time = MANIFEST.schedule.end
    error = client.report(NAME, "good").error
    assert isinstance(error, ManifestRefused)
    assert error.fault is ManifestFault.ENDED
    bench.clock.time = START  # the clock was wrong
    assert client.report(NAME, "good").ok


class Withdrawing(FakeTransport):
    """The user withdraws consent while the first answer is under way."""

    def __init__(self) -> None:
        super().__init__(MANIFEST, OTHER)
        self.withdraw: Callable[[], None] = lambda: None

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
    ) -> HttpAnswer:
        answer = super().request(method, path, headers, body, most, timeout)
        self.withdraw()
        return answer


def test_consent_that_ends_during_a_refresh_ends_its_requests(bench: Bench) -> None:
    transport = Withdrawing()
    client = bench.client(transport=transport, surveys=[DECLARED, OTHER_DECLARED])
    transport.withdraw = lambda: client.set_consent("off")
    refreshed = client.refresh()
    assert [request.path for request in transport.requests] == [f"/v1/surveys/{NAME}/manifest"]
    assert {type(error) for error in refreshed.errors.values()} == {ConsentMissing}
    transport.withdraw = lambda: None
    client.set_consent("on")
    assert isinstance(client.report("another", "good").error, NotReady)
    assert set(client.refresh().ready) == {NAME, "another"}
