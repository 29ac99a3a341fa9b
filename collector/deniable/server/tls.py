"""HTTPS without a proxy: the certificate, and its renewal while the collector runs."""

import logging
import ssl

from cryptography import x509

from deniable.directory import Config, InvalidConfig

_LOG = logging.getLogger("deniable.collector")


class ServerTls(ssl.SSLContext):
    """The collector's TLS."""

    ends = 0.0  # Unix seconds: the end of the current certificate


def tls_context(config: Config) -> ServerTls | None:
    """Return the context of TLS (1.2 or newer), None if the settings name no certificate.

    Raises:
        InvalidConfig: if certificate or key cannot be used.
    """
    if config.tls_certificate is None:
        return None
    context = ServerTls(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, config)
    return context


def reload_certificate(context: ServerTls, config: Config) -> None:
    """Read certificate and key again for new connections; keep the old ones if invalid."""
    try:
        tls_context(config)  # a partial change would leave the context without a certificate
        _load(context, config)
    except InvalidConfig as error:
        _LOG.error("the certificate was not reloaded, and the old one stays in use: %s", error)
    else:
        _LOG.info("the certificate was reloaded")


def _load(context: ServerTls, config: Config) -> None:
    assert config.tls_certificate is not None
    assert config.tls_key is not None
    for name, file in (("tls_certificate", config.tls_certificate), ("tls_key", config.tls_key)):
        try:
            file.open("rb").close()
        except OSError as error:
            raise InvalidConfig(
                f"{config.place(name)}: {file} cannot be read ({error.strerror})"
            ) from error
    try:
        context.load_cert_chain(
            config.tls_certificate, config.tls_key, lambda: _no_password(config)
        )
        certificate = x509.load_pem_x509_certificate(config.tls_certificate.read_bytes())
        context.ends = certificate.not_valid_after_utc.timestamp()
    except InvalidConfig:
        raise
    except (OSError, ValueError) as error:  # from OpenSSL; from cryptography
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise InvalidConfig(
            f"{config.place('tls_certificate')} and {config.place('tls_key')} must be PEM files "
            f"with a certificate and its key ({reason or 'not BEGIN CERTIFICATE'})"
        ) from error


def _no_password(config: Config) -> str:
    # Otherwise OpenSSL would prompt on the terminal.
    raise InvalidConfig(
        f"{config.place('tls_key')} must not be encrypted: the server cannot ask for its password"
    )
