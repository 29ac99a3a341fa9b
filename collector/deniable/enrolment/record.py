"""The issuer's record: what every database that keeps it must promise.

R1. First write wins: a slot has one holder for good, whichever processes and threads claim it.
R2. What ``claim`` returns is durable: it survives the loss of power.
R3. Forgotten is over: after ``forget``, nothing that it erased can be claimed again, whatever a
    clock says later. So an epoch's end that was forgotten is remembered, and none of its slots.
R4. It holds nothing but slots, holders and ends: no account, no key, no order, no time of asking.
"""

from typing import Protocol


class IssuanceRecord(Protocol):
    """Holders of slots. Every method may raise RecordError; all may be called by any thread."""

    def claim(self, slot: bytes, holder: bytes, over: int) -> bytes | None:
        """Store the holder unless the slot has one; return the slot's, None if it is forgotten.

        Args:
            slot: 32 bytes, a keyed digest of account, survey name and epoch.
            holder: 32 bytes, a keyed digest of survey id and public key.
            over: Unix seconds from which nothing is issued for the epoch any more; below 2^63.
        """

    def forget(self, before: int) -> None:
        """Erase the slots whose ``over`` is at or before this instant, in Unix seconds."""
