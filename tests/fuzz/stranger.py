"""A running collector that hears whatever strangers send, and what must hold of its answers."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from deniable.messages import PROBLEM_JSON, UploadAnswer
from deniable.server import connections
from tests.fuzz.mutations import DEVICES, MARKER
from tests.server.collector import Collector, running
from tests.support.surveys import MANIFEST

_SECONDS: Final = 60
_SHORT: Final = 0.2
_NO_PROBLEM: Final = {100, 200, 304}
_PROBLEMS: Final = {400, 401, 404, 405, 408, 409, 411, 413, 415, 417, 503}


class Stranger(logging.Handler):
    """Sends segments on connections of their own, and judges what comes back.

    Attributes:
        statuses: how often each was answered.
    """

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self.statuses: Counter[int] = Counter()
        self._collector = collector
        self._accepted = 0
        self._logged: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is logged."""
        self._logged.append(logging.Formatter().format(record))

    async def send(self, segments: Sequence[bytes]) -> None:
        """Say something; the connection must end by itself, and every answer be one of ours."""
        host, port = self._collector.client.host, self._collector.client.port
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                for segment in segments:
                    writer.write(segment)
                    await asyncio.sleep(0)
                heard = b""
                try:
                    while part := await reader.read(1 << 16):
                        heard += part
                except ConnectionError:
                    pass
            finally:
                writer.transport.abort()
        self._judge(heard, b"".join(segments))
        assert self._logged == [], "\n".join(self._logged)

    def _judge(self, heard: bytes, sent: bytes) -> None:
        assert MARKER not in heard, "what was sent is repeated"
        while heard:
            head, found, heard = heard.partition(b"\r\n\r\n")
            if not found:
                return  # cut off
            line, *lines = head.decode("ascii").split("\r\n")
            version, status, *_ = line.split(" ", 2)
            assert version in {"HTTP/1.1", "HTTP/1.0"} or status == "505", line
            self.statuses[int(status)] += 1
            assert int(status) in _NO_PROBLEM | _PROBLEMS, line
            if status == "100":
                continue
            headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in lines)}
            assert headers["server"] == "deniable"
            length = int(headers.get("content-length", 0))
            if heard.startswith(b"HTTP/") or b"HEAD" in sent:
                length = 0 if heard.startswith(b"HTTP/") or not heard else length
            body, heard = heard[:length], heard[length:]
            if len(body) == length > 0:
                self._judge_body(int(status), headers["content-type"], body)

    def _judge_body(self, status: int, content_type: str, body: bytes) -> None:
        if status in _PROBLEMS:
            assert content_type == PROBLEM_JSON
            told = json.loads(body)
            assert set(told) <= {"type", "title", "status", "detail"}
            assert told["status"] == status
        elif body.startswith(b'{"accepted"'):
            answer = UploadAnswer.from_json(body, sum(_numbers(body)))
            assert answer is not None
            self._accepted += answer.accepted

    async def conclude(self) -> None:
        """Check the store: what was accepted is there, of no more devices than there are."""
        counted = await self._collector.store.reports(MANIFEST.survey_id, 0)
        # Whoever is cut off gets no answer, though what they sent may be stored.
        assert self._accepted <= counted <= DEVICES
        assert await self._collector.store.check() == []
        assert (await self._collector.client.get("/healthz")).status == 200


def _numbers(body: bytes) -> tuple[int, int, int]:
    told = json.loads(body)
    return told["accepted"], told["duplicates"], len(told["refused"])


@asynccontextmanager
async def visited(directory: Path) -> AsyncIterator[Stranger]:
    """Yield a stranger to a new collector whose patience is short; conclude at the end."""
    with (
        patch.object(connections, "HEAD_SECONDS", _SHORT),
        patch.object(connections, "BODY_SECONDS", _SHORT),
        patch.object(connections, "IDLE_SECONDS", _SHORT),
        patch.object(connections, "_SWEEP_SECONDS", 0.02),
        patch.object(connections, "_LINGER_SECONDS", _SHORT),
    ):
        async with running(directory, public=frozenset({MANIFEST.name}), address_rate=0.0) as ours:
            stranger = Stranger(ours)
            logging.getLogger().addHandler(stranger)
            try:
                yield stranger
            finally:
                logging.getLogger().removeHandler(stranger)
            await stranger.conclude()
