"""The machine mark: how a device notices that its state is a copy, an old backup, or gone (D5).

Beside the state file stands a small file with the state's mark, its generation (how many decisions
and consents were stored), the latest instant the device has seen, the user's consent and when they
last had everything erased, and what is reserved of the lifetime budget. It is written before the
state commits. A state without its mark, with another, from another machine, or of an older
generation is not the newest state of this device, and must not decide what that one may have
decided. A mark without a state says that one was lost. A mark whose file was changed since it was
written was put there from a backup, with the state beside it.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from deniable.client.consent import Consent

__all__ = ["Mark", "machine_digest"]

_MACHINE_ID = Path("/etc/machine-id")
_MOST = 2**62
_SLACK_SECONDS = 60
"""Between the mark's last write and its rename, by the file system's own clock, if it is slow."""
_COPY_SECONDS = 2
"""Within it a copy passes too: some file systems number their files anew at each mount."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the file beside the state says.

    Attributes:
        token: the state's own mark, with the machine's digest.
        generation: decisions and consents that had been stored when it was written.
        instant: the latest Unix second that the device had seen by its own clock, or decided for.
        consent: the user's latest decision; "" if the file is unreadable.
        reserved: of the lifetime budget, in 1e-9 epsilon: what a lost state had spent stays spent.
        erased: generation at which the user last had all report bytes erased; 0 for never.
        genuine: whether the file is the very one that was written, not a copy of it.
    """

    token: str
    generation: int
    instant: int
    consent: str
    reserved: int
    erased: int = 0
    genuine: bool = True

    @classmethod
    def read(cls, state: Path) -> "Mark | None":
        """Return the mark beside the state file; None if there is none."""
        path = _path(state)
        try:
            token, *counts, consent, written = path.read_text("ascii").split()
            generation, instant, reserved, erased = map(int, counts)
            # Nobody can set a file's time of change: what came from a backup changed later.
            status, (changed, _, file) = path.stat(), written.partition(":")
            since = abs(status.st_ctime - int(changed))
            same = since <= _COPY_SECONDS or file == str(status.st_ino)
            genuine = same and since <= _SLACK_SECONDS
            mark = cls(token, generation, instant, consent, reserved, erased, genuine)
            mark._check()
        except FileNotFoundError:
            return None
        except ValueError:
            return cls("", 0, 0, "", 0, genuine=False)
        return mark

    def _check(self) -> None:
        """Refuse what was never written: no state could be made of it, now or ever."""
        Consent(self.consent)
        counted = (self.generation, self.reserved, self.erased)
        if max(*counted, abs(self.instant)) > _MOST or min(counted) < 0:
            raise ValueError

    def write(self, state: Path) -> None:
        """Write the mark durably and at once, in place of the one before.

        Raises:
            OSError: if the disk does not take it.
        """
        path = _path(state)
        new = path.with_name(f"{path.name}.new")  # one writer at a time: it holds the state's lock
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            counts = f"{self.generation} {self.instant} {self.reserved} {self.erased}"
            fields = f"{self.token} {counts} {self.consent} "
            os.write(descriptor, fields.encode())
            status = os.fstat(descriptor)
            os.write(descriptor, f"{int(status.st_ctime)}:{status.st_ino}\n".encode())
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
