"""Where a survey is in its life, and who is trusted to vouch for devices, in words."""

from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime

from deniable.messages import Manifest
from deniable.stores import Seal

__all__ = ["instant_text", "life_terms"]


def life_terms(
    manifest: Manifest, seals: Sequence[Seal], ended_at: int | None, distrusted: Set[bytes]
) -> list[tuple[str, str]]:
    """Return labels and lines about what is final in a survey; none while nothing is.

    Args:
        manifest: the survey.
        seals: all that stand.
        ended_at: Unix seconds; None while it takes reports.
        distrusted: the issuers that are not trusted any more.
    """
    lines = []
    if seals:
        lines.append(("sealed", f"epochs {_ranges(seal.epoch for seal in seals)}"))
    if pruned := [seal.epoch for seal in seals if seal.pruned_at is not None]:
        lines.append(("pruned", f"epochs {_ranges(pruned)}: their receipts are erased"))
    if ended_at is not None:
        lines.append(("ended", f"{instant_text(ended_at)}; it takes no report"))
    for issuer in manifest.enrolment.issuers:
        trust = "DISTRUSTED: no report is taken" if issuer in distrusted else "trusted"
        lines.append(("issuer", f"{issuer.hex()} ({trust})"))
    return lines


def instant_text(instant: int) -> str:
    """Return Unix seconds as a date and time in UTC."""
    try:
        return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError):
        return "beyond the year 9999"


def _ranges(epochs: Iterable[int]) -> str:
    """Return sorted numbers as ranges, such as "0 to 3, 5"."""
    ranges: list[list[int]] = []
    for epoch in epochs:
        if ranges and ranges[-1][1] == epoch - 1:
            ranges[-1][1] = epoch
        else:
            ranges.append([epoch, epoch])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in ranges)
