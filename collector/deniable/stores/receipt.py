"""The receipt: all that a collector keeps of a report."""

from typing import Final, NamedTuple

RECEIPT_KEY_BYTES: Final = 16
"""How much of a report's public key tells a repeat from another device's report.

Whoever wants to collide with somebody else's key has to try 2^128 keys of his own; two of his own
that collide take 2^64, and count once.
"""

KEPT_SECONDS: Final = 86_400
"""How long receipts are kept at least after their epoch was sealed."""


class Receipt(NamedTuple):
    """A report as it is stored: enough of its sender to know repeats, and the response.

    A tuple, since a collector makes some ten thousand of them a second. The key is the first 16
    bytes of the report's; the issuer, who vouched for the device, is None in open surveys.
    """

    survey_id: bytes
    epoch: int
    key: bytes
    response: int
    issuer: bytes | None = None

    def __repr__(self) -> str:
        return f"Receipt(survey_id={self.survey_id.hex()[:16]}, epoch={self.epoch})"
