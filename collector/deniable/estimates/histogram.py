"""The debiased histogram: what an analyst reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.covariance import Model, standard_errors
from deniable.estimates.epochs import EpochStanding, iso_time
from deniable.estimates.intervals import IntervalMethod, frequency_intervals
from deniable.estimates.inverse import check_counts, debias
from deniable.estimates.numeric import QUARTILES, NumericSummary, numeric_summary
from deniable.estimates.planning import reports_for_half_width, reports_for_shares
from deniable.estimates.poisoning import Poisoning, poisoning
from deniable.messages import Manifest

__all__ = ["Histogram", "estimate_histogram"]

Floats = NDArray[np.float64]

_BAR = 24


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Debiased frequencies of one survey and epoch, with their uncertainty.

    Attributes:
        survey: the survey's name.
        survey_id: 64 hex digits; histograms of different ids are never pooled.
        question: what was asked.
        epochs: the epochs it covers.
        start: when the first of them begins, Unix seconds.
        end: when the last of them ends.
        n: number of reports.
        categories: the answers, in the survey's order.
        raw: how often each response was counted; noise included.
        estimate: unbiased frequencies; they sum to 1 and may leave [0, 1].
        standard_error: of each estimate, in the model named; NaN for a single report.
        low, high: ends of each category's confidence interval, within [0, 1]. They are about
            chance, and exclude manipulation.
        level: of each interval by itself.
        model: what the standard errors take as random.
        methods: how each interval was made.
        outside: whose interval lay wholly outside [0, 1]: chance, or false reports.
        mechanism: the kind of mechanism that the devices sampled from.
        epsilon: as the manifest states it.
        delta: likewise.
        pure_epsilon: what one report can reveal at most, whatever delta: odds of e^pure_epsilon
            to 1. Equal to epsilon, up to rounding, if delta is 0.
        enrolment: who vouches that each report comes from another device.
        poisoning: what fake reports can do, and which counts only they can explain.
        reports_for_five_points: how many reports give 95 % intervals of ± 5 percentage points.
        reports_for_shares: how many give those of groups of values ± 10 percentage points, if
            answers are spread evenly; None unless the categories are numbers.
        distrusted: how many of the reports issuers vouched for that are not trusted any more.
        kept_range: first and last epoch in which the same devices may have given the same kept
            responses, so that figures of these epochs share noise: neither their average nor their
            difference has the error that independent figures would. None where all is fresh.
        standing: whether more may be counted; None if nobody told.
        numeric: mean, quartiles and groups of values, if the categories are numbers; else None.
    """

    survey: str
    survey_id: str
    question: str
    epochs: tuple[int, ...]
    start: int
    end: int
    n: int
    categories: tuple[str, ...]
    raw: NDArray[np.int64]
    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    level: float
    model: Model
    methods: tuple[IntervalMethod, ...]
    outside: NDArray[np.bool_] = field(repr=False)
    mechanism: str
    epsilon: str
    delta: str
    pure_epsilon: str
    enrolment: str
    poisoning: Poisoning
    reports_for_five_points: int
    reports_for_shares: int | None = None
    distrusted: int = 0
    kept_range: tuple[int, int] | None = None
    standing: EpochStanding | None = None
    numeric: NumericSummary | None = None

    @property
    def impossible(self) -> tuple[str, ...]:
        """Return the categories whose counts are impossible for honest devices, up to chance."""
        return tuple(self.categories[i] for i in np.flatnonzero(self.poisoning.impossible))

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""
        impossible = self.poisoning.impossible.tolist()
        return {
            "survey": self.survey,
            "survey_id": self.survey_id,
            "question": self.question,
            "epochs": list(self.epochs),
            "start": iso_time(self.start),
            "end": iso_time(self.end),
            "state": None if self.standing is None else self.standing.state.value,
            "seal": None if self.standing is None else self.standing.seal,
            "n": self.n,
            "level": self.level,
            "model": self.model.value,
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "pure_epsilon": self.pure_epsilon,
            "enrolment": self.enrolment,
            "poisoning": self.poisoning.to_dict(),
            "reports_for_five_points": self.reports_for_five_points,
            "reports_for_shares": self.reports_for_shares,
            "distrusted": self.distrusted,
            "kept_range": None if self.kept_range is None else list(self.kept_range),
            "numeric": None if self.numeric is None else self.numeric.to_dict(),
            "categories": [
                {
                    "category": category,
                    "raw": int(self.raw[i]),
                    "estimate": float(self.estimate[i]),
                    "standard_error": (
                        None if np.isnan(self.standard_error[i]) else float(self.standard_error[i])
                    ),
                    "low": float(self.low[i]),
                    "high": float(self.high[i]),
                    "method": self.methods[i].value,
                    "outside": bool(self.outside[i]),
                    "impossible": impossible[i],
                }
                for i, category in enumerate(self.categories)
            ],
        }

    def __str__(self) -> str:
        """Return a table with bars, for a terminal or a notebook."""
        lines = [
            f"{self.survey}  epoch {', '.join(map(str, self.epochs))}  {self.n:,} reports  "
            f"epsilon {self.epsilon}" + ("" if self.delta == "0" else f", delta {self.delta}"),
            self.question,
            f"{iso_time(self.start)} to {iso_time(self.end)}"
            + ("" if self.standing is None else f", {self.standing.state}"),
        ]
        if impossible := self.impossible:
            of = f"{len(impossible)} of {len(self.categories)}"
            lines.append(
                f"!! not to be used: honest devices do not cause such counts ({of} categories); at "
                f"least {self.poisoning.fewest_fakes:,} reports are fake"
            )
        if self.numeric is None:
            rows = zip(
                self.categories, self.estimate, self.low, self.high, self.outside, strict=True
            )
            marks = (" !!" if impossible else "" for impossible in self.poisoning.impossible)
            lines += [row + mark for row, mark in zip(_table(list(rows)), marks, strict=True)]
        else:
            # Of single values there may be thousands, and each by itself is mostly noise.
            lines += _summary(self.numeric)
            if bins := _bin_rows(self.numeric):
                if self.numeric.blur:
                    values = f"{self.numeric.blur} values either way"
                    lines.append(f"estimates of groups have ends blurred by {values}")
                lines += _table(bins)
            if hidden := self.numeric.hidden:
                lines.append(
                    f"intervals over more than half of what is possible: {', '.join(hidden)}; "
                    f"shares within ± 10 points take {self.reports_for_shares:,} reports"
                )
        off = (
            f"estimates are off by up to {self.poisoning.bias(0.01):.1%}"
            if self.numeric is None
            else f"the mean is off by up to {0.01 * self.numeric.influence:.2g}"
        )
        lines.append(f"intervals exclude manipulation: if 1% of reports are fake, {off}")
        lines.append(f"{self.level:.0%} intervals, each by itself; devices: {self.enrolment}")
        if self.distrusted:
            lines.append(f"{self.distrusted:,} reports by issuers that are not trusted any more")
        if self.kept_range is not None:
            first, last = self.kept_range
            lines.append(f"noise is shared by epochs {first} to {last}, where responses are kept")
        return "\n".join(lines)


def estimate_histogram(
    manifest: Manifest,
    epoch: int,
    counts: Sequence[int],
    level: float = 0.95,
    model: Model = Model.SAMPLED,
    distrusted: int = 0,
    standing: EpochStanding | None = None,
) -> Histogram:
    """Debias the counts of one survey and epoch.

    Args:
        manifest: the survey, whose mechanism the devices sampled from.
        epoch: the time slice that was counted.
        counts: how often each response was counted.
        level: confidence level of each interval, in (0, 1).
        model: what the standard errors take as random.
        distrusted: how many of the reports issuers vouched for that are not trusted any more.
        standing: whether more may be counted (:func:`epoch_standing`), if known.

    Raises:
        TypeError: for counts that are no integers.
        ValueError: if there are no reports, or for a level outside (0, 1).
    """
    mechanism, values = manifest.mechanism, manifest.values
    n = check_counts(mechanism, counts)
    estimate = debias(mechanism, counts)
    single = model is Model.SAMPLED and n < 2
    errors = (
        np.full(mechanism.categories, np.nan)
        if single
        else standard_errors(mechanism, counts, model)
    )
    intervals = frequency_intervals(mechanism, counts, level)
    return Histogram(
        survey=manifest.name,
        survey_id=manifest.survey_id.hex(),
        question=manifest.question,
        epochs=(epoch,),
        start=manifest.schedule.epoch_start(epoch),
        end=manifest.schedule.epoch_start(epoch + 1),
        n=n,
        categories=manifest.categories,
        raw=np.asarray(counts, dtype=np.int64),
        estimate=estimate,
        standard_error=errors,
        low=intervals.low,
        high=intervals.high,
        level=level,
        model=model,
        methods=intervals.methods,
        outside=intervals.outside,
        mechanism=manifest.specification.kind,
        epsilon=manifest.epsilon,
        delta=manifest.delta,
        pure_epsilon=str(mechanism.privacy.epsilon),
        enrolment=_vouched(manifest),
        poisoning=poisoning(mechanism, counts, estimate, errors),
        reports_for_five_points=reports_for_half_width(mechanism, 0.05),
        reports_for_shares=None if values is None else reports_for_shares(mechanism, 0.1),
        distrusted=distrusted,
        kept_range=_kept_range(manifest, epoch),
        standing=standing,
        numeric=(
            None
            if values is None
            else numeric_summary(mechanism, counts, manifest.categories, values, level, model)
        ),
    )


def _kept_range(manifest: Manifest, epoch: int) -> tuple[int, int] | None:
    epochs = manifest.repeat.memo_range(epoch)
    if epochs is None:
        return None
    return epochs[0], min(epochs[-1], manifest.schedule.epochs - 1)


_Row = tuple[str, float, float, float, bool]


def _table(rows: Sequence[_Row]) -> list[str]:
    """Return a line for each label, estimate and interval; one wholly outside has no ends."""
    width = max(len(label) for label, *_ in rows)
    return [
        f"{label:>{width}}  {estimate:7.1%}  "
        + (" none in [0, 1] " if outside else f"[{low:6.1%}, {high:6.1%}]")
        + "  "
        + "█" * round(_BAR * float(np.clip(estimate, 0, 1)))
        for label, estimate, low, high, outside in rows
    ]


def _bin_rows(numeric: NumericSummary) -> list[_Row]:
    shares = [(each.label, each.share) for each in numeric.bins if not numeric.too_wide(each)]
    return [(label, each.value, each.low, each.high, each.outside) for label, each in shares]


def _summary(numeric: NumericSummary) -> list[str]:
    """Return the mean and the quartiles."""
    mean, lines = numeric.mean, []
    if not numeric.too_wide(mean):
        interval = "none in the range" if mean.outside else f"[{mean.low:.6g}, {mean.high:.6g}]"
        lines.append(f"mean  {mean.value:.6g}  {interval}")
    lines += [
        f"{QUARTILES[quartile.probability]}  {quartile.value:.6g}  "
        f"[{quartile.low:.6g}, {quartile.high:.6g}]"
        for quartile in numeric.quartiles
        if not numeric.too_wide(quartile)
    ]
    return lines


def _vouched(manifest: Manifest) -> str:
    if manifest.enrolment.mode == "open":
        return "open (nobody vouches that reports come from different devices)"
    issuers = ", ".join(issuer.hex()[:16] for issuer in manifest.enrolment.issuers)
    return f"vouched for by {issuers}"
