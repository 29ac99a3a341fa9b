"""Certificates that sign themselves, and servers' use of them."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def certificate(folder: Path, host: str, days: int = 1) -> tuple[Path, ssl.SSLContext]:
    """Make a certificate of this address or name; return its file and a server's use of it.

    It is valid for so many days from now; its key is in ``key.pem`` beside it.
    """
    key = generate_private_key(SECP256R1())  # browsers know no Ed25519 here
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=400))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
        .sign(key, SHA256())
    )
    file, key_file = folder / "certificate.pem", folder / "key.pem"
    file.write_bytes(made.public_bytes(Encoding.PEM))
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key_file)
    context.num_tickets = 0  # a ticket written to a client that hangs up first fails the handshake
    return file, context


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
