"""Bounds of what published figures reveal about one device, and on which conditions.

It is never the device's promise, which holds against whoever sees its report.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.accounting import shuffled_epsilon, shuffled_level
from deniable.documents import Document, upper_text
from deniable.documents.json import COUNT, DECIMAL, NUMBER, TEXT, Field, or_null
from deniable.mechanisms import Mechanism, exp_enclosure, times_likelier
from deniable.messages import Manifest
from deniable.reading import EpochCounts, EpochState

Group = tuple[int, int]
"""Of an epoch: its reports, and the least number of them that figures tell apart from the rest."""

REVEALED: Final = (
    Field(
        "epsilon",
        or_null(
            {
                **DECIMAL,
                "description": "of all these epochs together: any event is at most e^epsilon times "
                "as likely, plus delta",
            },
            description="null where nothing but the odds of a report bounds it",
        ),
        lambda r: None if r.epsilon is None else f"{r.epsilon:f}",
    ),
    Field("delta", NUMBER, lambda r: float(r.delta)),
    Field(
        "level",
        or_null(
            {
                **DECIMAL,
                "description": "what is seen is at most e^level times as likely as with any other "
                "answer, except with a chance of delta",
            },
            description="null where epsilon is",
        ),
        lambda r: None if r.level is None else f"{r.level:f}",
    ),
    Field("devices", COUNT),
    Field("honest", NUMBER, lambda r: float(r.honest)),
    Field("odds", {**NUMBER, "description": "of one report alone"}, lambda r: float(r.odds)),
    Field("sentence", TEXT),
    Field(
        "to_collector",
        or_null(
            {**DECIMAL, "description": "epsilon, at the same delta"},
            description="null unless relays and blind enrolment keep reports from being linked",
        ),
        lambda r: None if r.to_collector is None else f"{r.to_collector.epsilon:f}",
    ),
)
"""The fields for JSON."""

_LEAST_DELTA: Final = 6
_MOST_SIZES: Final = 16
_KEPT: Final = (
    "devices keep their responses, and two histograms that differ by one device show what it keeps"
)
_EVERY: Final = "they may be read after every single report (minimum_reports is below 2)"
_ISSUERS: Final = (
    "they are shown in steps, and apart by issuer: a step may have a single report of an issuer"
)
_OPEN: Final = (
    "anybody may send reports, so that all but one of those by which figures were renewed may come "
    "from somebody who compares the figures before and after"
)


@dataclass(frozen=True, slots=True)
class Revealed:
    """A bound of what figures of some epochs reveal about a device that reported in all of them.

    Attributes:
        odds: of a report alone, to whoever sees it.
        epsilon: of the figures, with this delta; None if ``why`` says why there is none.
        level: what is seen is at most e^level times as likely with the device's answers as with any
            others, but for a chance of ``delta``; None as ``epsilon``.
        devices: so many honest devices there are at least in each group of reports that figures
            tell apart from all others.
        epochs: how many epochs' figures are composed.
        honest: the share of honest devices, of those that figures count, that is supposed.
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
    why: str
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
        why = ""
        if kept or getattr(mechanism, "rounds", None) is not None:
            why = _KEPT
        elif min(least for _, least in groups) < 2:
            why = _EVERY if step < 2 else _ISSUERS
        elif renewed and not vouched:
            why = _OPEN
        elif devices < 2:
            why = (
                f"if {_percent(1 - share)} of all reports are fake, they may be all but one of "
                f"the {min(least for _, least in groups):,} that figures tell apart"
            )
        # Small beside 1/n: or one of n devices could be shown as it is.
        delta = Fraction(1, 10 ** max(_LEAST_DELTA, len(str(most)) + 2))
        epsilon = level = None
        if not why:
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
            *(odds, epsilon, level, delta, max(devices, 1), len(groups), share, renewed_by, why),
            to_collector,
        )

    @property
    def brief(self) -> str:
        """Return the figure as a sentence without its capital and full stop."""
        if self.level is None:
            return f"figures may tell as much as a report does: {self.why}"
        odds = Fraction(exp_enclosure(Fraction(self.level), 64)[1], 1 << 64)
        answers, other = ("answers", "others") if self.epochs > 1 else ("answer", "other")
        together = f"figures of {self.epochs:,} epochs together" if self.epochs > 1 else "figures"
        return (
            f"{together} are {times_likelier(odds)} with the {answers} of one of "
            f"{self.devices:,} honest devices than with any {other}, except with a chance of 1 in "
            f"{self.delta.denominator:,}"
        )

    @property
    def sentence(self) -> str:
        """Return the figure beside the device's promise, as it can be published."""
        alone = (
            f"One report alone, to whoever sees it, is {times_likelier(self.odds)} than with any "
            "other answer."
        )
        if self.level is None:
            return f"{alone} These {self.brief}."
        honest = "all of the devices that reported"
        if self.honest < 1:  # fakes may all be in the figures, and honest reports held back
            honest = f"at least {_percent(self.honest)} of the devices whose reports they count"
        return f"{alone} These published {self.brief}. That holds if {honest} are honest."

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the conditions."""
        whose = "That of one report holds against everybody, the collector too; "
        if self.epsilon is None:
            return (f"{whose}of these figures only that can be promised.", *self._unlinked)
        groups = (
            f"figures are renewed by {self.step:,} reports or more, and readers may compare them "
            "before and after"
            if self.step
            else "these figures came all at once, and nothing tells some of their reports apart"
        )
        return (
            f"{whose}that of figures against those who see these alone, and of whom none knows "
            "which report is whose.",
            f"Devices hide among each other: {groups}. Fakes hide nobody.",
            "Figures of more epochs add up for a device that reported in each. That it took part "
            "is not hidden.",
            *self._unlinked,
        )

    @property
    def _unlinked(self) -> tuple[str, ...]:
        """Return the note on the collector, where it cannot tell which report is whose."""
        if self.to_collector is None:
            return ()
        return (
            "The collector itself has each report, and sees no more than figures of them all: "
            f"{self.to_collector.brief}. It takes reports by relays alone, with tokens that their "
            "issuer signed unseen. That holds while collector, issuer and relay put no records "
            "together, all devices have the same survey, and no time of sending tells whose a "
            "report is; for fresh responses of one epoch. Fakes, and whoever works with the "
            "collector, hide nobody.",
        )

    def document(self) -> Document:
        """Return the document: sentence, conditions, and fields for programs."""
        fields = {field.name: field.of(self) for field in REVEALED}
        return Document(notes=self.notes, sentence=self.sentence, values=fields)


def smallest_group(manifest: Manifest, reports: int, read: EpochCounts | None = None) -> Group:
    """Return the reports of an epoch, and the least number that anything shown tells apart.

    Figures are renewed in steps of ``minimum_reports`` or more, so that their differences are
    figures, too: of all reports at once, if there are fewer than two steps. Parts by issuer may be
    shown beside them, of which a step may have one report.
    """
    step = manifest.minimum_reports
    if step < 2:
        return reports, 1
    if reports < 2 * step:
        return reports, reports
    sealed = read is not None and read.standing.state is EpochState.SEALED
    parts = manifest.enrolment.issuer_ids if read is None or not sealed else read.by_issuer or ()
    return reports, 1 if len(parts) > 1 else step


def revealed_at_worst(manifest: Manifest) -> str:
    """Return the worst that figures of an epoch can reveal, however many reports, in words."""
    step = max(1, manifest.minimum_reports)
    figures = Revealed.of(
        manifest.mechanism,
        [smallest_group(manifest, 2 * step)],
        step=step,
        kept=manifest.repeat.epochs is not None,
        vouched=bool(manifest.enrolment.issuer_ids),
    )
    return f"at worst, of one epoch, for whoever sees them alone: {figures.brief}"


def _percent(share: Fraction) -> str:
    """Return a share of a condition: rounded up, if at all, what it is a condition of holds."""
    return f"{upper_text(100 * share, 17)} %"
