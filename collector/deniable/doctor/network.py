"""Checks of what devices encounter: this collector at its origin, with a valid certificate."""

import http.client
import ssl
from urllib.parse import urlsplit

from deniable.directory import Config
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.doctor.readiness import server_finding
from deniable.messages import day_text

_RENEWAL_DAYS = 21
_EXPIRED = 10
"""OpenSSL's code for an expired certificate: X509_V_ERR_CERT_HAS_EXPIRED."""
_SECONDS = 10.0
_MOST_BYTES = 64 << 10


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
    connection = connect(origin.hostname or "", origin.port, timeout=_SECONDS)
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
                "renew the certificate where TLS ends (a proxy, or here), then reload that server",
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
            "renew the certificate where TLS ends, at the proxy or here",
        )
    return good(text)
