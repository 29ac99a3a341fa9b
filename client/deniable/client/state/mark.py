"""The machine mark: how a device detects that its state is a copy, an old backup, or gone (D5).

A small file beside the state file contains the state's mark. It also contains its generation (how
many decisions and consents were stored), the latest instant that the device has seen, the user's
consent and its scopes, and the spending by time of use. It is written before the state commits. A
state must not decide epochs that the device's newest state may have decided. So a state is
distrusted if its mark is missing, differs, comes from another machine, or has a later generation. A
mark without a state shows that the state was lost. A mark whose file changed after it was written
was restored from a backup, together with its state.

Spending is recorded by day of use, so that no finer time of an answer is stored. In the mark, the
days before the longest sliding period are merged into its first day. No cost is moved to an earlier
time, and merging now and again later gives the same result as merging once later. So the costs
unknown to a state are exactly the difference of two sums, both merged on the later day.
"""

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

from deniable.client.clock import Boot
from deniable.client.consent import CLAIMED, Consent, Scope, given
from deniable.client.survey import DAY, LONGEST_PERIOD

NEVER: Final = -(2**62)
"""Earlier than any instant, and any time of use."""
_LONGEST_GAP: Final = 7 * DAY


def look_at_clock(connection: sqlite3.Connection, now: float, boot: Boot | None) -> int:
    """Count the time since the last reading; return the seconds of use.

    A gap counts as a week at most, and within one boot of the machine as the time on the boot
    clock, which nobody can set. With a boot clock, a clock that was once ahead delays nothing.
    """
    (before,) = connection.execute("SELECT lived FROM device").fetchone()
    lived, (name, seconds) = lived_by(connection, now, boot), boot or ("", 0.0)
    connection.execute(
        "UPDATE device SET lived = :lived, boot = :boot, boot_seconds = :seconds,"
        " looked_at = CASE WHEN :boot = '' THEN max(looked_at, :now) ELSE :now END",
        {"lived": lived, "now": int(now), "boot": name, "seconds": seconds},
    )
    if lived // DAY > before // DAY:
        _merge_spending(connection, lived // DAY)
    return lived


def lived_by(connection: sqlite3.Connection, now: float, boot: Boot | None) -> int:
    """Return the seconds of use that a reading would count now, without changing anything."""
    lived, looked_at, last, seconds = connection.execute(
        "SELECT lived, looked_at, boot, boot_seconds FROM device"
    ).fetchone()
    gap = int(now) - looked_at
    if boot is not None and boot[0] == last:
        # If the clock shows less, it was set back; nothing else is known about it.
        gap = ceil(boot[1] - seconds)
    return int(lived + max(0, min(gap, _LONGEST_GAP)))


def whole_days(lived: int) -> int:
    """Return seconds of use, rounded up to days."""
    return -(-lived // DAY) * DAY


def spent_by_day(connection: sqlite3.Connection) -> Counter[int]:
    """Return the spending by day of use, including by this device's states that are gone."""
    spent: Counter[int] = Counter()
    for lived, cost in connection.execute(
        "SELECT lived, cost FROM carried UNION ALL SELECT lived, cost FROM spending_by_day"
    ):
        spent[lived // DAY] += int(cost)  # all are whole days
    return spent


def _merge_spending(connection: sqlite3.Connection, today: int) -> None:
    """Merge old days, as of a day of use, so that a report need not add up all of them."""
    first = {"first": (today - LONGEST_PERIOD) * DAY}
    old = "FROM spending_by_day WHERE lived < :first"
    connection.execute(
        f"INSERT INTO spending_by_day SELECT :first, sum(cost) {old} HAVING count(*) > 0"
        " ON CONFLICT (lived) DO UPDATE SET cost = cost + excluded.cost",
        first,
    )
    connection.execute(f"DELETE {old}", first)


def merged(spent: Mapping[int, int], today: int) -> Counter[int]:
    """Return the costs by day of use, as merged on a given day of use."""
    result: Counter[int] = Counter()
    for day, cost in spent.items():
        result[max(day, today - LONGEST_PERIOD)] += cost
    return result


def unknown(marked: Mapping[int, int], known: Mapping[int, int], today: int) -> Counter[int]:
    """Return the costs by day of use in a mark beyond the known costs; none if more is known."""
    return merged(marked, today) - merged(known, today)


_MACHINE_ID = Path("/etc/machine-id")
_MOST = 2**62
_NOTHING = "-"
_ERASES, _CLAIMED = 1, 2
_SLACK_SECONDS = 60
"""Tolerance between the mark's last write and its rename, for a slow file-system clock."""
_COPY_SECONDS = 2
"""Within this time a copy passes too: some file systems renumber their files at each mount."""


class Mark(NamedTuple):
    """The content of the file beside the state."""

    token: str  # the state's own mark, with the machine's digest
    generation: int  # decisions and consents stored when it was written
    instant: int  # the latest Unix second that the device had seen, or decided for
    lived: int  # seconds of use of the device by then
    consent: str  # the user's latest decision; "" if the file is unreadable
    spent: Mapping[int, int]  # in 1e-9 epsilon, by day of use, as merged on the latest day
    erases: bool = False  # whether the last stored change erased all report bytes
    consents: tuple[Scope, ...] = ()  # the scopes of the consent
    claimed: bool = False  # whether consent is still the app's initial one, which no user decided
    genuine: bool = True  # the very file that was written on this machine, not a copy

    @classmethod
    def of(cls, connection: sqlite3.Connection, *, erases: bool = False) -> "Mark":
        """Return the mark for a state as the open transaction leaves it."""
        token, generation, instant, lived, consent, claimed = connection.execute(
            "SELECT mark, generation, ledger_time, lived, consent, consent_from = ? FROM device",
            (CLAIMED,),
        ).fetchone()
        spent = merged(spent_by_day(connection), lived // DAY)
        consents = tuple(given(connection))
        rest = spent, erases, consents, bool(claimed)
        return cls(token, generation, instant, lived, consent, *rest)

    @classmethod
    def read(cls, state: Path) -> "Mark | None":
        """Return the mark beside the state file; None if there is none."""
        path = _path(state)
        try:
            token, *counts, consent, spent, scopes, written = path.read_bytes().decode().split()
            generation, instant, lived, flags = map(int, counts)
            # Nobody can set a file's time of change: a file from a backup changed later.
            status, (changed, _, file) = path.stat(), written.partition(":")
            since = abs(status.st_ctime - int(changed))
            same = since <= _COPY_SECONDS or file == str(status.st_ino)
            genuine = same and since <= _SLACK_SECONDS and token.endswith(_machine_digest())
            erases, claimed = bool(flags & _ERASES), bool(flags & _CLAIMED)
            consents = () if scopes == _NOTHING else tuple(map(Scope.parse, scopes.split(",")))
            rest = _parse(spent), erases, consents, claimed, genuine
            mark = cls(token, generation, instant, lived, consent, *rest)
            mark._check()
        except FileNotFoundError:
            return None
        except ValueError:
            return cls("", 0, 0, 0, "", {}, genuine=False)
        return mark

    def _check(self) -> None:
        """Refuse values that were never written, from which no state could be made."""
        Consent(self.consent)
        days, costs = [day * DAY for day in self.spent], self.spent.values()
        counted = (self.generation, self.lived, *days, *costs)
        if max(*counted, sum(costs), abs(self.instant)) > _MOST or min(counted) < 0:
            raise ValueError

    def write(self, state: Path) -> None:
        """Write the mark durably and atomically, replacing the previous one."""
        path = _path(state)
        new = path.with_name(f"{path.name}.new")  # one writer at a time, with the state's lock
        spent = ",".join(f"{day}:{cost}" for day, cost in sorted(self.spent.items())) or _NOTHING
        consents = ",".join(map(str, self.consents)) or _NOTHING
        flags = _ERASES * self.erases | _CLAIMED * self.claimed
        counts = f"{self.generation} {self.instant} {self.lived} {flags}"
        new.unlink(missing_ok=True)  # left by a write that was killed, perhaps by another user
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(f"{self.token} {counts} {self.consent} {spent} {consents} ".encode())
            file.flush()
            status = os.fstat(file.fileno())
            file.write(f"{int(status.st_ctime)}:{status.st_ino}\n".encode())
            file.flush()
            if os.name == "posix" and os.geteuid() == 0:  # as SQLite does for its own files
                owner = state.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fsync(file.fileno())
        new.replace(path)


def new_token() -> str:
    """Return a mark for a state that is created, or renewed, on this machine."""
    return os.urandom(16).hex() + _machine_digest()


def _parse(spent: str) -> dict[int, int]:
    pairs = [] if spent == _NOTHING else [pair.split(":") for pair in spent.split(",")]
    return {int(day): int(cost) for day, cost in pairs}


def _machine_digest() -> str:
    try:
        machine = _MACHINE_ID.read_bytes()
    except OSError:
        machine = b""
    return hashlib.sha256(b"deniable/machine-mark/v1\0" + machine).hexdigest()[:16]


def _path(state: Path) -> Path:
    return state.with_name(state.name + ".mark")
