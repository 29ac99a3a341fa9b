"""Checks of what devices encounter: a valid certificate, and this collector at its origin."""

import asyncio
import http.client
import ssl
from contextlib import suppress
from urllib.parse import urlsplit

from cryptography import x509

from deniable.directory import Config, InvalidConfig
from deniable.directory.log_publishing import witnesses_of
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.doctor.readiness import server_finding
from deniable.logs import SignedCheckpoint, TransparencyLogError
from deniable.messages import day_text
from deniable.public_log.audit.checks import Replies
from deniable.public_log.publish import CHECKPOINT_PATH, files_at
from deniable.server import tls_context
from deniable.stores import StoredLog

_RENEWAL_DAYS = 21
_EXPIRED = 10
"""OpenSSL's code for an expired certificate: X509_V_ERR_CERT_HAS_EXPIRED."""
_SECONDS = 10.0
_MOST_BYTES = 64 << 10


def check_certificate(config: Config, now: float) -> Diagnosis | None:
    """Check the certificate, if the collector terminates TLS itself."""
    if config.tls_certificate is None:
        return None
    try:
        tls_context(config)
        certificate = x509.load_pem_x509_certificate(config.tls_certificate.read_bytes())
    except (InvalidConfig, OSError, ValueError) as error:
        return bad(str(error), "give the PEM files of a certificate and of its key")
    ends, host = certificate.not_valid_after_utc, urlsplit(config.origin).hostname or ""
    days = (ends.timestamp() - now) / 86_400
    text = f"{config.tls_certificate.name} is valid until {day_text(ends.timestamp())}"
    renew = "renew the certificate, then send SIGHUP to the server"
    if days <= 0:
        return bad(text, renew)
    if now < certificate.not_valid_before_utc.timestamp():
        return bad(f"{text}, but is not valid yet", "check the clock, or use another certificate")
    if not _is_for(certificate, host):
        return bad(f"{text}, but is for another host", f"get a certificate for {host}")
    return doubtful(text, renew) if days < _RENEWAL_DAYS else good(text)


def _is_for(certificate: x509.Certificate, host: str) -> bool:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    patterns = [name.lower() for name in names.get_values_for_type(x509.DNSName)]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    _, _, parent = host.partition(".")
    return host in addresses or host in patterns or f"*.{parent}" in patterns


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
        remedy = _of_ports(config) or "is the server running?"
        return bad(f"{config.origin} does not respond: {reason}", remedy)
    finally:
        connection.close()
    if answer.status != 200:
        return bad(
            f"{config.origin}/v1/authority responds with {answer.status}",
            _of_ports(config)
            or "make the proxy forward /v1/ unchanged (examples/operations/nginx.conf)",
        )
    if answer.headers.get("ETag") != f'"{authority.hex()}"':
        remedy = _of_ports(config) or "check DNS and the proxy"
        return bad(f"another collector responds at {config.origin}", remedy)
    text = f"{config.origin} is this collector"
    if ends and (until := ssl.cert_time_to_seconds(ends)) - now < _RENEWAL_DAYS * 86_400:
        return doubtful(
            f"{text}; its certificate is valid until {day_text(until)}",
            "renew the certificate where TLS ends, at the proxy or here",
        )
    return good(text)


def check_served_log(config: Config, stored: StoredLog) -> Diagnosis:
    """Check that the origin serves the store's log."""
    ours = SignedCheckpoint.parse(stored.newest).checkpoint
    try:
        served = SignedCheckpoint.parse(files_at(config.origin)(CHECKPOINT_PATH)).checkpoint
    except (OSError, ValueError) as error:
        return bad(
            f"there is no log at {config.origin}/log/: {error}",
            "make the proxy forward /log/ unchanged (examples/operations/nginx.conf)",
        )
    if served != ours:
        return bad(
            f"{config.origin}/log/ serves {served.size} entries, but the store has {ours.size}",
            "make sure that no proxy caches /log/checkpoint or serves the log of another store",
        )
    return good(f"{config.origin}/log/ serves all {ours.size} entries")


def witness_answers(config: Config, stored: StoredLog, *, online: bool) -> Replies | None:
    """Ask the witnesses what they have seen; if not ``online``, only if too few cosigned."""
    from deniable.public_log.audit.visiting import ask_witnesses  # needs aiohttp: slow to import

    with suppress(TransparencyLogError):
        if config.witnesses and stored.newest:
            newest = SignedCheckpoint.parse(stored.newest)
            if online or not witnesses_of(config).are_enough(newest):
                return asyncio.run(ask_witnesses(config.witnesses, newest.checkpoint.origin))
    return None


def judge_witnesses(config: Config, replies: Replies) -> Diagnosis:
    """Check whether a quorum of the witnesses answers."""
    silent = [reply for reply in replies.values() if isinstance(reply, str)]
    answering, number = len(config.witnesses) - len(silent), len(config.witnesses)
    quorum = witnesses_of(config).quorum
    text = f"{answering} of {number} respond; {quorum} must cosign"
    if answering < quorum:
        return doubtful(f"{text}: {silent[0]}", "ask their operators, or choose other witnesses")
    return good(text)


def _of_ports(config: Config) -> str:
    """Return a remedy if the origin's port is not the collector's; otherwise "".

    If the origin has TLS that the collector does not terminate, its port is a proxy's.
    """
    origin = urlsplit(config.origin)
    secure = origin.scheme == "https"
    port = origin.port or (443 if secure else 80)
    if port == config.port or secure is (config.tls_certificate is None):
        return ""
    return (
        f"`origin` has port {port}, but `port` is {config.port}: correct the wrong one, unless a "
        "proxy forwards one to the other"
    )
