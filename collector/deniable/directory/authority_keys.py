"""The authority's keys: the chain of its rotations, and the private halves.

The latter are in separate files, outside the server's directory. Only ``survey publish`` and
``authority rotate`` read them. Anyone with the current one decides which surveys devices accept.
"""

import glob
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.counterparts.signing import sign_manifest, sign_rotation
from deniable.key_files import KeyFileError, read_key_file
from deniable.messages import (
    Refusal,
    Rotation,
    SigningKey,
    follow_rotations,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.stores import Store

if TYPE_CHECKING:
    from deniable.public_log.publish.publisher import Publisher


def default_key_file(directory: Path, number: int = 1) -> Path:
    """Return the path of a collector's key, beside its directory; ``init`` creates number 1."""
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
    """Return the file beside a collector's directory that contains this key's private half.

    If there is none, it is the newest existing name, or the one that ``init`` would use.
    """
    files = key_files(directory) or [default_key_file(directory)]
    for file in files:
        with suppress(KeyFileError):
            if read_authority_key(file).public_key == public_key:
                return file
    return files[-1]


def check_outside(file: Path, directory: Path) -> None:
    """Raise KeyFileError if a private key is in the server's directory."""
    if file.resolve().is_relative_to(directory.resolve()):
        raise KeyFileError(f"{file} must be outside the server's directory, {directory}")


def read_current_key(file: Path, public_key: bytes) -> SigningKey:
    """Return the current signing key; KeyFileError if the file cannot be read, or has another."""
    key = read_authority_key(file)
    if key.public_key != public_key:
        raise KeyFileError(f"{file} is not the current signing key, {public_key.hex()}")
    return key


def read_authority_key(file: Path) -> SigningKey:
    """Read the key, like read_key_file; if it is missing, the error says how to name another."""
    try:
        return read_key_file(file)
    except KeyFileError as error:
        if file.exists():
            raise
        raise KeyFileError(f"{error}; give --authority-key") from error


async def rotations_of(store: Store) -> list[Rotation]:
    """Return the rotations of a collector's authority."""
    return [open_rotation(envelope) for envelope in await store.rotations()]


async def authority_chain(store: Store, authority: bytes) -> tuple[bytes, ...]:
    """Return the keys from the settings' one to the current one; Refusal for invalid rotations."""
    return follow_rotations(authority, await rotations_of(store))


async def hand_over(
    store: Store,
    authority: bytes,
    old: SigningKey,
    new: SigningKey,
    publisher: "Publisher",
    gateway: bytes | None = None,
) -> tuple[Rotation, int]:
    """Rotate the authority to a new key; return the rotation, and the number of re-signed surveys.

    The publisher logs both, and the gateway keys signed by the new key, if there are any.

    Raises:
        Refusal: if the stored rotations, or this one after them, are invalid.
    """
    rotations = await rotations_of(store)
    last = next((made for made in rotations if made.new_key == old.public_key), None)
    rotation = Rotation(old.public_key, new.public_key, 1 if last is None else last.sequence + 1)
    chain = follow_rotations(authority, [*rotations, rotation])

    def sign_anew(envelope: bytes) -> bytes:
        try:
            manifest, _ = open_manifest_of_chain(envelope, chain)
        except Refusal:  # not this authority's: it is not offered, and stays unchanged
            return envelope
        return sign_manifest(manifest, new)

    envelope = sign_rotation(rotation, old, new)
    surveys = reversed(await store.surveys())
    anew = [after for survey in surveys if (after := sign_anew(survey)) != survey]
    signed = [envelope, *anew, *([] if gateway is None else [gateway])]
    extension = publisher.extension(signed)
    changed = await store.rotate(rotation, envelope, sign_anew, extension)
    await publisher.committed()
    return rotation, changed
