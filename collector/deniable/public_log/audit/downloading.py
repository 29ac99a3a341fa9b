"""The download of a log: bounded, whoever serves it.

L1. What is fetched follows from the size in the checkpoint, which is bounded; so are the bytes of
    each file, of all files together, and the time.
L2. A file that is withheld, in whichever way, keeps no other from being read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from deniable.logs import MAX_CHECKPOINT_BYTES, SignedCheckpoint, TransparencyLogError
from deniable.messages import (
    MAX_MANIFEST_BYTES,
    log_entry,
)
from deniable.public_log.audit.findings import plain
from deniable.public_log.audit.subject import Downloaded
from deniable.public_log.publish import CHECKPOINT_PATH, large_digest, large_path
from deniable.public_log.publish.tree import (
    MAX_ENTRY_BYTES,
    entry_bundle_path,
    read_entry_bundle,
    tile_path,
    tiles_of,
)
from deniable.reading import NotReached, NotThere, ReadingError

MOST_ENTRIES: Final = 20_000
_MOST_BYTES: Final = 128 << 20

_MOST_ENVELOPE_BYTES: Final = MAX_MANIFEST_BYTES + 1_024


class Place(Protocol):
    """A place where a log is served."""

    def read(self, path: str, most: int) -> bytes:
        """Return a file below the log's address, of so many bytes at most.

        Raises:
            NotThere: if there is none.
            ReadingError: if it cannot be had.
        """


class LogDirectory:
    """A log in a directory, as it was exported, or copied from its collector."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, path: str, most: int) -> bytes:
        """Return a file of the directory."""
        try:
            with (self._directory / path).open("rb") as stream:
                content = stream.read(most + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotThere(f"{self._directory / path} does not exist") from error
        if len(content) > most:
            raise NotReached("the file is too long")
        return content


def read_checkpoint(place: Place) -> SignedCheckpoint:
    """Return the checkpoint of a log.

    Raises:
        ReadingError: if it cannot be had, or is none.
    """
    try:
        return SignedCheckpoint.parse(place.read(CHECKPOINT_PATH, MAX_CHECKPOINT_BYTES))
    except NotThere as error:
        raise NotThere(
            "there is no log: a collector that has published nothing yet has none, and one that "
            "has lost it, or hides it, looks the same"
        ) from error
    except TransparencyLogError as error:
        raise NotReached(f"the log's checkpoint is none: {plain(error)}") from error


def download(place: Place, checkpoint: SignedCheckpoint) -> Downloaded:
    """Return the files of a log that a checkpoint's size says there are.

    Raises:
        ReadingError: if they are too many.
    """
    size = checkpoint.checkpoint.size
    if size > MOST_ENTRIES:
        raise NotReached(f"the log claims {size:,} entries; this reads {MOST_ENTRIES:,} at most")
    tiles: dict[str, bytes] = {}
    entries: list[bytes | None] = []
    missing: dict[str, str] = {}
    damaged: dict[str, str] = {}
    left = _MOST_BYTES

    def file(path: str, most: int) -> bytes | None:
        nonlocal left
        try:
            content = place.read(path, min(most, left))
        except ReadingError as error:
            missing[path] = str(error)
            return None
        left -= len(content)
        return content

    for level, index, width in tiles_of(size):
        path = tile_path(level, index, width)
        if (tile := file(path, width * 32)) is not None:
            tiles[path] = tile
        if level:
            continue
        path = entry_bundle_path(index, width)
        bundle = file(path, width * (MAX_ENTRY_BYTES + 2))
        read: Sequence[bytes | None] = [None] * width
        if bundle is not None:
            try:
                read = read_entry_bundle(bundle, width)
            except TransparencyLogError as error:
                damaged[path] = str(error)
        entries += read
    envelopes = [*entries]
    for index, entry in enumerate(entries):
        if digest := large_digest(entry or b""):
            path = large_path(digest)
            envelope = file(path, _MOST_ENVELOPE_BYTES)
            if envelope is not None and log_entry(envelope) == entry:
                envelopes[index] = envelope
            elif envelope is not None:
                damaged[path] = "it is not what the log's entry stands for"
    return Downloaded(checkpoint, tiles, tuple(entries), tuple(envelopes), missing, damaged)
