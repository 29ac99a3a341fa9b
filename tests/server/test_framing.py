"""What is no HTTP, or HTTP that nobody needs: one problem, nothing repeated, nothing logged."""

import pytest

from deniable.messages import pack_upload
from tests.server.collector import Collector
from tests.server.sockets import (
    CLOSE,
    HEALTH,
    MARKER,
    UPLOAD,
    chunked,
    connected,
    exchange,
    healthy,
    read_answer,
    read_answers,
    request,
    upload,
)
from tests.support.effort import THOROUGH
from tests.support.reports import envelope

pytestmark = [pytest.mark.usefixtures("nothing_logged"), pytest.mark.asyncio(loop_scope="module")]

BODY = pack_upload([envelope(1)])
CHUNKED = UPLOAD + b"Transfer-Encoding: chunked\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


MALFORMED = {
    "no request line": MARKER + b"\r\n\r\n",
    "lower-case method": b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "unknown method": b"BREW /xyzzy HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": b"GET /healthz HTTP/xyzzy\r\nHost: x\r\n\r\n",
    "no version of HTTP": b"GET /healthz Invalid HTTP version: 1.2\r\nHost: x\r\n\r\n",
    **{
        f"fragment of {target!r}": request(b"GET " + target)
        for target in (b"/healthz#xyzzy", b"/healthz#", b"/v1/surveys?#a", b"http://x/healthz#a")
    },
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/1.2": b"GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n",
    "HTTP/2.0": b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS hello": bytes.fromhex("1603010200010001fc0303") + MARKER + bytes(500),
    "authority-form": b"GET xyzzy:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no target": b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
    "NUL in the target": b"GET /\0xyzzy HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes above 127 in the target": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "long target": b"GET /" + MARKER * 1_700 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    **{
        f"header {line!r}": HEALTH + line + b"\r\n\r\n"
        for line in (
            *(b"Host: xyzzy", b"X: xyzzy\0", b"X\0xyzzy: a", b": xyzzy", b"xyzzy : a"),
            *(b"X: a\r\n xyzzy", b"X: a\rxyzzy", b"Sec-WebSocket-Key1: xyzzy"),
        )
    },
    "bare LF": b"GET /healthz HTTP/1.1\nHost: xyzzy\n\n",
    "long header": HEALTH + b"X: " + MARKER * 1_700 + b"\r\n\r\n",
    "long header's name": HEALTH + MARKER * 1_700 + b": a\r\n\r\n",
    "65 headers": HEALTH + b"".join(b"X%d: xyzzy\r\n" % i for i in range(64)) + b"\r\n",
    "length twice": UPLOAD + LENGTH + LENGTH + b"\r\n" + BODY,
    "two lengths": UPLOAD + LENGTH + b"Content-Length: 0\r\n\r\n" + BODY,
    **{
        f"length {length!r}": UPLOAD + b"Content-Length: " + length + b"\r\n\r\nabcabcabca"
        for length in (b"3, 3", b"-1", b"+3", b"0x3", b"1_0", MARKER, b"1" + b"0" * 30)
    },
    "length and chunks": UPLOAD + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY),
    "chunks and length": CHUNKED + LENGTH + b"\r\n" + chunked(BODY),
    "chunked twice": CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY),
    **{
        f"coding {coding!r}": UPLOAD + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + chunked(BODY)
        for coding in (b"chunked, chunked", b"chunked, gzip", MARKER, b"\x0bchunked")
    },
    "identity": UPLOAD + b"Transfer-Encoding: identity\r\n\r\n" + BODY,
    "empty lines without end": b"\r\n" * 600,
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
async def test_what_is_no_http_ends_the_connection(lasting: Collector, request_: bytes) -> None:
    (answer,) = await exchange(lasting, request_)
    assert answer.problem() == (400, "malformed")
    assert answer.headers["connection"] == "close"
    assert await healthy(lasting)


PATHS = [
    *b"http://xyzzy/x //healthz /../healthz /%68ealthz /healthz%00 /healthz%20".split(),
    *b"/healthz/ /healthz;a /healthzx /HEALTHZ /telemetry/healthz /v1%2fsurveys".split(),
    *b"//v1/surveys /v1//surveys /v1/surveys/ /v1/./surveys /v1/../v1/surveys".split(),
    *b"/v1/surveys/.. /v1/surveys/%2e%2e /v1/surveys/../../etc/xyzzy /v1/surveys/%00".split(),
    *b"/v1/surveys/% /v1/surveys/%zz /v1/surveys/%ff/manifest /v1/surveys/a%2Fb".split(),
    *b"/v1/surveys/%ed%a0%80 /v1/surveys/xyzzy%0d%0aX:%20y/manifest".split(),
    *b"/v1/surveysx/rating-of-marriage /telemetry/v1/surveys/rating-of-marriage".split(),
    *(b"/v1/surveys/" + MARKER * 1_600, b"/" + b"a/" * 4_000),
]
MEDIA_TYPES = [
    *(b'a;b=";' * 1_300, b"application/msgpackx", b"application/msgpack, application/msgpack"),
    *(b"multipart/form-data; boundary=application/msgpack", b"\xff" * 8_000, b";" * 8_000),
    b"=?utf-8?q?application/msgpack?=",
]
TAGS = [b'W/"xyzzy",' * 800, b'"' * 8_000, b"\\" * 8_000, b"xyzzy", b"\xff", b", " * 4_000]
SOUND = b"http://xyzzy/healthz /v1/surveys/rating-of-marriage /v1/surveys/%72ating-of-marriage"
ANSWERED: dict[int | tuple[int, str], list[bytes]] = {
    (417, "Expectation Failed"): [
        HEALTH + b"Expect: " + what + b"\r\n" + CLOSE + b"\r\n"
        for what in (b"xyzzy", b"100-continue, x")
    ],
    (411, "Length Required"): [
        UPLOAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        # Such a connection stays open for five seconds.
        *[CHUNKED + b"\r\n" + more for more in (chunked(BODY) + upload(2), MARKER)] * THOROUGH,
    ],
    (405, "Method Not Allowed"): [
        request(line) for line in (b"TRACE /healthz", b"OPTIONS /healthz", b"PUT /v1/reports")
    ],
    (404, "not-found"): [request(b"OPTIONS *"), *(request(b"GET " + path) for path in PATHS)],
    (400, "bad-query"): [
        request(b"GET " + path + b"?" + b"&".join([name + b"="] * (8_000 // (len(name) + 2))))
        for path in b"/v1/surveys /v1/surveys/rating-of-marriage /v1/authority".split()
        for name in (b"a", b"survey", b"%00", b"%ff")
    ]
    + [
        request(b"GET /v1/surveys/rating-of-marriage?" + name + b"=" + MARKER)
        for name in (b"survey", b"level", b"epoch", MARKER)
    ],
    (401, "unauthorised"): [
        request(b"GET /v1/surveys/rating-of-marriage/histogram", b"Authorization: Bearer xyzzy")
    ],
    (415, "unsupported-media-type"): [
        upload(head=UPLOAD.replace(b"application/msgpack", kind) + CLOSE) for kind in MEDIA_TYPES
    ],
    200: [
        *(request(b"GET " + target) for target in SOUND.split()),
        *(request(b"GET /v1/authority", b"If-None-Match: " + tag) for tag in TAGS),
        # Who speaks HTTP/1.0 is not told to continue.
        upload(head=UPLOAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Expect: 100-continue\r\n"),
    ],
}


@pytest.mark.parametrize(
    ("expected", "sent"), [(code, sent) for code, all_ in ANSWERED.items() for sent in all_]
)
async def test_whatever_is_http_has_one_answer(
    lasting: Collector, expected: int | tuple[int, str], sent: bytes
) -> None:
    (answer,) = await exchange(lasting, sent)
    assert (answer.status if answer.status == 200 else answer.problem()) == expected


async def test_connect_opens_no_tunnel(lasting: Collector) -> None:
    answers = await exchange(
        lasting, b"CONNECT xyzzy:80 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /healthz\r\n\r\n"
    )
    assert [answer.status for answer in answers] == [404]


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c", b"TLS/1.3", b"xyzzy"])
async def test_an_upgrade_is_declined_by_an_answer(lasting: Collector, protocol: bytes) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n"
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    first, second = await exchange(
        lasting, upload(head=UPLOAD + upgrade + key), HEALTH + CLOSE + b"\r\n"
    )
    assert first.status == second.status == 200
    assert "upgrade" not in first.headers


async def test_frames_behind_a_declined_upgrade_are_malformed(lasting: Collector) -> None:
    upgrade = HEALTH + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    first, second = await exchange(lasting, upgrade + b"\x81\x85" + MARKER * 20)
    assert first.status == 200
    assert second.problem() == (400, "malformed")


@pytest.mark.parametrize("size", [65_537, 10**15, 1 << 63])
async def test_what_is_too_large_is_refused_at_once(lasting: Collector, size: int) -> None:
    async with connected(lasting) as (reader, writer):
        writer.write(UPLOAD + b"Content-Length: %d\r\n\r\n" % size)
        answer = await read_answer(reader)
    assert answer.problem() == (413, "too-large")
    assert answer.headers["connection"] == "close"


async def test_empty_lines_may_come_before_a_request(lasting: Collector) -> None:
    sent = b"\r\n\r\n", HEALTH + b"\r\n\r\n\r\n\r\n" + HEALTH + CLOSE + b"\r\n"
    assert [answer.status for answer in await exchange(lasting, *sent)] == [200, 200]


async def test_a_body_that_is_asked_for_comes_after_100_continue(lasting: Collector) -> None:
    async with connected(lasting) as (reader, writer):
        writer.write(UPLOAD + LENGTH + b"Expect: 100-Continue\r\n\r\n")
        asked = await read_answer(reader)
        writer.write(BODY)
        answer = await read_answer(reader)
        writer.write(upload(2, head=UPLOAD + CLOSE))
        (again,) = await read_answers(reader)
    assert asked.status == 100
    assert (answer.status, again.status) == (200, 200)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (UPLOAD + b"Content-Length: 65537\r\n", 413),
        (UPLOAD + LENGTH + b"Content-Encoding: gzip\r\n", 415),
        (UPLOAD.replace(b"msgpack", b"xyzzy") + LENGTH, 415),
        (UPLOAD.replace(b"POST", b"PUT") + LENGTH, 405),
        (UPLOAD.replace(b"reports", b"xyzzy") + LENGTH, 404),
    ],
)
async def test_a_body_that_is_not_wanted_is_not_asked_for(
    lasting: Collector, head: bytes, status: int
) -> None:
    async with connected(lasting) as (reader, writer):
        writer.write(head + b"Expect: 100-continue\r\n\r\n")
        answer = await read_answer(reader)
    assert answer.problem()[0] == status
    # Whether its sender sends it all the same is not known: nothing more is read from here.
    assert answer.headers["connection"] == "close"


async def test_head_is_answered_like_get_without_the_body(lasting: Collector) -> None:
    survey = b"/v1/surveys/rating-of-marriage"
    of_it = (survey, survey + b"/manifest", survey + b"/histogram")
    for path in (*b"/healthz /readyz /v1/surveys /v1/authority /nowhere".split(), *of_it):
        (whole,) = await exchange(lasting, request(b"GET " + path))
        async with connected(lasting) as (reader, writer):
            writer.write(request(b"HEAD " + path))
            head = await read_answer(reader, head_only=True)
            assert await reader.read() == b""
        assert head.status == whole.status
        del head.headers["date"], whole.headers["date"]
        assert head.headers == whole.headers
        assert int(head.headers["content-length"]) == len(whole.body) > 0
