"""The authority's private keys: in files of their own, outside the server's directory.

Only ``survey publish`` and ``authority rotate`` read them. Who holds the one that signs now decides
what devices believe to be asked.
"""

import glob
from contextlib import suppress
from pathlib import Path

from deniable.enrolment import KeyFileError, create_key_file, read_key_file
from deniable.messages import SigningKey

__all__ = [
    "AuthorityKeyError",
    "check_outside",
    "create_authority_key",
    "default_key_file",
    "find_key_file",
    "key_files",
    "read_authority_key",
]


class AuthorityKeyError(Exception):
    """The key file is missing, exposed, or not what it should be; the message says what to do."""


def default_key_file(directory: Path, number: int = 1) -> Path:
    """Return where the key of a collector is put: beside its directory, not in it.

    Args:
        directory: the collector's.
        number: 1 for the key that ``init`` makes, then one more with each rotation.
    """
    resolved = directory.resolve()
    suffix = "" if number == 1 else f"-{number}"
    return resolved.with_name(f"{resolved.name}-authority{suffix}.pem")


def key_files(directory: Path) -> list[Path]:
    """Return the keys beside a collector's directory, where ``init`` and rotations put them."""
    first = default_key_file(directory)
    later = first.parent.glob(f"{glob.escape(first.stem)}-*.pem")
    ordered = [first, *sorted(later, key=lambda file: (len(file.name), file.name))]
    return [file for file in ordered if file.exists()]


def find_key_file(directory: Path, public_key: bytes) -> Path:
    """Return the file beside a collector's directory that holds this key's private half.

    Where none does, the name of the newest that is there, or that ``init`` would use.
    """
    files = key_files(directory) or [default_key_file(directory)]
    for file in files:
        with suppress(AuthorityKeyError):
            if read_authority_key(file).public_key == public_key:
                return file
    return files[-1]


def check_outside(file: Path, directory: Path) -> None:
    """Check that a private key does not lie in the server's directory.

    Raises:
        AuthorityKeyError: if it does.
    """
    if file.resolve().is_relative_to(directory.resolve()):
        raise AuthorityKeyError(f"{file} must be outside the server's directory, {directory}")


def create_authority_key(file: Path) -> SigningKey:
    """Make a key and write it, readable by its owner only (PKCS #8 PEM).

    Raises:
        AuthorityKeyError: if the file exists or cannot be written.
    """
    try:
        return create_key_file(file)
    except KeyFileError as error:
        raise AuthorityKeyError(str(error)) from error


def read_authority_key(file: Path) -> SigningKey:
    """Read the key.

    Raises:
        AuthorityKeyError: if it is missing, readable by others, or no Ed25519 key.
    """
    try:
        return read_key_file(file)
    except KeyFileError as error:
        elsewhere = "" if file.exists() else "; give --authority-key"
        raise AuthorityKeyError(f"{error}{elsewhere}") from error
