"""Bounds on what published figures reveal about one device, and their conditions.

They are not the device's promise, which holds even against those who see its report.
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
"""For an epoch: its reports, and the least number of them that figures distinguish."""

_LEAST_DELTA: Final = 6
_MOST_SIZES: Final = 16


class Unbounded(Enum):
    """The reason why figures have no bound beyond that of one report."""

    KEPT = "devices keep responses"
    EVERY = "figures are updated with every report"
    ISSUERS = "figures are shown separately for each issuer"
    OPEN = "anybody may send reports, and figures are updated"
    FAKES = "all reports of a group except one may be fake"


@dataclass(frozen=True, slots=True)
class Revealed(Documented):
    """A bound on what figures reveal about a device that reported in all of their epochs.

    Attributes:
        odds: the odds of a single report, for somebody who sees the report.
        mechanism: the reports' mechanism.
        epsilon: the epsilon of the figures, with this delta; None if ``why`` gives a reason.
        level: the figures are at most e^level times as likely with the device's answers as with any
            others, except with a chance of ``delta``; None like ``epsilon``.
        devices: the least number of honest devices in each group of reports that figures
            distinguish from all others.
        epochs: the number of epochs whose figures are composed.
        honest: the assumed share of honest devices among those that figures count.
        least: the least number of reports, honest or not, that figures distinguish from all others.
        step: the least number of reports that renews figures of an epoch; 0 if no number does.
        to_collector: the bound for somebody who has each report, but cannot attribute it.
    """

    odds: Fraction
    mechanism: Mechanism
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

    @property
    def guess(self) -> Fraction:
        """Return how often a single report makes a guess between two answers right, at most."""
        return self.mechanism.privacy.guess

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
        """Return the bound for figures of such groups; ValueError for an invalid share of devices.

        Args:
            mechanism: the reports' mechanism.
            groups: one per epoch.
            step: the survey's ``minimum_reports``.
            kept: whether devices keep responses.
            vouched: whether every report is from a different device.
            honest: the share of honest devices among those whose reports an epoch's figures count.
            unlinked: whether nobody, including the collector, can attribute a report to its device.
        """
        share = Fraction(str(honest))
        if not 0 < share <= 1:
            raise ValueError("the share of honest devices must be above 0 and at most 1")
        odds = mechanism.privacy.odds
        assert odds is not None, "every survey's mechanism has a pure guarantee"
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
        # Small compared with 1/n: otherwise one of n devices could be revealed completely.
        delta = Fraction(1, 10 ** max(_LEAST_DELTA, len(str(most)) + 2))
        epsilon = level = None
        if why is None:
            from deniable.accounting import shuffled_epsilon, shuffled_level  # needs numpy

            # Many different numbers would take minutes: the least number bounds all.
            sizes = left if len(set(left)) <= _MOST_SIZES else [devices] * len(left)
            part = delta / len(groups)
            epsilon, level = (
                sum((bound(mechanism, n, part) for n in sizes), Decimal(0))
                for bound in (shuffled_epsilon, shuffled_level)
            )
        to_collector = None
        if unlinked and len(groups) == 1:  # epochs of one device add up, and cannot be attributed
            whole = [(reports, reports) for reports, _ in groups]
            of_all = cls.of(mechanism, whole, kept=kept, honest=share)
            to_collector = None if of_all.epsilon is None else of_all
        renewed_by = step if renewed else 0
        return cls(
            *(odds, mechanism, epsilon, level, delta, max(devices, 1), len(groups)),
            *(share, renewed_by, why, least),
            to_collector,
        )


def smallest_group(manifest: Manifest, reports: int, issuers: int | None = None) -> Group:
    """Return the reports of an epoch, and the least number that any display distinguishes.

    Figures are renewed in steps of ``minimum_reports`` or more, so their differences are figures,
    too. With fewer than two steps, all reports appear at once. Parts by issuer may be shown as
    well, and a step of one may have a single report. ``issuers`` is their number; None means all.
    """
    step = manifest.minimum_reports
    if step < 2:
        return reports, 1
    if reports < 2 * step:
        return reports, reports
    parts = len(manifest.enrolment.issuer_ids) if issuers is None else issuers
    return reports, 1 if parts > 1 else step
