"""The log's private key, and the record of the last checkpoint that it signed: off the server.

They lie beside the authority's key. The record is written after the store's commit and before
anybody is told of the checkpoint, so that a store that was put back is noticed.
"""

import re
from contextlib import suppress
from pathlib import Path

from deniable.enrolment import KeyFileError, create_key_file, read_key_file
from deniable.enrolment.key_file import replace_file
from deniable.messages import SigningKey
from deniable.public_log.errors import LogKeyMissing
from deniable.transparency_log import LOG, SignedCheckpoint, TransparencyLogError, VerifierKey


def log_key_file(authority_key: Path) -> Path:
    """Return where the log's key is put: ``…-log.pem`` beside ``…-authority.pem``."""
    return authority_key.with_name(f"{_stem(authority_key)}-log.pem")


def record_file(key_file: Path) -> Path:
    """Return where the record of a log's key is."""
    return key_file.with_suffix(".checkpoint")


def fork_file(key_file: Path) -> Path:
    """Return where proof of a second history is kept."""
    return key_file.with_suffix(".fork")


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
    raise LogKeyMissing(
        f"the key that signs the public log is not beside {authority_key}: put it there as "
        f"{usual.name}, with its {record_file(usual).name}. If it is lost: deniable log new-key"
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


def read_record(key_file: Path) -> SignedCheckpoint | None:
    """Return the last checkpoint that was signed, None if none was.

    Raises:
        TransparencyLogError: if the file holds something else.
    """
    try:
        return SignedCheckpoint.parse(record_file(key_file).read_text("utf-8"))
    except FileNotFoundError:
        return None


def write_record(key_file: Path, signed: SignedCheckpoint) -> None:
    """Remember, durably and at once, the last checkpoint that was signed."""
    replace_file(record_file(key_file), signed.text.encode())


def keep_fork(key_file: Path, ours: SignedCheckpoint, theirs: SignedCheckpoint) -> Path:
    """Keep two checkpoints that no one log can have; return the file."""
    file = fork_file(key_file)
    replace_file(file, f"{ours.text}\n{theirs.text}".encode())
    return file


def _stem(authority_key: Path) -> str:
    return re.sub(r"(-authority(-[0-9]+)?)?(\.pem)?$", "", authority_key.name) or "public"
