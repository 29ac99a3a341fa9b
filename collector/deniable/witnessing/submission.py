"""Submissions: checkpoints on their way to a witness (C2SP tlog-witness, ``add-checkpoint``)."""

import base64
from dataclasses import dataclass
from typing import Final

from deniable.transparency_log import (
    MAX_CHECKPOINT_BYTES,
    MAX_PATH,
    SignedCheckpoint,
    TransparencyLogError,
)
from deniable.transparency_log.checkpoint import note_text, read_hash, read_size

MAX_SUBMISSION_BYTES: Final = MAX_CHECKPOINT_BYTES + 4_096
"""The most that a request to cosign has: a checkpoint, and 63 hashes."""

SIZE_TYPE: Final = "text/x.tlog.size"
"""The media type of the size that a witness has seen, where it was another than the old one."""

_OLD: Final = "old "


@dataclass(frozen=True, slots=True)
class Submission:
    """A signed checkpoint, and the path that shows it to extend the tree of the old size."""

    old_size: int
    path: tuple[bytes, ...]
    signed: SignedCheckpoint

    @classmethod
    def parse(cls, body: bytes) -> "Submission":
        """Read the body of a request; what ``parse`` took, ``text`` returns.

        Raises:
            TransparencyLogError: if it has another form, or more than 132 KiB.
        """
        head, gap, checkpoint = note_text(body, MAX_SUBMISSION_BYTES).partition("\n\n")
        old, *hashes = head.split("\n")
        if not gap or not old.startswith(_OLD) or len(hashes) > MAX_PATH:
            raise TransparencyLogError(
                f"a submission names the old size, with at most {MAX_PATH} hashes behind it"
            )
        old_size = read_size(old.removeprefix(_OLD))
        return cls(old_size, tuple(map(read_hash, hashes)), SignedCheckpoint.parse(checkpoint))

    @property
    def text(self) -> str:
        """The body of the request."""
        hashes = (base64.b64encode(hash_).decode() for hash_ in self.path)
        return "\n".join((f"{_OLD}{self.old_size}", *hashes)) + f"\n\n{self.signed.text}"
