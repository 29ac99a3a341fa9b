"""The witness's server and the publisher's client, over sockets."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from deniable.messages import SigningKey
from deniable.transparency_log import SignedCheckpoint, consistency_path, cosign
from deniable.witnessing import NoAnswer, NotCosigned, WitnessDirectory
from deniable.witnessing.client import newest_checkpoint, submit
from deniable.witnessing.server import witness_application
from deniable.witnessing.submission import MAX_SUBMISSION_BYTES
from tests.support.clock import FakeClock
from tests.witnessing.logs import FORK, LEAVES, LOG_KEY, ORIGIN, signed, submission

NAMED = f"/{sha256(ORIGIN.encode()).hexdigest()}/checkpoint"


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[WitnessDirectory]:
    with WitnessDirectory.create(tmp_path / "witness", "witness.example/w1") as made:
        made.watch(LOG_KEY)
        yield made


@asynccontextmanager
async def serving(
    witness: WitnessDirectory,
) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    application = witness_application(witness, FakeClock())
    async with TestClient(TestServer(application)) as client:
        yield client


def path_from(size: int, leaves: list[bytes] = LEAVES) -> Callable[[int], tuple[bytes, ...]]:
    return partial(consistency_path, leaves[:size])


async def test_the_answers_are_those_of_the_protocol(witness: WitnessDirectory) -> None:
    async with serving(witness) as client:

        async def post(body: str) -> tuple[int, str, str]:
            answer = await client.post("/add-checkpoint", data=body.encode())
            return answer.status, answer.content_type, await answer.text()

        assert (await client.get(NAMED)).status == 404
        status, _, line = await post(submission(0, 5).text)
        assert status == 200
        cosigned = signed(5).with_signatures([line])
        assert cosigned.cosigned_by([witness.key]) == {witness.key}
        answer = await client.get(NAMED)
        assert SignedCheckpoint.parse(await answer.read()) == cosigned
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"

        assert await post(submission(0, 9).text) == (409, "text/x.tlog.size", "5\n")
        assert (await post(submission(5, 9, FORK).text))[0] == 422
        assert (await post(submission(5, 9).text[:-1]))[0] == 400
        assert (await post("x" * (MAX_SUBMISSION_BYTES + 1)))[0] == 413
        assert (await client.get("/add-checkpoint")).status == 405
        assert SignedCheckpoint.parse(await (await client.get(NAMED)).read()) == cosigned


async def test_a_publisher_is_cosigned_whatever_it_thinks_the_witness_saw(
    witness: WitnessDirectory,
) -> None:
    async with serving(witness) as client:
        url = str(client.make_url("/"))
        assert await newest_checkpoint(url, ORIGIN) is None
        for size, guess in ((5, 0), (9, 3), (9, 9), (200, 0)):
            line = await submit(url, witness.key, signed(size), path_from(size), guess)
            assert signed(size).with_signatures([line]).cosigned_by([witness.key])
        newest = await newest_checkpoint(url, ORIGIN)
        assert newest is not None
        assert newest.checkpoint == signed(200).checkpoint

        with pytest.raises(NotCosigned) as refusal:
            await submit(url, witness.key, signed(9), path_from(9))
        assert (refusal.value.status, refusal.value.size) == (409, 200)
        with pytest.raises(NotCosigned) as refusal:
            await submit(url, witness.key, signed(300, FORK), path_from(300, FORK))
        assert (refusal.value.status, refusal.value.size) == (422, None)


async def test_many_submissions_at_once_are_one_history(
    witness: WitnessDirectory, tmp_path: Path
) -> None:
    """Each that is cosigned goes on from the size of another: none was rolled back between."""
    steps: list[tuple[int, int]] = []

    async def publisher(client: TestClient[web.Request, web.Application], step: int) -> None:
        old = 0
        while old + step <= 120:
            body = submission(old, old + step).text.encode()
            answer = await client.post("/add-checkpoint", data=body)
            if answer.status == 200:
                steps.append((old, old + step))
                old += step
            else:
                assert answer.status == 409
                old = int(await answer.text())

    # As two processes of one directory, which a supervisor started twice.
    with WitnessDirectory(tmp_path / "witness") as second:
        async with serving(witness) as one, serving(second) as two:
            await asyncio.gather(*(publisher(at, step) for at in (one, two) for step in (1, 2, 5)))
    steps.sort()
    assert all(before[1] == after[0] for before, after in pairwise(steps))
    assert steps[0][0] == 0
    newest = witness.newest(sha256(ORIGIN.encode()).hexdigest())
    assert newest is not None
    assert newest.checkpoint.size == steps[-1][1]


ANSWERS: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "an error of its own": (NoAnswer, {"status": 500}),
    "too much": (NoAnswer, {"text": "x" * 200_000}),
    "no signature": (NoAnswer, {"text": "thanks\n"}),
    "a size that is none": (
        NoAnswer,
        {"status": 409, "body": b"007\n", "content_type": "text/x.tlog.size"},
    ),
    "the same size again": (
        NotCosigned,
        {"status": 409, "body": b"0\n", "content_type": "text/x.tlog.size"},
    ),
    "a conflict without a size": (NotCosigned, {"status": 409, "text": "no\x1b[2J"}),
    "controls of a terminal": (NoAnswer, {"text": "\u2014 \u009b31mEVIL\u009b0m AAAA\n"}),
    "a refusal": (NotCosigned, {"status": 404}),
    "another witness's line": (
        NoAnswer,
        {"text": cosign(signed(5).checkpoint, "w.example", SigningKey(bytes(32)), 1)},
    ),
    "a cosignature of another tree": (
        NoAnswer,
        {"text": cosign(signed(6).checkpoint, "witness.example/w1", SigningKey(bytes(32)), 1)},
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_other_answers_are_none(witness: WitnessDirectory, case: str) -> None:
    kind, given = ANSWERS[case]

    async def answer(_: web.Request) -> web.Response:
        return web.Response(**given)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        with pytest.raises(kind) as error:
            await submit(str(server.make_url("")), witness.key, signed(5), path_from(5))
        assert str(error.value).isprintable()
        if case != "a refusal":
            with pytest.raises(NoAnswer):
                await newest_checkpoint(str(server.make_url("")), ORIGIN)


async def test_a_redirect_is_not_followed(witness: WitnessDirectory) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/elsewhere":
            return web.Response(text=witness.cosign(submission(0, 5), 1))
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        with pytest.raises(NoAnswer, match="307"):
            await submit(str(server.make_url("")), witness.key, signed(5), path_from(5))


async def test_a_silent_witness_is_left_after_a_while(witness: WitnessDirectory) -> None:
    async def silent(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    application = web.Application()
    application.router.add_post("/add-checkpoint", silent)
    async with TestServer(application) as server:
        url = str(server.make_url(""))
        with pytest.raises(NoAnswer, match="within"):
            await submit(url, witness.key, signed(5), path_from(5), seconds=0.05)
    with pytest.raises(NoAnswer, match="reached"):
        await submit(url, witness.key, signed(5), path_from(5))
    with pytest.raises(NoAnswer, match="https"):
        await submit("http://witness.example", witness.key, signed(5), path_from(5))
