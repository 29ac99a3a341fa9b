"""Draws ahead of an epoch: the moments of an event, a token and its report, and a blind survey.

All follow from the device's secret. Nothing is stored: they are the same after a restart, in every
process, and whatever is answered.

Events. The first event of a week would measure Mondays; a fair choice among all of them would need
the last one's time, or a true answer kept until then. So an epoch is cut into slots of equal
length, one of them is drawn, and the first event in it is reported. The slot is the same for every
manifest of the name: whoever publishes another one within the epoch does not draw again.

The halves of a blind epoch. In the first a token is asked for, in the second its report leaves, or
never: so nothing that becomes of a report can move a request, and they never come together.

1. A token's time is uniform in the epoch's first hour, or quarter if that is less: one in all of
   the half would leave many without a token. It is asked for then, or when the app runs next within
   the half, and kept if it comes in that half.
2. A report's is uniform in the third quarter, so that a later start can send it within the epoch.
   Whoever answers after it waits for a time that is uniform in half of what is left of the epoch.

The blind survey of an epoch. Two reports that bear tokens would leave in one session of the app,
and so show that they are one device's: of all blind surveys one is drawn, and answered.

All times are Unix seconds.
"""

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable
from typing import Final

from deniable.client.errors import NotChosen
from deniable.messages import Manifest

_SLOT_CONTEXT: Final = b"deniable/event-slot/v1\0"
_TIME_CONTEXT: Final = b"deniable/sending-time/v1\0"
_ASKING_CONTEXT: Final = b"deniable/asking-time/v1\0"
ASKING_SECONDS: Final = 3600
"""Within this time of an epoch a token falls due."""
_SURVEY_CONTEXT: Final = b"deniable/blind-survey/v1\0"
_DRAW_BYTES: Final = 6


def middle(manifest: Manifest, epoch: int) -> float:
    """Return the instant at which the second half begins."""
    schedule = manifest.schedule
    return schedule.epoch_start(epoch) + schedule.epoch_seconds / 2


def device_secret(connection: sqlite3.Connection) -> bytes:
    """Return the secret from which all of a device's draws ahead follow."""
    secret: bytes
    (secret,) = connection.execute("SELECT secret FROM device").fetchone()
    return secret


def asked_at(secret: bytes, manifest: Manifest, epoch: int) -> float:
    """Return the time from which a token is asked for."""
    schedule = manifest.schedule
    drawn, _ = _draws(secret, _ASKING_CONTEXT, manifest, epoch)
    return schedule.epoch_start(epoch) + drawn * min(ASKING_SECONDS, schedule.epoch_seconds / 4)


def leaves_at(secret: bytes, manifest: Manifest, epoch: int, now: float) -> float:
    """Return the time from which a report that is made now leaves the device, if ever."""
    first, second = _draws(secret, _TIME_CONTEXT, manifest, epoch)
    begins, ends = middle(manifest, epoch), manifest.schedule.epoch_start(epoch + 1)
    leaves = begins + first * (ends - begins) / 2
    return leaves if now < leaves else now + second * (ends - now) / 2


def _draws(secret: bytes, context: bytes, manifest: Manifest, epoch: int) -> tuple[float, float]:
    """Return two numbers in [0, 1), uniform and independent."""
    message = context + manifest.survey_id + epoch.to_bytes(8)
    digest = hmac.digest(secret, message, hashlib.sha256)
    first, second = digest[:_DRAW_BYTES], digest[_DRAW_BYTES : 2 * _DRAW_BYTES]
    return int.from_bytes(first) / 256**_DRAW_BYTES, int.from_bytes(second) / 256**_DRAW_BYTES


def chosen_survey(secret: bytes, starts: int, names: Iterable[str]) -> str:
    """Return the one of these names that is drawn for the epoch that starts then.

    Each has the same chance, and of fewer the same is drawn if it is among them.
    """

    def drawn(name: str) -> bytes:
        message = _SURVEY_CONTEXT + starts.to_bytes(8) + name.encode()
        return hmac.digest(secret, message, hashlib.sha256)

    return min(names, key=drawn)


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
    schedule = manifest.schedule
    slots = -(-schedule.epoch_seconds // slot_seconds)
    slot = int(now - schedule.epoch_start(epoch)) // slot_seconds
    if slot != chosen_slot(device_secret(connection), manifest.name, epoch, slots):
        raise NotChosen(
            f"epoch {epoch} is reported from another of its {slots} slots of {slot_seconds} s: "
            "there is nothing to do"
        )


def chosen_slot(secret: bytes, name: str, epoch: int, slots: int) -> int:
    """Return a number below ``slots``, each with the same chance but for 1 in 2^200."""
    message = _SLOT_CONTEXT + name.encode() + epoch.to_bytes(8)
    return int.from_bytes(hmac.digest(secret, message, hashlib.sha256)) % slots
