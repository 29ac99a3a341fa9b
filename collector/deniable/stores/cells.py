"""The cells of an epoch's counts, as every database keeps them, and what must hold among them."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from deniable.stores.store import Counts

__all__ = ["Cells", "StandingSeal", "as_counts", "epoch_faults"]

Cells = Counter[tuple[int, int]]
"""How many reports, by issuer and response, as one database numbers them."""


class StandingSeal(NamedTuple):
    """A seal as it is stored.

    Attributes:
        reports: how many were counted.
        digest: of the counts.
        pruning_at: Unix seconds since when receipts are being erased, or None.
        pruned_at: Unix seconds since when none is left, or None.
    """

    reports: int
    digest: bytes
    pruning_at: int | None
    pruned_at: int | None


def as_counts(rows: Collection[tuple[bytes, int, int]], responses: int | None = None) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" is nobody.

    Args:
        rows: of one epoch, each cell once.
        responses: how many there are; by default, as many as were seen.
    """
    if responses is None:
        responses = 1 + max((response for _, response, _ in rows), default=-1)
    counts: Counts = {}
    for issuer, response, reports in rows:
        vouched = counts.get(issuer or None)
        if vouched is None:
            vouched = counts[issuer or None] = [0] * responses
        vouched[response] = reports
    return counts


def epoch_faults(
    kept: Cells, counted: Cells, shown: Cells, seal: StandingSeal | None, digest: bytes
) -> Iterator[str]:
    """Yield a line for each thing of an epoch that is not as it must be.

    Args:
        kept: its receipts, recounted.
        counted: its counts.
        shown: what figures show of them, if not the counts themselves.
        seal: its seal, if it has one.
        digest: of its counts.
    """
    erasing = seal is not None and seal.pruning_at is not None
    if seal is not None and seal.pruned_at is not None and kept:
        yield f"{kept.total()} receipts are kept, though they were pruned"
    elif not (kept <= counted if erasing else kept == counted):
        yield (
            f"receipts and counts do not agree: {kept.total()} receipts are kept, "
            f"{counted.total()} reports counted"
        )
    if seal is not None and seal.reports != counted.total():
        yield f"{counted.total()} reports are counted, and were {seal.reports} when it was sealed"
    elif seal is not None and seal.digest != digest:
        yield "the counts are not those that were sealed"
    if not shown <= counted:
        yield "figures show more than was counted"
