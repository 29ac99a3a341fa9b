"""Events: which part of an epoch a device reports from, drawn before the epoch's first event.

The first event of a week would measure Mondays; a fair choice among all of them would need the last
one's time, or a true answer kept until then. So an epoch is cut into slots of equal length, one of
them is drawn, and the first event in it is reported. Nothing is stored: the slot follows from the
device's secret, and is the same after a restart, in every process, and for every manifest of the
name: whoever publishes another one within the epoch does not draw again.
"""

import hashlib
import hmac
import sqlite3
from typing import Final

from deniable.client.errors import NotChosen
from deniable.messages import Manifest

_CONTEXT: Final = b"deniable/event-slot/v1\0"


def check_slot(
    connection: sqlite3.Connection,
    manifest: Manifest,
    epoch: int,
    slot_seconds: int | None,
    now: float,
) -> None:
    """Check that an event of now is in the slot from which this epoch is reported, if slots are."""
    if slot_seconds is None:
        return
    (secret,) = connection.execute("SELECT secret FROM device").fetchone()
    schedule = manifest.schedule
    slots = -(-schedule.epoch_seconds // slot_seconds)
    slot = int(now - schedule.epoch_start(epoch)) // slot_seconds
    if slot != chosen_slot(secret, manifest.name, epoch, slots):
        raise NotChosen(
            f"epoch {epoch} is reported from another of its {slots} slots of {slot_seconds} s: "
            "there is nothing to do"
        )


def chosen_slot(secret: bytes, name: str, epoch: int, slots: int) -> int:
    """Return a number below ``slots``, each with the same chance but for 1 in 2^200."""
    message = _CONTEXT + name.encode() + epoch.to_bytes(8)
    return int.from_bytes(hmac.digest(secret, message, hashlib.sha256)) % slots
