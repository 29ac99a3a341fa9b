"""The halves of a blind epoch: in the first a token is asked for, in the second a report leaves.

1. The time of sending is drawn beforehand. It follows from the device's secret: neither the time
   of the token, nor that of the answer, nor a restart moves it.
2. It is uniform in the third quarter. Of an app that is opened now and then the report leaves at a
   later start, which there should be within the epoch: one that leaves in the next epoch does so
   before that one's token is asked for, and tells as much of whose it is. Whoever answers later
   than that waits for a time that is uniform in half of what is left until the epoch closes, and no
   more than a quarter of an epoch.

All times are Unix seconds.
"""

import hashlib
import hmac
from typing import Final

from deniable.messages import Manifest

_CONTEXT: Final = b"deniable/sending-time/v1\0"
_DRAW_BYTES: Final = 6


def middle(manifest: Manifest, epoch: int) -> float:
    """Return the instant at which the second half begins."""
    schedule = manifest.schedule
    return schedule.epoch_start(epoch) + schedule.epoch_seconds / 2


def leaves_at(secret: bytes, manifest: Manifest, epoch: int, now: float) -> float:
    """Return the time at which a report that is made now leaves the device."""
    quarter, closes = manifest.schedule.epoch_seconds / 4, manifest.schedule.closes(epoch)
    message = _CONTEXT + manifest.survey_id + epoch.to_bytes(8)
    digest = hmac.digest(secret, message, hashlib.sha256)
    begins = middle(manifest, epoch)
    for place in (0, _DRAW_BYTES):
        drawn = int.from_bytes(digest[place : place + _DRAW_BYTES]) / 256**_DRAW_BYTES
        leaves = begins + drawn * min(quarter, (closes - begins) / 2)
        if now < leaves:
            break
        begins = max(begins, now)
    return leaves
