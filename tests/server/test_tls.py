"""HTTPS of the collector itself: its certificate, its renewal, and handshakes that stall."""

import asyncio
import hashlib
import logging
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from deniable.directory import Config, InvalidConfig
from deniable.server import serving as serving_module
from deniable.server.metrics import Meters
from deniable.server.routes.app import build_server
from deniable.server.serving import accept, open_sockets
from deniable.server.tls import reload_certificate, tls_context
from deniable.stores import SqliteStore
from tests.server.collector import Answer
from tests.server.sockets import SECONDS, read_answer, request
from tests.support.certificates import certificate
from tests.support.surveys import AUTHORITY, ORIGIN


def config_of(folder: Path, **settings: Any) -> Config:
    """Return settings with a fresh certificate."""
    folder.mkdir(exist_ok=True)
    file, _ = certificate(folder, "127.0.0.1")
    made = Config(origin=ORIGIN, authority=AUTHORITY.public_key, store=folder / "store.sqlite")
    return replace(made, tls_certificate=file, tls_key=folder / "key.pem", **settings)


def fingerprint(file: Path) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read_text("ascii"))).hexdigest()


@asynccontextmanager
async def listening(
    config: Config, tls: ssl.SSLContext | None
) -> AsyncIterator[tuple[int, Meters]]:
    """Yield the port of a collector, and what it counts."""
    assert isinstance(config.store, Path)
    store = await SqliteStore.open(config.store)
    meters = Meters()
    server = await build_server(config, store, meters=meters)
    (site,) = await accept(server, open_sockets("127.0.0.1", 0), tls=tls)
    try:
        yield site.sockets[0].getsockname()[1], meters
    finally:
        site.close()
        await server.shutdown(0)
        await store.close()


async def ask(port: int, trusted: Path) -> tuple[Answer, str]:
    """Return an answer over TLS, and the fingerprint of who gave it."""
    client = ssl.create_default_context(cafile=trusted)
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
        writer.write(request(b"GET /healthz"))
        answer = await read_answer(reader)
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        await writer.wait_closed()
    return answer, hashlib.sha256(certificate).hexdigest()


async def test_a_renewed_certificate_is_taken_and_a_bad_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config = config_of(tmp_path)
    file, context = config.tls_certificate, tls_context(config)
    assert file is not None
    assert context is not None
    async with listening(config, context) as (port, _):
        answer, first = await ask(port, file)
        assert (answer.status, first) == (200, fingerprint(file))
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        certificate(tmp_path, "127.0.0.1")  # another one in its place
        assert fingerprint(file) != first
        reload_certificate(context, config)
        assert (await ask(port, file))[1] == fingerprint(file)
        assert "reloaded" in caplog.text
        # Halfway through being replaced: the certificate is new, the key is not yet.
        kept = tmp_path / "kept.pem"
        shutil.copy(file, kept)
        other = config_of(tmp_path / "other").tls_certificate
        assert other is not None
        shutil.copy(other, file)
        reload_certificate(context, config)
        assert (await ask(port, kept))[1] == fingerprint(kept)
        assert "the old one stays in use: " in caplog.text


async def test_a_handshake_that_stalls_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.05)
    config = config_of(tmp_path)
    async with listening(config, tls_context(config)) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(SECONDS):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("name", ["tls_certificate", "tls_key"])
@pytest.mark.parametrize("content", [None, b"", b"no PEM"])
def test_a_file_that_is_none_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    config = config_of(tmp_path)
    file = getattr(config, name)
    file.unlink() if content is None else file.write_bytes(content)
    at_fault = f"^{name}: " if content is None else r"^tls_certificate and tls_key must be"
    with pytest.raises(InvalidConfig, match=at_fault):
        tls_context(config)


def test_a_certificate_that_tells_no_end_is_refused_and_the_old_one_kept(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    context = tls_context(config)
    assert context is not None
    assert config.tls_certificate is not None
    ends = context.ends
    shown = config.tls_certificate.read_bytes()
    # As ``openssl x509 -trustout`` writes it: OpenSSL takes it.
    config.tls_certificate.write_bytes(shown.replace(b" CERTIFICATE", b" TRUSTED CERTIFICATE"))
    with pytest.raises(InvalidConfig, match="must be PEM files"):
        tls_context(config)
    reload_certificate(context, config)
    assert context.ends == ends


def test_nobody_is_asked_for_a_password_and_a_setting_is_named(tmp_path: Path) -> None:
    config = config_of(tmp_path, places={"tls_key": "DENIABLE_TLS_KEY"})
    assert config.tls_key is not None
    encrypted = PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    config.tls_key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, *encrypted))
    with pytest.raises(InvalidConfig, match="must not be encrypted"):
        tls_context(config)
    config.tls_key.unlink()
    with pytest.raises(InvalidConfig, match=r"^DENIABLE_TLS_KEY: tls_key: .* cannot be read"):
        tls_context(config)
