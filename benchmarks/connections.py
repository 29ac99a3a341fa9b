"""Reports that come as devices send them: each on a connection of its own, plain or by TLS."""

import asyncio
import datetime as dt
import ssl
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from benchmarks.rounds import interleave
from benchmarks.servers import collector
from benchmarks.table import Row, show
from benchmarks.uploads import make_collector, sign_uploads

_ROUNDS: Final = 5
_REPORTS: Final = 1_500
_AT_ONCE: Final = 32
_MOST_SECONDS: Final = 120.0


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        places = {name: Path(scratch) / name for name in ("kept", "plain", "tls")}
        sets: dict[str, list[Sequence[bytes]]] = {}
        for name, directory in places.items():
            survey_id = make_collector(directory)
            sets[name] = [sign_uploads(survey_id, _REPORTS, 0).singles for _ in range(_ROUNDS + 1)]
        trusting = _certificate(places["tls"])
        found = interleave(
            {
                "kept": _cost(places["kept"], sets["kept"], None, kept=True),
                "plain": _cost(places["plain"], sets["plain"], None, kept=False),
                "tls": _cost(places["tls"], sets["tls"], trusting, kept=False),
            },
            _ROUNDS,
        )
    show(
        "the collector's processor time for one report",
        [
            Row("on a connection that is kept", found["kept"].scaled(1e6), "µs"),
            Row("on a connection of its own", found["plain"].scaled(1e6), "µs"),
            Row("on a connection of its own, TLS 1.3, P-256", found["tls"].scaled(1e6), "µs"),
            Row("a connection of its own ÷ one that is kept", found["plain"] / found["kept"]),
            Row("TLS ÷ plain, each its own connection", found["tls"] / found["plain"]),
        ],
    )


def _cost(
    directory: Path, sets: Sequence[Sequence[bytes]], trusting: ssl.SSLContext | None, *, kept: bool
) -> Callable[[], float]:
    """Return a measurement of a collector's processor seconds a report."""
    rounds = iter(sets)

    def measure() -> float:
        requests = next(rounds)
        with collector(directory) as server:
            before = server.cpu_seconds()
            asyncio.run(send(server.port, requests, trusting, kept=kept))
            return (server.cpu_seconds() - before) / len(requests)

    return measure


async def send(
    port: int, requests: Sequence[bytes], trusting: ssl.SSLContext | None, *, kept: bool
) -> None:
    """Send requests over 32 connections, which are kept, or each over one of its own."""
    waiting = list(requests)

    async def keep_sending() -> None:
        reader, writer = await _connect()
        while waiting:
            writer.write(waiting.pop())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"an upload got {head[:40]!r}")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            if not kept:
                writer.close()
                reader, writer = await _connect()
        writer.close()

    async def _connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port, ssl=trusting)

    async with asyncio.timeout(_MOST_SECONDS):
        await asyncio.gather(*(keep_sending() for _ in range(_AT_ONCE)))


def _certificate(directory: Path) -> ssl.SSLContext:
    """Have a collector speak TLS; return what trusts it."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a benchmark")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, SHA256())
    )
    (directory / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    (directory / "key.pem").chmod(0o600)
    settings = directory / "collector.toml"
    lines = 'tls_certificate = "certificate.pem"\ntls_key = "key.pem"\n'
    settings.write_text(settings.read_text("utf-8") + lines, "utf-8")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
