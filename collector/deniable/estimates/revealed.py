"""Bounds of what published figures reveal about one device, and on which conditions.

It is never the device's promise, which holds against whoever sees its report.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Final

from deniable.estimates.results import Documented
from deniable.mechanisms import Mechanism
from deniable.messages import Manifest

Group = tuple[int, int]
"""Of an epoch: its reports, and the least number of them that figures distinguish from the rest."""

_LEAST_DELTA: Final = 6
_MOST_SIZES: Final = 16


class Unbounded(Enum):
    """Why figures have no bound beyond that of one report."""

    KEPT = "devices keep responses"
    EVERY = "figures are renewed with every report"
    ISSUERS = "figures are shown apart by issuer"
    OPEN = "anybody may send reports, and figures are renewed"
    FAKES = "fakes may be all but one of a group"


@dataclass(frozen=True, slots=True)
class Revealed(Documented):
    """A bound of what figures of some epochs reveal about a device that reported in all of them.

    Attributes:
        odds: of a report alone, to whoever sees it.
        epsilon: of the figures, with this delta; None if ``why`` says why there is none.
        level: what is seen is at most e^level times as likely with the device's answers as with any
            others, but for a chance of ``delta``; None as ``epsilon``.
        devices: so many honest devices there are at least in each group of reports that figures
            distinguish from all others.
        epochs: how many epochs' figures are composed.
        honest: the share of honest devices, of those that figures count, that is supposed.
        least: so many reports figures tell apart from all others, at least, honest or not.
        step: figures of an epoch are renewed by at least so many reports; 0 if they never are.
        to_collector: the bound for whoever has each report, and cannot tell whose it is.
    """

    odds: Fraction
    epsilon: Decimal | None
    level: Decimal | None
    delta: Fraction
    devices: int
    epochs: int
    honest: Fraction
    step: int
    why: Unbounded | None
    least: int
    to_collector: "Revealed | None" = None

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        groups: Sequence[Group],
        *,
        step: int = 1,
        kept: bool = False,
        vouched: bool = True,
        honest: float | Fraction = 1,
        unlinked: bool = False,
    ) -> "Revealed":
        """Return the bound for figures of such groups; ValueError for no share of devices.

        Args:
            mechanism: of the reports.
            groups: one an epoch.
            step: the survey's ``minimum_reports``.
            kept: whether devices keep responses.
            vouched: whether every report is of another device.
            honest: the share of honest devices among those whose reports an epoch's figures count.
            unlinked: whether nobody, the collector neither, can tell which report is whose.
        """
        share = Fraction(str(honest))
        if not 0 < share <= 1:
            raise ValueError("the share of honest devices is above 0 and at most 1")
        odds = mechanism.privacy.odds
        assert odds is not None, "every mechanism of a survey is pure"
        renewed = any(least < reports for reports, least in groups)
        left = [least - math.ceil((1 - share) * reports) for reports, least in groups]
        devices, most = min(left), max(reports for reports, _ in groups)
        why, least = None, min(least for _, least in groups)
        if kept or getattr(mechanism, "rounds", None) is not None:
            why = Unbounded.KEPT
        elif least < 2:
            why = Unbounded.EVERY if step < 2 else Unbounded.ISSUERS
        elif renewed and not vouched:
            why = Unbounded.OPEN
        elif devices < 2:
            why = Unbounded.FAKES
        # Small beside 1/n: or one of n devices could be shown as it is.
        delta = Fraction(1, 10 ** max(_LEAST_DELTA, len(str(most)) + 2))
        epsilon = level = None
        if why is None:
            from deniable.accounting import shuffled_epsilon, shuffled_level  # numpy

            # Of many different numbers, which would take minutes, the least: it bounds them all.
            sizes = left if len(set(left)) <= _MOST_SIZES else [devices] * len(left)
            part = delta / len(groups)
            epsilon, level = (
                sum((bound(mechanism, n, part) for n in sizes), Decimal(0))
                for bound in (shuffled_epsilon, shuffled_level)
            )
        to_collector = None
        if unlinked and len(groups) == 1:  # epochs of one device add up, and nobody knows whose
            whole = [(reports, reports) for reports, _ in groups]
            of_all = cls.of(mechanism, whole, kept=kept, honest=share)
            to_collector = None if of_all.epsilon is None else of_all
        renewed_by = step if renewed else 0
        return cls(
            *(odds, epsilon, level, delta, max(devices, 1), len(groups), share, renewed_by),
            *(why, least),
            to_collector,
        )


def smallest_group(manifest: Manifest, reports: int, issuers: int | None = None) -> Group:
    """Return the reports of an epoch, and the least number that anything shown tells apart.

    Figures are renewed in steps of ``minimum_reports`` or more, so that their differences are
    figures, too: of all reports at once, if there are fewer than two steps. Parts by issuer may be
    shown beside them, of which a step may have one report: of so many ``issuers``, or of all.
    """
    step = manifest.minimum_reports
    if step < 2:
        return reports, 1
    if reports < 2 * step:
        return reports, reports
    parts = len(manifest.enrolment.issuer_ids) if issuers is None else issuers
    return reports, 1 if parts > 1 else step
