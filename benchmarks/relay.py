"""A relay's cost: one report through the gateway beside one sent directly, and its steps."""

import asyncio
import http.client
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.connections import send
from benchmarks.load import http_request
from benchmarks.rounds import Rounds, interleave, processor_seconds_each
from benchmarks.servers import Server, collector, run_command
from benchmarks.surveys import ORIGIN
from benchmarks.table import Row, show
from benchmarks.uploads import SURVEY_NAME, make_collector
from deniable.directory.gateway_file import read_gateway_file
from deniable.messages import Report, pack_upload, sign_report
from deniable.messages.gateway import ENCAPSULATED_REQUEST_BYTES, GATEWAY_PATH
from deniable.oblivious_http import BinaryRequest, KeyConfiguration, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    seal_request,
)
from deniable.server.sealed_requests import decode_request, open_request

_ROUNDS: Final = 7
_REPORTS: Final = 1_500
_STEPS: Final = 1_000
_ANSWER_BYTES: Final = 512


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "collector"
        survey_id = make_collector(directory)
        run_command("gateway", "new", "--dir", directory)
        newest, key = _newest(directory / "gateway.json")

        def sign() -> bytes:
            return pack_upload([sign_report(os.urandom(32), Report(survey_id, 0, 1))])

        with collector(directory) as server:
            sets = count()
            found = interleave(
                {
                    "direct": _cost(server, sets, lambda: http_request(sign())),
                    "relayed": _cost(server, sets, lambda: _sealed(newest, sign())),
                    "alone": _cost(server, sets, lambda: http_request(sign()), kept=False),
                    **_steps(newest, key, sign()),
                },
                _ROUNDS,
            )
            _check_all_counted(server, next(sets) * _REPORTS)
    _show(found)


def _show(found: dict[str, Rounds]) -> None:
    more = found["relayed"] + found["direct"].scaled(-1)
    show(
        "the collector's processor time for one report, over kept connections",
        [
            Row(
                "through the gateway",
                found["relayed"].scaled(1e6),
                "µs",
            ),
            Row("directly", found["direct"].scaled(1e6), "µs"),
            Row("more", more.scaled(1e6), "µs"),
            Row("through the gateway ÷ directly", found["relayed"] / found["direct"]),
            Row("directly, as devices do: a connection each", found["alone"].scaled(1e6), "µs"),
            Row("through the gateway ÷ that", found["relayed"] / found["alone"]),
        ],
    )
    show(
        "the steps of Oblivious HTTP, in a loop",
        [
            Row("a device seals", found["seal"].scaled(1e6), "µs"),
            Row("X25519 alone, of which sealing has two", found["agree"].scaled(1e6), "µs"),
            Row("the collector opens", found["open"].scaled(1e6), "µs"),
            Row("reads the binary request", found["decode"].scaled(1e6), "µs"),
            Row("writes and seals the answer", found["answer"].scaled(1e6), "µs"),
            Row("a device opens and reads it", found["read"].scaled(1e6), "µs"),
        ],
    )
    print(f"bytes: a request {ENCAPSULATED_REQUEST_BYTES}, a report's answer {_ANSWER_BYTES}")


def _newest(file: Path) -> tuple[KeyConfiguration, PrivateKey]:
    (item,) = read_gateway_file(file).private_keys().items()
    number, key = item
    return KeyConfiguration(number, key.public_key), key


def _message(body: bytes) -> bytes:
    scheme, _, authority = ORIGIN.partition("://")
    headers = (("content-type", "application/msgpack"),)
    request = BinaryRequest("POST", scheme, authority, "/v1/reports", headers, body)
    return request.encode(ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES)


def _sealed(newest: KeyConfiguration, body: bytes) -> bytes:
    sealed, _ = seal_request(newest, _message(body))
    return http_request(sealed, GATEWAY_PATH, REQUEST_TYPE)


def _cost(
    server: Server, sets: Iterator[int], make: Callable[[], bytes], *, kept: bool = True
) -> Callable[[], float]:
    """Return a measurement of the server's processor time for one new report, in seconds."""

    def measure() -> float:
        requests: Sequence[bytes] = [make() for _ in range(_REPORTS)]
        next(sets)
        before = server.cpu_seconds()
        asyncio.run(send(server.port, requests, None, kept=kept))
        return (server.cpu_seconds() - before) / _REPORTS

    return measure


def _steps(
    newest: KeyConfiguration, key: PrivateKey, body: bytes
) -> dict[str, Callable[[], float]]:
    message = _message(body)
    sealed, opener = seal_request(newest, message)
    keys = {newest.key_id: key}
    _, sealer = open_request(keys, sealed)
    told = b'{"accepted": 1, "duplicates": 0, "refused": []}'
    date = ("date", "Thu, 26 Nov 2026 09:00:00 GMT")
    answer = BinaryResponse(200, (("content-type", "application/json"), date), told)
    size = _ANSWER_BYTES - RESPONSE_OVERHEAD_BYTES
    came = sealer.seal(answer.encode(size))
    steps: dict[str, Callable[[], object]] = {
        "seal": lambda: seal_request(newest, message),
        "agree": lambda: key.agree(newest.public_key),
        "open": lambda: open_request(keys, sealed),
        "decode": lambda: decode_request(message),
        "answer": lambda: sealer.seal(answer.encode(size)),
        "read": lambda: BinaryResponse.decode(opener.open(came)),
    }
    return {name: processor_seconds_each(step, _STEPS) for name, step in steps.items()}


def _check_all_counted(server: Server, reports: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", f"/v1/surveys/{SURVEY_NAME}/histogram")
    counted = json.loads(connection.getresponse().read())["n"]
    connection.close()
    if counted != reports:
        raise RuntimeError(f"{reports} reports were sent, {counted} counted")
