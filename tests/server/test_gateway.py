"""The gateway: what a relay passes on is answered as directly, and always sealed (G1 to G3)."""

import logging
from dataclasses import replace
from email.utils import parsedate_to_datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
from aiohttp import ClientResponse

from deniable.directory.gateway_file import (
    first_gateway,
    read_gateway_file,
    rotated_gateway,
    sign_gateway_anew,
    write_gateway_file,
)
from deniable.directory.store_source import shown_counts
from deniable.messages import (
    RefusalCode,
    SigningKey,
    UploadAnswer,
    pack_upload,
    read_problem,
    split_logged,
)
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    GATEWAY_KEYS_PATH,
    GATEWAY_PATH,
    open_gateway_keys,
)
from deniable.messages.schedule import EARLY_SECONDS
from deniable.oblivious_http import BinaryRequest, KeyConfiguration
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM,
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    ResponseOpener,
    decode_list,
    seal_request,
)
from deniable.server.routes import uploads
from tests.server.collector import Collector, problem, running
from tests.support.reports import envelope
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START

SCHEME, HOST = ORIGIN.split("://")
INNER = ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES
TYPE = (("content-type", "application/msgpack"),)
REPORT = BinaryRequest(*("POST", SCHEME, HOST, "/v1/reports"), TYPE, pack_upload([envelope(1, 0)]))
MANIFESTS = BinaryRequest("GET", SCHEME, HOST, f"/v1/surveys/{MANIFEST.name}/manifests")
FILE = "gateway.json"
CHAIN = (AUTHORITY.public_key,)


def gateway_at(directory: Path) -> KeyConfiguration:
    """Make a collector's first gateway key; return what devices seal for."""
    write_gateway_file(directory / FILE, first_gateway(ORIGIN, AUTHORITY, START))
    return read_gateway_file(directory / FILE).opened(CHAIN).configurations[0]


@pytest.fixture
def key(collector: Collector, tmp_path: Path) -> KeyConfiguration:
    """Return the key of the collector's gateway."""
    assert collector.config.gateway_keys == tmp_path / FILE
    return gateway_at(tmp_path)


def seal(key: KeyConfiguration, request: BinaryRequest) -> tuple[bytes, ResponseOpener]:
    return seal_request(key, request.encode(INNER))


async def post(collector: Collector, body: bytes, **headers: str) -> ClientResponse:
    headers = {"Content-Type": REQUEST_TYPE} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return await collector.client.post(GATEWAY_PATH, data=body, headers=headers)


async def relay(
    collector: Collector, key: KeyConfiguration, request: BinaryRequest, **headers: str
) -> tuple[BinaryResponse, int]:
    """Return what a device gets through a relay, and the size that the relay sees."""
    sealed, opener = seal(key, request)
    assert len(sealed) == ENCAPSULATED_REQUEST_BYTES
    answer = await post(collector, sealed, **headers)
    assert (answer.status, answer.content_type) == (200, RESPONSE_TYPE)
    body = await answer.read()
    return BinaryResponse.decode(opener.open(body)), len(body)


def code_of(answer: BinaryResponse) -> RefusalCode | None:
    return read_problem(answer.body, dict(answer.headers)["content-type"], answer.status)


async def test_devices_are_answered_as_directly(
    collector: Collector, key: KeyConfiguration
) -> None:
    counted, size = await relay(collector, key, REPORT)
    assert UploadAnswer.from_json(counted.body, 1) == UploadAnswer(1, 0)
    assert size == 512
    assert await collector.send(envelope(1, 0)) == UploadAnswer(0, 1)
    for path in (MANIFESTS.path, "/v1/authority", GATEWAY_KEYS_PATH):
        there = await collector.client.get(path)
        answer, _ = await relay(collector, key, replace(MANIFESTS, path=path))
        assert (answer.status, answer.body) == (200, await there.read())
        assert dict(answer.headers).keys() == {"content-type", "date"}
        assert parsedate_to_datetime(dict(answer.headers)["date"]).timestamp() == int(START)
    assert open_gateway_keys(split_logged(answer.body).envelope, CHAIN).configurations == (key,)
    keys = await collector.client.get(GATEWAY_PATH)
    assert keys.content_type == "application/ohttp-keys"
    assert decode_list(await keys.read()) == (key,)
    assert collector.total("requests_relayed") == 4
    assert collector.total("reports_accepted") == 1


UNSUPPORTED = (415, "unsupported-media-type")
NOT_FOUND = (404, "not-found")
WRONG: list[tuple[BinaryRequest, tuple[int, str | None]]] = [
    (replace(REPORT, body=b"\xc0"), (400, "malformed")),
    (replace(REPORT, headers=()), UNSUPPORTED),
    (replace(REPORT, headers=(*TYPE, ("content-encoding", "gzip"))), UNSUPPORTED),
    (replace(REPORT, headers=(*TYPE, ("expect", "100-continue"))), (417, None)),
    (replace(REPORT, method="GET", body=b""), (405, None)),
    (replace(MANIFESTS, method="HEAD"), (405, None)),
    (replace(MANIFESTS, path="/v1/surveys/unknown/manifests"), NOT_FOUND),
    # Of what others ask, nothing is answered: not what an address would tell from another's.
    (replace(MANIFESTS, path="/v1/surveys"), NOT_FOUND),
    (replace(MANIFESTS, path=f"/v1/surveys/{MANIFEST.name}/histogram"), NOT_FOUND),
    (replace(MANIFESTS, path="/metrics"), NOT_FOUND),
    (replace(MANIFESTS, path=GATEWAY_PATH), NOT_FOUND),
    (replace(MANIFESTS, path=f"{MANIFESTS.path}?x=1"), NOT_FOUND),
    (replace(MANIFESTS, authority="elsewhere.example"), (421, None)),
    (replace(MANIFESTS, scheme="ftp"), (421, None)),
]


async def test_what_is_wrong_inside_is_sealed(collector: Collector, key: KeyConfiguration) -> None:
    for request, (status, code) in WRONG:
        answer, size = await relay(collector, key, request)
        assert (answer.status, size) == (status, 512), request
        assert code_of(answer) == (None if code is None else RefusalCode(code))
    sealed, opener = seal_request(key, b"\2".ljust(INNER, b"\0"))  # of indeterminate length
    body = await (await post(collector, sealed)).read()
    answer = BinaryResponse.decode(opener.open(body))
    assert (answer.status, code_of(answer)) == (400, RefusalCode.MALFORMED)
    assert collector.total("requests_failed") == 0


async def test_what_does_not_open_is_told_as_the_standard_has_it(
    collector: Collector, key: KeyConfiguration
) -> None:
    sealed, _ = seal(key, REPORT)
    unknown, _ = seal(replace(key, key_id=9), REPORT)
    short, _ = seal_request(key, REPORT.encode())
    altered = sealed[:-1] + bytes((sealed[-1] ^ 1,))
    for broken in (unknown, altered, bytes(1024), sealed[:7] + bytes(32) + sealed[39:], short):
        answer = await post(collector, broken)
        assert answer.status == 400
        said = await answer.json(content_type="application/problem+json")
        assert said["type"] == KEY_PROBLEM
    assert await problem(await post(collector, sealed + b"\0")) == (413, "too-large")
    answer = await post(collector, sealed, Content_Type="application/octet-stream")
    assert await problem(answer) == (415, "unsupported-media-type")
    assert (await collector.client.put(GATEWAY_PATH)).status == 405
    assert collector.total("requests_relayed") == 0
    assert collector.total("reports_accepted") == 0


async def test_without_keys_there_is_no_gateway_and_with_them_at_once(
    collector: Collector, tmp_path: Path
) -> None:
    for path in (GATEWAY_PATH, GATEWAY_KEYS_PATH):
        assert await problem(await collector.client.get(path)) == (404, "not-found")
    assert await problem(await post(collector, bytes(1024))) == (404, "not-found")
    answer, _ = await relay(collector, gateway_at(tmp_path), MANIFESTS)
    assert answer.status == 200


async def test_keys_are_read_anew_and_what_an_older_one_sealed_opens_while_it_is_needed(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / FILE
    old = gateway_at(tmp_path)
    schedule = MANIFEST.schedule
    for now, opens in ((START, True), (schedule.end + schedule.grace_seconds, False)):
        gateway = read_gateway_file(file)
        rotated = rotated_gateway(gateway, gateway.opened(CHAIN), AUTHORITY, [MANIFEST], now)
        write_gateway_file(file, rotated)
        key = rotated.opened(CHAIN).configurations[0]
        answer_, _ = await relay(collector, key, replace(MANIFESTS, path=GATEWAY_KEYS_PATH))
        listed = open_gateway_keys(split_logged(answer_.body).envelope, CHAIN)
        assert (old in listed.configurations) is opens
        sealed, opener = seal(old, REPORT)
        answer = await post(collector, sealed)
        assert answer.status == (200 if opens else 400)
        if opens:
            opener.open(await answer.read())
    # Another authority's, or another origin's, and what is no such file: the keys stay.
    stranger, there = SigningKey(bytes(32)), read_gateway_file(file)
    for text in (
        None,
        sign_gateway_anew(there, CHAIN, stranger),
        first_gateway("https://elsewhere.example", AUTHORITY, START),
    ):
        if text is None:
            file.write_text("{}")
        else:
            write_gateway_file(file, text)
        answer_, _ = await relay(collector, key, MANIFESTS)
        assert answer_.status == 200
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3


async def test_limits_are_told_sealed_and_relays_have_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = gateway_at(tmp_path)
    here = (ip_network("127.0.0.1"),)
    settings = {"address_rate": 0.001, "relay_rate": 0.5}
    burst = pack_upload([envelope(device) for device in range(2, 200)])

    async with running(tmp_path, **settings) as collector:  # a relay that is not listed
        assert (await collector.upload(burst)).status == 200
        assert [(await relay(collector, key, MANIFESTS))[0].status for _ in range(58)] == [200] * 58
        answer, size = await relay(collector, key, MANIFESTS)
        assert (answer.status, code_of(answer), size) == (429, RefusalCode.RATE_LIMITED, 512)
        assert dict(answer.headers)["retry-after"] == "60"
        assert await problem(await post(collector, bytes(1024))) == (429, "rate-limited")
    async with running(tmp_path, **settings, relays=here) as collector:
        statuses = [(await relay(collector, key, MANIFESTS))[0].status for _ in range(6)]
        assert statuses == [200] * 5 + [429]
    monkeypatch.setattr(uploads, "MOST_WAITING", 0)
    async with running(tmp_path) as collector:
        answer, size = await relay(collector, key, REPORT)
        assert (answer.status, code_of(answer), size) == (503, RefusalCode.OVERLOADED, 512)
        assert dict(answer.headers)["retry-after"] == "60"


async def test_a_relays_headers_reach_no_handler_and_its_address_no_log(
    collector: Collector,
    key: KeyConfiguration,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tag = f'"{AUTHORITY.public_key.hex()}"'
    authority = replace(MANIFESTS, path="/v1/authority")
    answer, _ = await relay(collector, key, authority, If_None_Match=tag, Accept="text/html")
    assert answer.status == 200

    async def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(collector.store, "add", broken)
    answer, size = await relay(collector, key, REPORT, X_Forwarded_For="192.0.2.77")
    assert (answer.status, size) == (500, 512)
    logged = "\n".join(logging.Formatter().format(record) for record in caplog.records)
    assert "unforeseen" in logged
    assert "127.0.0.1" not in logged
    assert "192.0.2.77" not in logged


async def test_a_relay_sees_one_of_few_sizes(collector: Collector, key: KeyConfiguration) -> None:
    sizes = set()
    for length in (1, 100, 900, 4_000, 60_000):
        answers = tuple(f"{number} " + "x" * 200 for number in range(length // 200 + 1))
        survey = replace(MANIFEST, name=f"of-{length}", categories=("no", *answers))
        await collector.publish(survey)
        path = f"/v1/surveys/{survey.name}/manifests"
        answer, size = await relay(collector, key, replace(MANIFESTS, path=path))
        assert answer.status == 200
        assert size < 4 * (len(answer.body) + 200)
        sizes.add(size)
    assert sizes <= {512 * 4**number for number in range(7)}
    assert len(sizes) >= 3


@pytest.mark.parametrize(("later", "relayed"), [(0, True), (1, False)])
async def test_from_a_day_on_reports_come_by_relays_alone_and_figures_say_so(
    tmp_path: Path, later: int, relayed: bool
) -> None:
    key, since = gateway_at(tmp_path), START - EARLY_SECONDS + later
    places = {"relays": (ip_network("10.9.0.0/16"),), "trusted_proxies": (ip_network("127.0.0.1"),)}
    async with running(tmp_path, relayed_from=since, **places) as collector:
        direct = await collector.upload(pack_upload([envelope(1, 0)]))
        assert await problem(direct) == (403, "forbidden")
        for address, status in (("10.8.0.1", 403), ("10.9.0.1", 200)):
            answer, _ = await relay(collector, key, REPORT, X_Forwarded_For=address)
            assert answer.status == status
        now = collector.clock()
        (counts,) = await shown_counts(collector.store, MANIFEST, None, now, since)
        # Of an epoch that could begin before, some may have come directly.
        assert (counts.reports, counts.relayed) == (1, relayed)
        about = await collector.client.get(f"/surveys/{MANIFEST.name}/about")
        assert ("the relay and the collector together" in await about.text()) is relayed
