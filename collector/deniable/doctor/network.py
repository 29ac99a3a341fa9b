"""The running server on this machine, and what devices encounter at its origin."""

import http.client
import ipaddress
import json
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from deniable.directory import Config
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.messages import day_text

SECONDS: Final = 8.0
"""Longer than it takes to detect an unresponsive store or worker."""
_MOST_BYTES: Final = 64 << 10
_RENEWAL_DAYS: Final = 21
_EXPIRED: Final = 10
"""OpenSSL's code for an expired certificate: X509_V_ERR_CERT_HAS_EXPIRED."""


def server_finding(config: Config) -> Diagnosis:
    """Return the collector's state, from its answer to ``/readyz``.

    Raises:
        OSError: if nothing listens there, or the connection fails.
        http.client.HTTPException: if the answer is not HTTP.
    """
    place = f"{local_address(config)}:{config.port}"
    try:
        status, answer = _ask(config)
    except TimeoutError:
        return bad(
            f"{place} has not responded for {SECONDS:g} s: the server or one of its workers hangs",
            "check the server's log, and whether the process is stopped (ps)",
        )
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


def check_server(config: Config) -> Diagnosis | None:
    """Check that the collector of these settings is ready, if one runs on this machine."""
    try:
        return server_finding(config)
    except (OSError, http.client.HTTPException):
        return None


def check_origin_answers(config: Config, authority: bytes, now: float) -> Diagnosis:
    """Ask the origin, as a device would, for the authority's current key.

    With TLS, the certificate there is checked as well, even if it is a proxy's.
    """
    origin = urlsplit(config.origin)
    secure = origin.scheme == "https"
    connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = connect(origin.hostname or "", origin.port, timeout=SECONDS)
    ends = ""
    try:
        connection.connect()
        if isinstance(connection.sock, ssl.SSLSocket):
            ends = str((connection.sock.getpeercert() or {}).get("notAfter", ""))
        connection.request("GET", "/v1/authority")
        answer = connection.getresponse()
        answer.read(_MOST_BYTES)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == _EXPIRED:
            return bad(
                f"the certificate at {config.origin} has expired: no device can report",
                "renew the certificate where TLS is terminated (at the proxy or here), then reload "
                "that server",
            )
        return bad(
            f"the certificate at {config.origin} is not trusted: {error.verify_message}",
            "if a private authority signed it, set SSL_CERT_FILE to that authority's certificate, "
            "here and on devices (docs/device.md)",
        )
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return bad(f"{config.origin} does not respond: {reason}", "is the server running?")
    finally:
        connection.close()
    if answer.status != 200:
        return bad(
            f"{config.origin}/v1/authority responds with {answer.status}",
            "make the proxy forward /v1/ unchanged (examples/operations/nginx.conf)",
        )
    if answer.headers.get("ETag") != f'"{authority.hex()}"':
        return bad(
            f"another collector responds at {config.origin}",
            "check DNS, the proxy, and the port in `origin`",
        )
    text = f"{config.origin} is this collector"
    if ends and (until := ssl.cert_time_to_seconds(ends)) - now < _RENEWAL_DAYS * 86_400:
        return doubtful(
            f"{text}; its certificate is valid until {day_text(until)}",
            "renew the certificate where TLS is terminated (at the proxy or here)",
        )
    return good(text)
