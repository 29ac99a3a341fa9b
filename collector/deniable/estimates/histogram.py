"""The debiased histogram: what an analyst reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.decoders import Counts, Floats, Model, decoder_of
from deniable.estimates.epochs import EpochStanding, iso_time
from deniable.estimates.fields import (
    Json,
    category_rows,
    crossed_rows,
    estimate_map,
    histogram_map,
    response_rows,
)
from deniable.estimates.frequencies import frequency_intervals
from deniable.estimates.margins import Margin, margins
from deniable.estimates.numeric import QUARTILES, NumericSummary, numeric_summary
from deniable.estimates.planning import reports_for_half_width, reports_for_shares
from deniable.estimates.poisoning import Poisoning, poisoning
from deniable.messages import Manifest

_BAR = 24


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Debiased frequencies of one survey and epoch, with their uncertainty.

    Attributes:
        survey_id: histograms of different ids are never pooled.
        start, end: of the epochs, Unix seconds.
        responses: what devices send, if it has names of its own; else empty.
        raw: how many reports each of these has; or, if it is empty, each of the categories: how
            many name it, or support it.
        estimate: unbiased frequencies; they sum to 1 and may leave [0, 1].
        standard_error: of each estimate, in the model named; NaN for a single report.
        low, high: ends of each category's confidence interval, within [0, 1]. They are about
            chance, and exclude manipulation.
        outside: where the interval lay wholly outside [0, 1].
        pure_epsilon: what one report can reveal at most, whatever delta: odds of e^pure_epsilon
            to 1. Equal to epsilon, up to rounding, if delta is 0.
        reports_for_five_points: how many reports give 95 % intervals of ± 5 percentage points.
        reports_for_shares: how many give those of groups of values ± 10 percentage points, if
            answers are spread evenly; None unless the categories are numbers.
        distrusted: how many reports are by issuers that are not trusted any more.
        kept_range: first and last epoch in which the same devices may have given the same kept
            responses, so that figures of these epochs share noise: neither their average nor their
            difference has the error that independent figures would. None where all is fresh.
        margins: of several questions, the shares of each one's answers; frequencies are then the
            same, within each question, or those of combinations of answers.
    """

    survey: str
    survey_id: str
    question: str
    epochs: tuple[int, ...]
    start: int
    end: int
    n: int
    categories: tuple[str, ...]
    responses: tuple[str, ...]
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
    margins: tuple[Margin, ...] = ()

    @property
    def impossible(self) -> tuple[str, ...]:
        """Return the categories, and responses, whose counts honest devices do not cause."""
        rows = [*category_rows(self), *(response_rows(self) or ())]
        return tuple(row.get("category") or row["response"] for row in rows if row["impossible"])

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a standard error that does not exist is None."""
        return histogram_map(self)

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
            of = len(self.categories) + len(self.responses)
            what = "counts" if self.responses else "categories"
            lines.append(
                "!! not to be used: honest devices do not cause such counts "
                f"({len(impossible)} of {of} {what}); at least {self.poisoning.fewest_fakes:,} "
                "reports are fake"
            )
        if self.numeric is None:
            lines += _margins(self)
            lines += _table([(row["category"], row) for row in category_rows(self)])
        else:
            # Of single values there may be thousands, and each by itself is mostly noise.
            lines += _summary(self.numeric)
            told = [each for each in self.numeric.bins if not self.numeric.too_wide(each)]
            if told and (blur := self.numeric.blur):
                lines.append(f"estimates of groups have ends blurred by {blur} values either way")
            lines += _table([(each.label, estimate_map(each.share)) for each in told])
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
    counts: Counts,
    level: float = 0.95,
    model: Model = Model.SAMPLED,
    distrusted: int = 0,
    standing: EpochStanding | None = None,
) -> Histogram:
    """Debias the counts of one survey and epoch."""
    mechanism, values = manifest.mechanism, manifest.values
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    estimate = decoder.frequencies(tally)
    labels = manifest.responses
    if type(labels) is not tuple or labels == manifest.categories:
        labels = ()
    if model is Model.SAMPLED and tally.n < 2:
        errors = np.full(decoder.categories, np.nan)
    else:
        errors = decoder.standard_errors(tally, model)
    numeric = shares = None
    if values is not None:
        numeric = numeric_summary(mechanism, tally, manifest.categories, values, level, model)
        shares = reports_for_shares(mechanism, 0.1)
    intervals = frequency_intervals(mechanism, tally, level)
    kept = manifest.repeat.memo_range(epoch)
    last = manifest.schedule.epochs - 1
    return Histogram(
        survey=manifest.name,
        survey_id=manifest.survey_id.hex(),
        question=manifest.question,
        epochs=(epoch,),
        start=manifest.schedule.epoch_start(epoch),
        end=manifest.schedule.epoch_start(epoch + 1),
        n=tally.n,
        categories=manifest.categories,
        responses=labels,
        raw=tally.counts if labels else decoder.tested_counts(tally),
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
        poisoning=poisoning(mechanism, tally, estimate, errors, same=not labels),
        reports_for_five_points=reports_for_half_width(mechanism, 0.05),
        reports_for_shares=shares,
        distrusted=distrusted,
        kept_range=None if kept is None else (kept[0], min(kept[-1], last)),
        standing=standing,
        numeric=numeric,
        margins=margins(manifest, tally, level, model),
    )


def _table(rows: Sequence[tuple[str, Json]]) -> list[str]:
    """Return a line for each label and its figures; an interval wholly outside has no ends."""
    width = max((len(label) for label, _ in rows), default=0)
    return [
        f"{label:>{width}}  {row['estimate']:7.1%}  "
        + (" none in [0, 1] " if row["outside"] else f"[{row['low']:6.1%}, {row['high']:6.1%}]")
        + "  "
        + "█" * round(_BAR * min(max(row["estimate"], 0), 1))
        + (" !!" if row.get("impossible") else "")
        for label, row in rows
    ]


def _margins(histogram: Histogram) -> list[str]:
    """Return what is told of single questions, where there are several."""
    if rows := crossed_rows(histogram):
        return _table([(row["category"], row) for row in rows])
    return [f"{each.n:,} reports tell of {each.question}" for each in histogram.margins]


def _summary(numeric: NumericSummary) -> list[str]:
    """Return the mean and the quartiles."""
    mean, lines = numeric.mean, []
    if not numeric.too_wide(mean):
        interval = "none in the range" if mean.outside else f"[{mean.low:.6g}, {mean.high:.6g}]"
        lines.append(f"mean  {mean.value:.6g}  {interval}")
    return lines + [
        f"{QUARTILES[each.probability]}  {each.value:.6g}  [{each.low:.6g}, {each.high:.6g}]"
        for each in numeric.quartiles
        if not numeric.too_wide(each)
    ]


def _vouched(manifest: Manifest) -> str:
    if manifest.enrolment.mode == "open":
        return "open (nobody vouches that reports come from different devices)"
    issuers = ", ".join(issuer.hex()[:16] for issuer in manifest.enrolment.issuers)
    return f"vouched for by {issuers}"
