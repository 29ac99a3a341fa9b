"""Where a survey is in its life, and who is trusted to vouch for devices, in words."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set

from deniable.messages import Manifest
from deniable.reading import instant_text
from deniable.stores import Seal


def life_terms(
    manifest: Manifest, seals: Sequence[Seal], ended_at: int | None, distrusted: Set[bytes]
) -> Iterator[tuple[str, str]]:
    """Yield labels and lines about what is final in a survey, and whom it trusts."""
    if seals:
        yield "sealed", f"epochs {_ranges(seal.epoch for seal in seals)}"
    if pruned := [seal.epoch for seal in seals if seal.pruned_at is not None]:
        yield "pruned", f"epochs {_ranges(pruned)}: their receipts are erased"
    if ended_at is not None:
        yield "ended", f"{instant_text(ended_at)}; it takes no report"
    for issuer in manifest.enrolment.issuers:
        trust = "DISTRUSTED: no report is taken" if issuer in distrusted else "trusted"
        yield "issuer", f"{issuer.hex()} ({trust})"


def left_behind_text(newest: Manifest, before: Manifest, follows: Sequence[Manifest]) -> str:
    """Return what apps with an older manifest's declaration get, now that there is a newer one."""
    if before.question != newest.question:
        declared = f'"{before.question}"'
    elif before.all_answers != newest.all_answers:
        listed = textwrap.shorten(", ".join(before.all_answers), 60, placeholder=" …")
        declared = f"the {len(before.all_answers)} answers {listed}"
    else:
        declared = f"the ceilings of sequence {before.sequence}"
    if not follows:
        return f"apps that declare {declared} get nothing any more"
    sequences = " and ".join(str(each.sequence) for each in follows)
    end = instant_text(max(each.schedule.end for each in follows))
    return f"apps that declare {declared} keep answering sequence {sequences}, until {end}"


def epochs_named(epochs: Sequence[int]) -> str:
    """Return which epochs a figure is of, such as "epochs 0 to 3, 5"."""
    return f"epoch{'s' * (len(epochs) > 1)} {_ranges(epochs)}"


def _ranges(epochs: Iterable[int]) -> str:
    """Return sorted numbers as ranges, such as "0 to 3, 5"."""
    ranges: list[list[int]] = []
    for epoch in epochs:
        if ranges and ranges[-1][1] == epoch - 1:
            ranges[-1][1] = epoch
        else:
            ranges.append([epoch, epoch])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in ranges)
