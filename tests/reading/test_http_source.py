"""A collector read over HTTP: all that an analyst needs, and nothing that is not vouched for."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.counterparts.signing import sign_manifest
from deniable.estimates import estimate_histogram
from deniable.messages import Enrolment, SigningKey
from deniable.messages.bundle import make_bundle
from deniable.presenting import Surveys, connect
from deniable.reading import (
    AmbiguousSurvey,
    EpochState,
    HttpSource,
    NoSuchSurvey,
    NotAllowed,
    NotReached,
    ReadingError,
    Refused,
    TooFewReports,
    Untrusted,
)
from deniable.reading.wire import read_counts, read_epochs
from tests.server.collector import Collector, running
from tests.server.test_authority import KEYS, rotate
from tests.support.raw_server import RawServer, answer
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST, START, manifest

KEY = AUTHORITY.public_key.hex()
SUCCESSOR = manifest(sequence=1, epsilon="0.5")
ISSUERS = tuple(SigningKey(bytes([n]) * 32).public_key for n in (7, 8))
VOUCHED = manifest(name="vouched", enrolment=Enrolment("certificate", ISSUERS))


def url(collector: Collector) -> str:
    return str(collector.client.make_url("")).rstrip("/")


async def token(collector: Collector) -> str:
    return (await collector.token())["Authorization"].removeprefix("Bearer ")


async def filled(collector: Collector) -> Surveys:
    """Return the surveys of a collector whose older one has two epochs, the first of them sealed.

    A successor has come since, and one survey whose reports two issuers vouched for.
    """
    for epoch, answers in ((0, (0, 0, 1, 4)), (2, (3, 3, 3))):
        await collector.store.add(
            [report(device, each, epoch=epoch) for device, each in enumerate(answers)]
        )
    await collector.store.seal(MANIFEST.survey_id, 0, START + 9)
    await collector.store.end(MANIFEST.survey_id, START + 10)
    await collector.publish(SUCCESSOR)
    await collector.publish(VOUCHED)
    vouched = [report(d, d % 5, survey=VOUCHED, issuer=ISSUERS[d % 2]) for d in range(20)]
    await collector.store.add(vouched)
    await collector.store.seal(VOUCHED.survey_id, 0, START + 9)
    await collector.store.distrust(ISSUERS[1], START)
    collector.clock.time += 1
    return connect(url(collector), await token(collector), authority=KEY)


async def test_whatever_was_published_is_found_and_read(collector: Collector) -> None:
    surveys = await filled(collector)

    def read() -> None:
        assert list(surveys) == [MANIFEST.name, VOUCHED.name]
        newest = surveys[MANIFEST.name]
        assert newest.manifest == SUCCESSOR
        (older,) = newest.older
        assert older.manifest == MANIFEST == surveys.find(MANIFEST.name, ID[:8]).manifest
        with pytest.raises(TooFewReports, match="survey ended on 22 November 2023, and no dev"):
            newest.histogram()
        with pytest.raises(
            TooFewReports, match="19 November 2023: the survey ended earlier, on 14 N"
        ):
            older.histogram(5)
        assert older.histogram(range(0, 8, 2)).n == 7
        assert older.histogram(range(1, 3)).n == 3 == older.histogram(np.int64(2)).n
        assert older.histogram(range(0, 8, 4)).epochs == (0,)  # not 2, between them
        first, last = older.epochs()
        assert (first.number, first.n, first.state) == (0, 4, EpochState.SEALED)
        assert (last.number, last.n, last.seal) == (2, 3, None)
        assert first.seal is not None
        expected = estimate_histogram(MANIFEST, 0, [2, 1, 0, 0, 1], 0.9, standing=first.standing)
        assert older.histogram(0, level=0.9).to_dict() == expected.to_dict()
        assert older.histogram().epochs == (2,)
        vouched = surveys[VOUCHED.name]
        assert vouched.distrusted() == {ISSUERS[1]}
        (counts,) = vouched.counts()
        assert counts.distrusted == 10
        assert counts.by_issuer is not None
        assert set(counts.by_issuer) == set(ISSUERS)
        assert counts.counts == dict.fromkeys(range(5), 4)

    await asyncio.to_thread(read)


ID = MANIFEST.survey_id.hex()


async def test_a_survey_that_is_not_there_is_named(collector: Collector) -> None:
    surveys = await filled(collector)

    def read() -> None:
        for name in ("nobody-asks", "../authority", "x?y", ""):
            with pytest.raises(NoSuchSurvey):
                surveys[name]
        with pytest.raises(NoSuchSurvey, match="beginning with these"):
            surveys.find(MANIFEST.name, "0" * 64)
        with pytest.raises(AmbiguousSurvey, match="at least 4"):
            surveys.find(MANIFEST.name, ID[:2])
        with pytest.raises(Refused, match="epochs 0 to 7") as refused:
            surveys[MANIFEST.name].counts(range(7, 9))
        assert refused.value.code == "bad-query"

    await asyncio.to_thread(read)


async def test_without_a_token_only_what_anyone_may_read_is_read(tmp_path: Path) -> None:
    async with running(tmp_path, public=frozenset({VOUCHED.name})) as collector:
        await filled(collector)
        for secret in (None, "deniable_" + "0" * 64):
            surveys = connect(url(collector), secret, authority=KEY)

            def read(surveys: Surveys = surveys) -> None:
                assert surveys[VOUCHED.name].histogram().n == 20
                with pytest.raises(NotAllowed, match="deniable token new"):
                    surveys[MANIFEST.name].epochs()

            await asyncio.to_thread(read)


async def test_rotations_are_followed_from_the_key_that_is_pinned(collector: Collector) -> None:
    await rotate(collector, 1, 2)
    for pinned in KEYS[:3]:
        surveys = connect(url(collector), authority=pinned.public_key.hex())
        found = await asyncio.to_thread(surveys.__getitem__, MANIFEST.name)
        assert found.manifest == MANIFEST
    # A key that has handed over to none of those.
    with pytest.raises(Untrusted, match="deniable authority show"):
        await asyncio.to_thread(
            connect(url(collector), authority=KEYS[3].public_key.hex()).__getitem__, MANIFEST.name
        )


async def test_a_file_of_an_export_pins_as_well(collector: Collector, tmp_path: Path) -> None:
    file = tmp_path / "survey.json"
    envelope = sign_manifest(MANIFEST, AUTHORITY)
    file.write_bytes(make_bundle([envelope], AUTHORITY.public_key).to_json())
    for authority in (file, str(file)):
        surveys = connect(url(collector), authority=authority)
        found = await asyncio.to_thread(surveys.__getitem__, MANIFEST.name)
        assert found.manifest == MANIFEST
    with pytest.raises(ValueError, match="no such file"):
        connect(url(collector), authority=f"{file}on")


class Lying(HttpSource):
    """Reads answers that were changed on the way."""

    change: Callable[[str, bytes], bytes]

    def _get(self, path: str, most: int, allowed: bool = False) -> bytes:
        return self.change(path, super()._get(path, most, allowed))


def swapped_manifest(other: bytes) -> Callable[[str, bytes], bytes]:
    return lambda path, body: other if "/manifest?" in path else body


def other_manifest(signer: SigningKey, **changes: Any) -> Callable[[str, bytes], bytes]:
    return swapped_manifest(sign_manifest(manifest(**changes), signer))


def swapped(old: bytes, new: bytes) -> Callable[[str, bytes], bytes]:
    def change(path: str, body: bytes) -> bytes:
        assert "/counts" not in path or old in body
        return body.replace(old, new) if "/counts" in path else body

    return change


def twice(path: str, body: bytes) -> bytes:
    told = json.loads(body) if "/counts" in path else {}
    return json.dumps(told | {"epochs": 2 * told["epochs"]}).encode() if told else body


UNVOUCHED = [
    other_manifest(KEYS[1]),
    other_manifest(AUTHORITY, epsilon="7"),
    other_manifest(AUTHORITY, sequence=3),
    swapped(b'"reports": [2, 1, 1]', b'"reports": [1, 2, 1]'),
    swapped(b'"responses": [0, 1, 4]', b'"responses": [0, 1, 3]'),
    swapped(b'"whole": true', b'"whole": false'),
    swapped(b'"state": "sealed"', b'"state": "open"'),
    twice,
    swapped(ID.encode(), SUCCESSOR.survey_id.hex().encode()),
    lambda path, body: b"\x91\x93\xc4\x00\xc4\x00\xc4\x00" if "authority" in path else body,
]


async def test_what_is_not_vouched_for_is_not_handed_on(collector: Collector) -> None:
    await filled(collector)
    held = await token(collector)

    def read(change: Callable[[str, bytes], bytes]) -> None:
        source = Lying(url(collector), AUTHORITY.public_key, held)
        source.change = change
        Surveys(source).find(MANIFEST.name, ID).counts(range(1))

    await asyncio.to_thread(read, lambda _, body: body)
    for change in UNVOUCHED:
        with pytest.raises(Untrusted):
            await asyncio.to_thread(read, change)


KEYS_OF_JSON = st.sampled_from(["epoch", "n", "state", "seal", "whole", "counts", "issuer"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(KEYS_OF_JSON, of),
    max_leaves=8,
)
PLACES = st.lists(st.integers(0, 30), max_size=6)


def replaced(told: Any, places: list[int], by: Any) -> Any:
    """Return a JSON value with what stands at a place replaced."""
    if not places or not told or not isinstance(told, dict | list):
        return by
    keys = list(told) if isinstance(told, dict) else list(range(len(told)))
    key = keys[places[0] % len(keys)]
    changed = dict(told) if isinstance(told, dict) else list(told)
    changed[key] = replaced(told[key], places[1:], by)
    return changed


ROWS = {"issuer": None, "responses": [1, 3], "reports": [2, 1]}
COUNTS = {"epoch": 1, "n": 3, "state": "grace", "seal": None, "whole": False, "distrusted": 0}
COUNTS |= dict.fromkeys(("sealed_at", "pruned_at")) | {"counts": [ROWS]}
SOUND = {"survey": MANIFEST.name, "survey_id": ID, "distrusted_issuers": [], "epochs": [COUNTS]}


@settings(deadline=None)
@given(places=PLACES, by=JSON)
def test_every_answer_is_read_or_an_error_that_is_ours(places: list[int], by: Any) -> None:
    for read in (read_counts, read_epochs):
        read(MANIFEST, SOUND)
        with suppress(ReadingError):
            read(MANIFEST, replaced(SOUND, places, by))


OF_NO_COLLECTOR = [
    *(b"<html>a portal</html>", b'{"surveys": 7}', b'{"surveys": [{"name": 7}]}', b"[" * 100_000),
    rb'{"surveys": [{"name": "\u001b[2J"}]}',
]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (answer("301 Moved", b"", "Location: {elsewhere}/v1/surveys"), "redirects are not fol"),
        *((answer("200 OK", body), "check the URL, and") for body in OF_NO_COLLECTOR),
        (answer("502 Bad Gateway", b"<html>"), "status 502"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "cut short"),
        (b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "did not respond"),
        (b"no HTTP at all", "did not respond"),
        (b"", "did not respond"),
    ],
)
def test_what_is_no_collector_is_told_apart_from_one(reply: bytes, error: str) -> None:
    with RawServer() as elsewhere:
        with RawServer(reply.replace(b"{elsewhere}", elsewhere.origin.encode())) as server:
            source = HttpSource(server.origin, AUTHORITY.public_key, "a-token")
            with pytest.raises(NotReached, match=error):
                source.names()
        assert elsewhere.requests == []
        with pytest.raises(NotReached, match="check the URL"):  # nobody listens any more
            source.names()
    # The list of surveys is for anyone: no token went there.
    assert all(b"a-token" not in request for request in server.requests)


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.reading.http_source._MOST_JSON_BYTES", 1 << 20)
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (3 << 20)
    with RawServer(endless) as server, pytest.raises(NotReached, match="too long"):
        HttpSource(server.origin, AUTHORITY.public_key).names()


@pytest.mark.parametrize("head", ["200 OK\r\n\r\n", "200 OK\r\nX: ", "500 Oops\r\n\r\n"])
def test_an_answer_that_takes_for_ever_is_given_up(head: str) -> None:
    def drip(server: RawServer, connection: socket) -> None:
        connection.sendall(b"HTTP/1.1 " + head.encode())
        server.drip(connection, b" ", 2_000)

    with RawServer(drip) as server, pytest.raises(NotReached, match=r"too long to arrive|Timeout"):
        HttpSource(server.origin, AUTHORITY.public_key, seconds=0.1).names()


WRONG = {
    "url": [
        *("http://collector.example", "ftp://127.0.0.1", "https://", "collector.example"),
        *("https://me:secret@collector.example", "https://:secret@collector.example"),
        "https://collector.example?x",
    ],
    "token": ["two\nlines", ""],
    "authority": ["00" * 32, "zz", KEY[:-2]],
}


@pytest.mark.parametrize(
    ("part", "wrong"), [(part, each) for part in WRONG for each in WRONG[part]]
)
def test_what_cannot_be_is_refused_before_anything_is_asked(part: str, wrong: str) -> None:
    told = {"url": "https://collector.example", "token": "a-token", "authority": KEY, part: wrong}
    with pytest.raises(
        ValueError, match=r"must use https|must be https|one line|64 hex"
    ) as refused:
        connect(told["url"], told["token"], authority=told["authority"])
    assert "secret" not in str(refused.value)


def test_a_token_is_in_no_repr() -> None:
    surveys = connect("https://collector.example/path", "a-secret", authority=KEY)
    assert "a-secret" not in f"{surveys!r} {vars(surveys)!r}"
