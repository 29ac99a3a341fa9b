"""The publisher's requests to a witness, over sockets."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.logs import Checkpoint, SignedCheckpoint, VerifierKey, Witness, leaf_hash
from deniable.logs.notes import LOG
from deniable.messages import SigningKey
from deniable.public_log.publish import witnesses
from deniable.public_log.publish.public_log import WitnessingError
from deniable.public_log.publish.tree import root_hash
from deniable.public_log.publish.witnesses import (
    consistency_path,
    newest_checkpoint,
    submission,
    submit,
)
from tests.support.cosigning import cosign
from tests.support.fake_witness import FakeWitness
from tests.support.witnesses import serving, url_of

ORIGIN = "telemetry.example.org/log"
KEY = SigningKey(bytes(range(32)))
NAME, WITNESS_KEY = "witness.example/w1", SigningKey(bytes(range(1, 33)))
LOG_KEY = VerifierKey(ORIGIN, LOG, KEY.public_key)
LEAVES = [leaf_hash(b"entry %d" % number) for number in range(300)]
FORK = [*LEAVES[:3], *(leaf_hash(b"other %d" % number) for number in range(300))]


@pytest.fixture
def witness() -> FakeWitness:
    return FakeWitness(NAME, LOG_KEY, key=WITNESS_KEY)


def signed(size: int, leaves: list[bytes] = LEAVES, key: SigningKey = KEY) -> SignedCheckpoint:
    """Return the log's checkpoint of this size."""
    return sign_checkpoint(Checkpoint(ORIGIN, size, root_hash(leaves[:size])), key)


def path_from(size: int, leaves: list[bytes] = LEAVES) -> Callable[[int], tuple[bytes, ...]]:
    return partial(consistency_path, leaves[:size])


@asynccontextmanager
async def answering(**given: Any) -> AsyncIterator[str]:
    """Run a server that gives one answer to everything, and yield its URL."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(**given)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        yield url_of(server)


async def test_a_publisher_is_cosigned_whatever_it_thinks_the_witness_saw(
    witness: FakeWitness,
) -> None:
    async with serving(witness) as server:
        url = url_of(server)
        assert await newest_checkpoint(url, ORIGIN) is None
        for size, guess in ((5, 0), (9, 3), (9, 9), (200, 0)):
            line = await submit(
                Witness(NAME, witness.key, url), signed(size), path_from(size), guess
            )
            assert signed(size).with_signatures([line]).cosigning_times([witness.key])
        newest = await newest_checkpoint(url, ORIGIN)
        assert newest is not None
        assert newest.checkpoint == signed(200).checkpoint


REFUSED: dict[str, tuple[int, int | None, SignedCheckpoint, list[bytes]]] = {
    "a smaller log": (409, 200, signed(9), LEAVES),
    "another history": (422, None, signed(300, FORK), FORK),
    "another root of this size": (422, None, signed(200, FORK), FORK),
    "another key": (403, None, signed(300, key=SigningKey(bytes(32))), LEAVES),
    "a log that is not watched": (404, None, signed(5), LEAVES),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refusal_has_its_status_and_with_409_the_size(
    witness: FakeWitness, case: str
) -> None:
    status, seen, given, leaves = REFUSED[case]
    witness.cosign(0, (), signed(200))
    asked = FakeWitness("witness.example/w2") if status == 404 else witness
    async with serving(asked) as server:
        paths = path_from(given.checkpoint.size, leaves)
        with pytest.raises(WitnessingError) as refusal:
            await submit(Witness(NAME, asked.key, url_of(server)), given, paths)
    assert (refusal.value.status, refusal.value.size) == (status, seen)


SIZE = "text/x.tlog.size"
ANSWERS: dict[str, tuple[int, dict[str, Any]]] = {
    "an error of its own": (0, {"status": 500}),
    "too much": (0, {"text": "x" * 200_000}),
    "no signature": (0, {"text": "thanks\n"}),
    "a size that is none": (0, {"status": 409, "body": b"007\n", "content_type": SIZE}),
    "the same size again": (409, {"status": 409, "body": b"0\n", "content_type": SIZE}),
    "a conflict without a size": (409, {"status": 409, "text": "no\x1b[2J"}),
    "controls of a terminal": (0, {"text": "\u2014 \u009b31mEVIL\u009b0m AAAA\n"}),
    "a refusal": (404, {"status": 404}),
    "another witness's line": (
        0,
        {"text": cosign(signed(5).checkpoint, "w.example", SigningKey(bytes(32)), 1)},
    ),
    "a cosignature of another tree": (
        0,
        {"text": cosign(signed(6).checkpoint, NAME, WITNESS_KEY, 1)},
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_other_answers_are_none(witness: FakeWitness, case: str) -> None:
    status, given = ANSWERS[case]
    async with answering(**given) as url:
        with pytest.raises(WitnessingError) as error:
            await submit(Witness(NAME, witness.key, url), signed(5), path_from(5))
        assert error.value.status == status
        assert str(error.value).isprintable()
        if case != "a refusal":
            with pytest.raises(WitnessingError):
                await newest_checkpoint(url, ORIGIN)


async def test_a_redirect_is_not_followed(witness: FakeWitness) -> None:
    async with serving(witness) as server:
        elsewhere = {"Location": f"{url_of(server)}/add-checkpoint"}
        async with answering(status=307, headers=elsewhere) as url:
            with pytest.raises(WitnessingError, match="307"):
                await submit(Witness(NAME, witness.key, url), signed(5), path_from(5))
    assert not witness.newest


async def test_a_silent_witness_is_left_after_a_while(
    witness: FakeWitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witnesses, "_SECONDS", 0.05)

    async def silent(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    application = web.Application()
    application.router.add_post("/add-checkpoint", silent)
    async with TestServer(application) as server:
        url = url_of(server)
        with pytest.raises(WitnessingError, match="within"):
            await submit(Witness(NAME, witness.key, url), signed(5), path_from(5))
    with pytest.raises(WitnessingError, match="reached"):
        await submit(Witness(NAME, witness.key, url), signed(5), path_from(5))


# A Sigsum log's checkpoints, from the tests of litewitness, another witness.
FOREIGN = "sigsum.org/v1/tree/4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562"
FOREIGN_KEY = "ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f"
FOREIGN_LEAVES = [bytes([0x2A, number]).ljust(32, b"\0") for number in range(5)]
FOREIGN_SIGNED = {
    1: (
        "KgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "UgIom7fPZTqpxWWhyjWduBvTvGVqsokMbqTArsQilegKoFBJQjUFAmQ0+YeSPM3wfUQMFSzVnnNuWRTYrajXpNUbIQY=",
    ),
    3: (
        "RcCI1Nk56ZcSmIEfIn0SleqtV7uvrlXNccFx595Iwl0=",
        "UgIom2VbtIcdFbwFAy1n7s6IkAxIY6J/GQOTuZF2ORV39d75cbAj2aQYwyJre36kezNobZs4SUUdrcawfAB8WVrx6go=",
    ),
    5: (
        "QrtXrQZCCvpIgsSmOsah7HdICzMLLyDfxToMql9WTjY=",
        "UgIomw/EOJmWi0i1FQsOj+etB7F8IccFam/jgd6wzRns4QPVmyEZtdvl1U2KEmLOZ/ASRcWJi0tW90dJWAShei7sDww=",
    ),
}


FOREIGN_HASHES = [base64.b64encode(leaf).decode() for leaf in FOREIGN_LEAVES]


FOREIGN_PATHS = {
    (0, 1): (),
    (1, 3): FOREIGN_HASHES[1:3],
    (1, 5): (FOREIGN_HASHES[1], "+fUDV+k970B4I3uKrqJM4aP1lloPZP8mvr2Z4wRw2LI=", FOREIGN_HASHES[4]),
    (3, 5): (
        *FOREIGN_HASHES[2:4],
        "wgiIFdZfYNv6WU1OllBKsWnLYIS/DBMqt8Uh/S4OukE=",
        FOREIGN_HASHES[4],
    ),
}


@pytest.mark.parametrize("way", [((0, 1), (1, 3), (3, 5)), ((0, 1), (1, 5))])
def test_requests_are_those_that_litewitness_takes(way: tuple[tuple[int, int], ...]) -> None:
    fake = FakeWitness("w.example", VerifierKey(FOREIGN, LOG, bytes.fromhex(FOREIGN_KEY)))
    for old, size in way:
        root, signature = FOREIGN_SIGNED[size]
        note = f"{FOREIGN}\n{size}\n{root}\n\n\u2014 {FOREIGN} {signature}\n"
        made = consistency_path(FOREIGN_LEAVES[:size], old)
        body = submission(old, made, SignedCheckpoint.parse(note))
        assert body == "\n".join((f"old {old}", *FOREIGN_PATHS[old, size])) + f"\n\n{note}"
        assert fake.add_checkpoint(body.encode())[0] == 200
