"""The part of a device's budget that a survey takes over a year."""

from bisect import bisect_right
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Final

from deniable.budget import NANO, RangeCost, pure_cost
from deniable.choosing import DESIGNS, PLAIN, Candidate, unlikely_level
from deniable.messages import FRESH, MAX_EPOCHS, Manifest

_YEAR: Final = 365 * 86_400

_MOST_COMPOSED: Final = 1000
"""More reports take too long to compose."""


@dataclass(frozen=True, slots=True)
class Year:
    """A device's reports in the first 365 days of a survey, one in every epoch.

    Attributes:
        epochs: how many a year has, at least 1, though the survey may have fewer.
        reports: in how many of them the survey asks.
        charged: what a device is charged for these, in units of 1e-9 epsilon.
        level: what they favour the device's answers by, at most, except with a chance of 1 in a
            million; rounded up. None for kinds whose reports are not composed here, and for
            responses that are kept.
        lifetime: what the app lets a device spend in all, in units of 1e-9 epsilon.
        affordable: how many reports that does for; as many as a survey may have epochs, or more.
        epsilon: that at which it does for a report in every epoch of the year, rounded down to
            two digits; None for responses that are kept.
    """

    epochs: int
    reports: int
    charged: int
    level: Decimal | None
    lifetime: int
    affordable: int
    epsilon: Decimal | None


def year_of(manifest: Manifest, lifetime: int) -> Year:
    """Return a survey's year, of a lifetime budget in units of 1e-9 epsilon."""
    schedule, fresh = manifest.schedule, manifest.repeat == FRESH
    cost = RangeCost.of(manifest.mechanism)
    kept = manifest.repeat.epochs or 1

    def charged(reports: int) -> int:
        return cost.most(reports, kept)

    epochs = max(1, _YEAR // schedule.epoch_seconds)
    reports = min(schedule.epochs, epochs)
    epsilon = Context(prec=2, rounding=ROUND_FLOOR).divide(
        Decimal(lifetime), Decimal(NANO * epochs)
    )
    return Year(
        epochs,
        reports,
        charged(reports),
        _level(manifest, reports) if fresh else None,
        lifetime,
        bisect_right(range(MAX_EPOCHS + 1), lifetime, key=charged) - 1,
        epsilon if fresh else None,
    )


def _level(manifest: Manifest, reports: int) -> Decimal | None:
    kind = manifest.kind.name
    if kind not in {PLAIN, *DESIGNS} or reports > _MOST_COMPOSED:
        return None
    candidate = Candidate.of(kind, len(manifest.categories), manifest.specification.parameters)
    level = unlikely_level(candidate, manifest.epsilon, reports, manifest.delta)
    # It is rounded up further than the plain sum, which holds as well.
    return min(level, Decimal(reports * pure_cost(manifest.mechanism)) / NANO)
