"""The machine mark: how a device notices that its state is a copy, an old backup, or gone (D5).

Beside the state file stands a small file with the state's mark and its generation (how many
decisions were made). A state without its mark, with another, from another machine, or of an older
generation is not the newest state of this device, and must not decide what that one may have
decided. A mark without a state says that one was lost.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mark", "machine_digest"]

_MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the file beside the state says.

    Attributes:
        token: the state's own mark, with the machine's digest.
        generation: decisions that had been made when it was written.
    """

    token: str
    generation: int

    @classmethod
    def read(cls, state: Path) -> "Mark | None":
        """Return the mark beside the state file; None if there is none or it is unreadable."""
        try:
            token, generation = _path(state).read_text("ascii").split()
            return cls(token, int(generation))
        except FileNotFoundError:
            return None
        except ValueError:
            return cls("", 0)

    def write(self, state: Path) -> None:
        """Write the mark durably and at once, in place of the one before.

        Raises:
            OSError: if the disk does not take it.
        """
        path = _path(state)
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, f"{self.token} {self.generation}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new.replace(path)


def machine_digest() -> str:
    """Return a digest of the machine's id, or of nothing where it has none."""
    try:
        machine = _MACHINE_ID.read_bytes()
    except OSError:
        machine = b""
    return hashlib.sha256(b"deniable/machine-mark/v1\0" + machine).hexdigest()[:16]


def _path(state: Path) -> Path:
    return state.with_name(state.name + ".mark")
