"""Copies of a public log: its static files, written into a directory, and read back from anywhere.

A copy is believed for what it proves: the log's key signed its checkpoint, and every tile and entry
follows from that. So it may come from anybody.
"""

import urllib.request
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

from deniable.messages import MAX_MANIFEST_BYTES, Refusal, codec
from deniable.public_log.errors import PublicLogError
from deniable.public_log.public_log import CHECKPOINT_PATH, PublicLog, large_path
from deniable.stores import StoredLog
from deniable.transparency_log import (
    MAX_ENTRY_BYTES,
    TILE_WIDTH,
    SignedCheckpoint,
    VerifierKey,
    entry_bundle_path,
    read_entry_bundle,
)

_SECONDS: Final = 30.0
_MOST_BYTES: Final = max(TILE_WIDTH * (MAX_ENTRY_BYTES + 2), MAX_MANIFEST_BYTES + 1_024)
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Files = Callable[[str], bytes]
"""Returns the content of a log's file by its path below the log; OSError if it cannot be had."""


def write_files(log: PublicLog, directory: Path) -> int:
    """Write a log's files into a directory, the checkpoint last; return how many were new.

    Whatever is there already and never changes is left as it is.
    """
    written = 0
    for path in log.paths():
        file = directory / path
        if path == CHECKPOINT_PATH or not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_name(f"{file.name}.part")  # readers see a whole file or none
            part.write_bytes(log.file(path))
            part.replace(file)
            written += 1
    return written


def files_at(source: str) -> Files:
    """Return the files of a log in a directory, or at the URL of a log or its collector."""
    if "://" not in source:
        return lambda path: (Path(source) / path).read_bytes()
    parts = urlsplit(source)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
        raise PublicLogError("a log is read from https://…, from this machine or a directory")
    prefix = source.rstrip("/") if parts.path.strip("/") else f"{source.rstrip('/')}/log"

    def read(path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"{prefix}/{path}", timeout=_SECONDS) as answer:  # noqa: S310
                body: bytes = answer.read(_MOST_BYTES + 1)
        except HTTPError as error:
            with error:
                raise PublicLogError(f"{prefix}/{path} answers {error.code}") from None
        if len(body) > _MOST_BYTES:
            raise PublicLogError(f"{prefix}/{path} is longer than any file of a log")
        return body

    return read


def read_log(files: Files, key: VerifierKey) -> PublicLog:
    """Return the log that files hold, once all of them are proven to be the key's.

    Raises:
        OSError: if a file cannot be had.
        TransparencyLogError: if one is not what it has to be.
    """
    text = files(CHECKPOINT_PATH).decode(errors="replace")
    signed = SignedCheckpoint.parse(text)
    signed.verify(key)
    envelopes: list[bytes] = []
    while (left := signed.checkpoint.size - len(envelopes)) > 0:
        index, width = len(envelopes) // TILE_WIDTH, min(left, TILE_WIDTH)
        bundle = read_entry_bundle(files(entry_bundle_path(index, width)), width)
        envelopes += [_envelope(entry, files) for entry in bundle]
    log = PublicLog(StoredLog(tuple(envelopes), text, ""))
    for path in log.paths():
        if files(path) != log.file(path):
            raise PublicLogError(f"{path} is not that of the log's checkpoint")
    return log


def _envelope(entry: bytes, files: Files) -> bytes:
    """Return the envelope that an entry stands for: itself, but for one of great length."""
    try:
        (digest,) = codec.exact_array(codec.decode(entry), 1)
        path = large_path(codec.binary(digest, sha256().digest_size))
    except Refusal:
        return entry
    return files(path)
