"""The running server on this machine, and its readiness to accept reports."""

import http.client
import ipaddress
import json
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from deniable.directory import Config
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good

SECONDS: Final = 8.0
"""Longer than it takes to detect an unresponsive store or worker."""
_MOST_BYTES: Final = 64 << 10


def server_finding(config: Config) -> Diagnosis:
    """Return the collector's state, from its answer to ``/readyz``.

    Raises:
        OSError: if nothing listens there, or the connection fails.
        http.client.HTTPException: if the answer is not HTTP.
    """
    place = f"{local_address(config)}:{config.port}"
    try:
        return judge_server(place, *_ask(config))
    except TimeoutError:
        return bad(
            f"{place} has not responded for {SECONDS:g} s: the server or one of its workers hangs",
            "check the server's log, and whether the process is stopped (ps)",
        )


def _ask(config: Config) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object with which the collector answers, within SECONDS.

    Address, port and TLS come from the settings; the certificate is not checked, as it is for the
    origin's name.
    """
    connect: Callable[..., http.client.HTTPConnection] = http.client.HTTPConnection
    if config.tls_certificate is not None:
        anyone = ssl.create_default_context()
        anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
        connect = partial(http.client.HTTPSConnection, context=anyone)
    connection = connect(local_address(config), config.port, timeout=SECONDS)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, _object(answer.read(_MOST_BYTES))
    finally:
        connection.close()


def local_address(config: Config) -> str:
    """Return the address at which this machine reaches itself."""
    try:
        address = ipaddress.ip_address(config.host)
    except ValueError:
        return config.host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return config.host


def _object(body: bytes) -> dict[str, Any]:
    try:
        read = json.loads(body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def judge_server(place: str, status: int, answer: Mapping[str, Any]) -> Diagnosis:
    """Assess the HTTP status and the JSON object of ``/readyz``."""
    if status != 200:
        reason = answer.get("detail", "this is not a collector")
        return bad(
            f"{place} responds with {status}: {reason}",
            "check `store` in collector.toml, and the server's log",
        )
    serving, wanted = answer.get("workers", 0), answer.get("workers_wanted", 0)
    if serving < wanted:
        remedy = "see the server's log for the reason"
        return doubtful(f"{serving} of {wanted} workers serve", remedy)
    return good(f"{place} is ready")
