"""Private files, durable and for their owner only; some contain signing keys, as PEM."""

import os
import secrets
import stat
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from deniable.messages import SigningKey


class KeyFileError(Exception):
    """A key file is missing, exposed, or invalid."""


def create_key_file(file: Path) -> SigningKey:
    """Create a signing key and write it, readable by its owner only (PKCS #8 PEM).

    Raises:
        KeyFileError: if the file exists or cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    try:
        create_private(file, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    except FileExistsError as error:
        raise KeyFileError(f"{file} already exists; a key is never overwritten") from error
    except OSError as error:
        raise KeyFileError(f"{file} cannot be written: {error.strerror}") from error
    return SigningKey(key.private_bytes_raw())


def read_key_file(file: Path) -> SigningKey:
    """Read a signing key.

    Raises:
        KeyFileError: if it is missing, readable by others, or not an Ed25519 key.
    """
    try:
        key = load_pem_private_key(read_private(file), password=None)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"{file} is not an unencrypted PEM private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{file} is not an Ed25519 key")
    return SigningKey(key.private_bytes_raw())


def create_private(file: Path, content: bytes) -> None:
    """Write a new file, durably and for its owner only; FileExistsError if it exists."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)


def create_whole(file: Path, content: bytes) -> bool:
    """Write a new file like ``create_private``, atomically; return whether this process did it.

    Of several processes only one does.
    """
    made = _beside(file)
    create_private(made, content)
    try:
        os.link(made, file)
    except FileExistsError:
        return False
    finally:
        made.unlink()
    return True


def replace_file(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file in place of the previous one, atomically and durably."""
    made = _beside(file)
    try:
        create_private(made, content)
        made.chmod(mode)
        made.replace(file)
    except OSError:
        made.unlink(missing_ok=True)
        raise
    synchronise(file.parent)


def synchronise(path: Path) -> None:
    """Make a file's content durable, or a directory's list of files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.{secrets.token_hex(8)}")


def read_private(file: Path) -> bytes:
    """Return the content of a file; KeyFileError if others can read it, or this process cannot."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            raise KeyFileError(f"other users can access {file}; run: chmod 600 {file}")
        return file.read_bytes()
    except OSError as error:
        raise KeyFileError(f"{file}: {error.strerror}") from error
