"""The log's private key, and the record of the last checkpoint that it signed: off the server.

They lie beside the authority's key. The record is written after the store's commit and before
anybody is told of the checkpoint, so that a store that was put back is noticed. It never goes back.
Two logs may have one key, but each has its record.
"""

import fcntl
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deniable.enrolment import KeyFileError, create_key_file, read_key_file
from deniable.enrolment.key_file import replace_file
from deniable.logs import LOG, SignedCheckpoint, TransparencyLogError, VerifierKey
from deniable.messages import SigningKey
from deniable.public_log.publish.errors import LogKeyMissing, PublicLogError
from deniable.public_log.publish.public_log import PublicLog


def log_key_file(authority_key: Path) -> Path:
    """Return where the log's key is put: ``…-log.pem`` beside ``…-authority.pem``."""
    return authority_key.with_name(f"{_stem(authority_key)}-log.pem")


def record_file(key_file: Path, origin: str) -> Path:
    """Return where the record of a log is: ``…-log.HOST.checkpoint`` beside its key."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", origin.removesuffix("/log"))
    return key_file.with_name(f"{key_file.stem}.{host}.checkpoint")


def find_log_key(authority_key: Path, newest: SignedCheckpoint | None) -> tuple[Path, SigningKey]:
    """Return the key that signed the log's newest checkpoint, and its file.

    A log that has none yet gets a key, unless there is one.

    Raises:
        KeyFileError: if a key cannot be read or made.
        LogKeyMissing: if none beside the authority's is the one.
    """
    usual = log_key_file(authority_key)
    if newest is None:
        return usual, read_key_file(usual) if usual.exists() else create_key_file(usual)
    for file in (usual, *sorted(usual.parent.glob("*-log.pem"))):
        with suppress(KeyFileError):
            key = read_key_file(file)
            if signed_by(newest, key):
                return file, key
    record = record_file(usual, newest.checkpoint.origin).name
    raise LogKeyMissing(
        f"the key that signs the public log is not beside {authority_key}: put it there as "
        f"{usual.name}, with its {record}. If it is lost: deniable log new-key"
    )


def verifier_key(origin: str, key: SigningKey) -> VerifierKey:
    """Return the public half of a log's key, under the log's name."""
    return VerifierKey(origin, LOG, key.public_key)


def signed_by(signed: SignedCheckpoint, key: SigningKey) -> bool:
    """Tell whether a log's key signed a checkpoint."""
    try:
        signed.verify(verifier_key(signed.checkpoint.origin, key))
    except TransparencyLogError:
        return False
    return True


def read_record(key_file: Path, origin: str) -> SignedCheckpoint | None:
    """Return the last checkpoint of a log that was signed, None if none was.

    Raises:
        PublicLogError: if the file holds something else.
    """
    file = record_file(key_file, origin)
    try:
        record = SignedCheckpoint.parse(file.read_bytes())
        if record.checkpoint.origin != origin:
            raise TransparencyLogError(f"it is of the log {record.checkpoint.origin}")
    except FileNotFoundError:
        return None
    except TransparencyLogError as error:
        raise PublicLogError(
            f"{file} is not the record of the log {origin}: {error}. Put back a copy of it; or, if "
            "you are sure that the store has all that was published, move it away"
        ) from error
    return record


def write_record(
    key_file: Path, signed: SignedCheckpoint, extends: Callable[[SignedCheckpoint], bool]
) -> None:
    """Remember, durably and at once, a checkpoint that was committed, unless more is remembered.

    Also if it is remembered already: so before anything is published it shows whether it can be.

    Args:
        key_file: The log's private key, which lies beside.
        signed: The checkpoint.
        extends: Tells whether its log extends that of another.

    Raises:
        PublicLogError: if the file cannot be written.
    """
    file = record_file(key_file, signed.checkpoint.origin)
    try:
        with key_file.open("rb") as locked:  # against others who publish
            fcntl.flock(locked, fcntl.LOCK_EX)
            record = read_record(key_file, signed.checkpoint.origin)
            if record is None or extends(record):
                replace_file(file, signed.text.encode())
    except OSError as error:
        raise PublicLogError(
            f"{file} cannot be written: {error.strerror}. Without that record a store that is put "
            "back is not noticed. Mend this first; then deniable log cosign writes it, too"
        ) from error


def keep_record(authority_key: Path, log: PublicLog) -> None:
    """Bring the record up to what the store has, if the log's key is here.

    It is behind where a publishing was broken off, or another machine published. Where there is
    none, the next publisher writes it, once witnesses have seen no more.
    """
    if log.newest is None:
        return
    with suppress(LogKeyMissing):
        key_file, _ = find_log_key(authority_key, log.newest)
        record = read_record(key_file, log.newest.checkpoint.origin)
        if record is not None and record.checkpoint != log.newest.checkpoint:
            write_record(key_file, log.newest, log.extends)


def keep_fork(key_file: Path, ours: SignedCheckpoint, theirs: SignedCheckpoint) -> Path:
    """Keep two checkpoints that no one log can have; return the file."""
    file = record_file(key_file, ours.checkpoint.origin).with_suffix(".fork")
    replace_file(file, f"{ours.text}\n{theirs.text}".encode())
    return file


def _stem(authority_key: Path) -> str:
    return re.sub(r"(-authority(-[0-9]+)?)?(\.pem)?$", "", authority_key.name) or "public"
