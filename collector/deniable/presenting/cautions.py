"""The cautions about figures: one table for every surface.

Each rule is a function, above the table, that returns the sentence if it applies.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from deniable.documents import Caution, Level, Rule, bound_text, cautions_of, level_text
from deniable.estimates.debiased import DebiasedCounts
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import FAKES, Sample, Unit, decided_by_fakes
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram
from deniable.estimates.poisoning import FALSE_ALARM
from deniable.estimates.ratios import moved_ratio
from deniable.presenting.rows import ShownRows, crossed_rows

_MANY: Final = 10**9
"""More reports than any survey gets."""
CHANCE: Final = "only chance, not people who were not asked, did not answer or lied."
"""The scope of intervals, and its limits."""


@dataclass(frozen=True, slots=True)
class DisplayedFigures:
    """Figures as a surface shows them, to which cautions apply.

    Attributes:
        samples: the reports behind the figures.
        biases: how far fake reports move the figures, as part of a sentence; "" if unknown.
        fakes_decide: whether 1 % of fakes move a figure over its whole possible range.
        reports: the reports of which that is 1 %.
        outside: the number of figures further from all possible values than intervals reach.
        histogram: the histogram that contains the rows.
        unseen: for figures of one histogram, it, and the text about how far a share of its reports
            moves the figures if fake.
        rows: the displayed rows of the histogram; view: their view.
        recurring: which devices widen which intervals.
        too_small: whether a group's own share may be 0.
    """

    samples: tuple[Sample, ...]
    biases: str = ""
    fakes_decide: bool = False
    reports: str = "the reports"
    outside: int = 0
    histogram: Histogram | None = None
    unseen: tuple[DebiasedCounts, Callable[[float], str]] | None = None
    rows: ShownRows | None = None
    view: View = View.UNBIASED
    recurring: str = ""
    too_small: bool = False

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the cautions that apply."""
        return cautions_of(CAUTIONS, self)


_MOST_MOVED: Final = {Unit.SHARE: 100.0, Unit.DIFFERENCE: 200.0}
"""Percentage points from one end of the possible range to the other."""


def bias_text(name: str, influence: float, unit: Unit, *, decided: bool = False) -> str:
    """Return how far 1 % of fake reports move a figure of this name, as part of a sentence."""
    if influence == 0:
        return f"{name} does not change: fake reports cannot affect it"
    moved = influence * FAKES * (100 if unit.of_shares else 1)
    most = _MOST_MOVED.get(unit, math.inf)
    if not math.isfinite(moved) or (decided and moved >= most):
        return f"{name} may have any value: fake reports determine it"
    points, moved = " percentage points" * unit.of_shares, min(moved, most)
    return (
        f"{name} may be off by up to {bound_text(moved)}{points}"
        + ": fake reports determine it" * decided
    )


def furthest(estimates: Iterable[Estimate], name: str = "it") -> tuple[str, bool]:
    """Return the move of the estimate that fakes move furthest, and whether they decide it.

    The move is part of a sentence; "" if unknown.
    """
    known = [one for one in estimates if not math.isnan(one.influence)]
    if not known:
        return "", False
    one = max(known, key=lambda estimate: estimate.influence)
    return bias_text(name, one.influence, one.unit, decided=one.fakes_decide), one.fakes_decide


def moved_text(name: str, shares: Sequence[Estimate]) -> Callable[[float], str]:
    """Return the text about how far a share of fakes moves a share, or a difference of two."""
    unit = Unit.SHARE if len(shares) == 1 else Unit.DIFFERENCE

    def text(fakes: float) -> str:
        moved = sum(_moved(share, fakes) for share in shares)
        return bias_text(name, moved / FAKES, unit, decided=decided_by_fakes(moved / FAKES))

    return text


def _moved(share: Estimate, fakes: float) -> float:
    """Return how far this share of fakes moves a share; within a group, not in proportion."""
    if share.parts is None:
        return share.influence * fakes
    part, group = ((form.apart()[0], form) for form in share.parts)
    return moved_ratio(part, group, fakes)


def reports_text(count: int) -> str:
    """Return a number of reports to two digits, rounded up."""
    if count > _MANY:
        return "more than a billion reports"
    step = 10 ** max(len(str(count)) - 2, 0)
    return f"about {-(-count // step) * step:,} reports"


def _places(samples: Iterable[Sample]) -> str:
    """Return the surveys and periods of samples, with versions if surveys have one name."""
    named: dict[str, Sample] = {}
    for sample in samples:
        before = named.setdefault(sample.survey_id, sample)
        epochs = tuple(sorted({*before.epochs, *sample.epochs}))
        named[sample.survey_id] = replace(sample, epochs=epochs)
    names = [sample.name for sample in named.values()]
    return " and ".join(
        sample.place + f" ({sample.version})" * (names.count(sample.name) > 1)
        for sample in named.values()
        if sample.name
    )


def _not_to_be_used(figures: DisplayedFigures) -> str:
    fake = [sample for sample in figures.samples if sample.fewest_fakes]
    if not fake:
        return ""
    least, total = (
        sum(numbers)
        for numbers in zip(*((one.fewest_fakes, one.tally.n) for one in fake), strict=True)
    )
    places = _places(fake)
    counts = f"the counts of {places}" if places else "such counts"
    return (
        f"Do not use these figures: honest devices would not produce {counts}. At least {least:,} "
        f"of {total:,} "
        "reports are fake, and unmarked figures may be just as wrong. (Without any fakes, chance "
        f"alone triggers this caution in at most {level_text(FALSE_ALARM)} of histograms.)"
    )


def _simulated(figures: DisplayedFigures) -> str:
    simulated = any(sample.simulated for sample in figures.samples)
    return "These figures are simulated: no real device answered." if simulated else ""


def _fakes(figures: DisplayedFigures) -> str:
    count = sum(sample.tally.n for sample in figures.samples) // 100
    alone = count > 0 and len(figures.samples) == 1 and figures.reports == "the reports"
    fakes = f"If 1 % of {figures.reports}{f' ({count:,})' * alone} are fake"
    return f"{fakes}, {figures.biases}." if figures.biases else ""


def _shared_noise(figures: DisplayedFigures) -> str:
    ranges = sorted({kept for sample in figures.samples for kept in sample.kept})
    if not ranges:
        return ""
    kept = " and ".join(f"{first} to {last}" for first, last in ranges)
    return (
        f"Devices keep their responses for epochs {kept}, so figures of these epochs contain the "
        "same noise. The figures are neither pooled nor compared here: averages or differences "
        "that you calculate would be less exact than they look."
    )


def _distrusted(figures: DisplayedFigures) -> str:
    distrusted = sum(sample.distrusted for sample in figures.samples)
    total = sum(sample.tally.n for sample in figures.samples)
    return (
        f"{distrusted:,} of {total:,} reports were vouched for by issuers that are no longer "
        "trusted."
        if distrusted
        else ""
    )


def _small_group(figures: DisplayedFigures) -> str:
    text = (
        "A group is too small, or the reports are too few: the group's own share may be 0, and "
        "then any share within the group is possible."
    )
    return text if figures.too_small else ""


def _outside(figures: DisplayedFigures) -> str:
    if not figures.outside:
        return ""
    which, its = "An estimate lies", "its"
    if figures.outside > 1:
        which, its = f"{figures.outside:,} estimates lie", "their"
    return (
        f"{which} outside the possible range by more than {its} margin of error: by chance, or "
        "because of false reports."
    )


def _chosen_by_size(figures: DisplayedFigures) -> str:
    rows = figures.rows
    if rows is None or not rows.chosen or len(rows.rows) == rows.matching:
        return ""
    largest = "Only the largest" if len(rows.rows) == 1 else f"The {len(rows.rows):,} largest"
    are = "is" if len(rows.rows) == 1 else "are"
    sought = f"{rows.matching:,} found" if rows.matching < rows.total else f"{rows.total:,}"
    return (
        f"{largest} of {sought} {are} shown: by chance, the largest estimates tend to be too high; "
        f"intervals hold for all {rows.total:,} at once."
    )


def _biased_view(figures: DisplayedFigures) -> str:
    if figures.view is View.UNBIASED:
        return ""
    histogram, first = figures.histogram, ""
    if histogram is not None and figures.view is histogram.first_view:
        first = (
            "This view is shown first when noise makes estimates negative; the unbiased view "
            "shows the negative estimates. "
        )
    return (
        f"The {figures.view} view shows the possible shares nearest to the unbiased estimates. "
        "These shares are biased: use them only for display, and never add or average them. "
        f"{first}Intervals are those of the unbiased view."
    )


def _recurring_devices(figures: DisplayedFigures) -> str:
    names = [sample.name for sample in figures.samples if sample.name]
    several = len(set(names)) < len(names)
    if several and figures.recurring:
        return (
            f"Devices {figures.recurring} wider than necessary, never too narrow, provided "
            "devices tend to keep their answers."
        )
    if several or any(len(sample.epochs) > 1 for sample in figures.samples):
        return "A device may have reported in several of these epochs; intervals allow for this."
    return ""


def _different_surveys(figures: DisplayedFigures) -> str:
    ids = {sample.survey_id for sample in figures.samples if sample.survey_id}
    return "Surveys with different ids are never pooled." if len(ids) > 1 else ""


def _few_reports(figures: DisplayedFigures) -> str:
    histogram = figures.histogram
    # Additional reports cannot remedy counts that honest devices cannot cause.
    if histogram is None or any(sample.fewest_fakes for sample in figures.samples):
        return ""
    if histogram.numeric is not None:
        return _few_numbers(histogram)
    k, distinct = len(histogram.categories), int(histogram.distinguishable.sum())
    if distinct == k:
        return ""
    level = level_text(histogram.level)
    simultaneous = figures.rows is not None and figures.rows.simultaneous
    noise = f"{k - distinct:,} of {k:,} answers cannot"
    none = "Mostly noise so far: no answer can"
    these = "these intervals" if simultaneous else f"{level} intervals that hold for all at once"
    text = f"{noise if distinct else none} be distinguished from 0 with {these}."
    own = histogram.level_at_once if simultaneous else histogram.level
    for width in (0.05, 1 / k):  # if enough for the first width, answers are many and rare
        needed = histogram.reports_for(width, own)
        if needed > histogram.n:
            wide = f"intervals of ± {bound_text(100 * width)} percentage points"
            which = f"such {wide}" if simultaneous else f"{level} {wide}, each by itself,"
            text += f" At this epsilon, {which} need {reports_text(needed)}."
            break
    return text


def _few_numbers(histogram: Histogram) -> str:
    numeric = histogram.numeric
    assert numeric is not None
    mean, texts = numeric.mean, []
    if numeric.too_wide(mean):
        text = "Mostly noise so far"
        if not math.isnan(mean.standard_error):
            needed = reports_text(histogram.reports_for(0.02, mean.level))
            text += (
                f": at this epsilon, a {level_text(mean.level)} interval of "
                f"± {0.02 * numeric.span:.3g} for the mean (2 % of the range) needs {needed}"
            )
        texts.append(f"{text}.")
    if numeric.hidden and numeric.bins:
        texts.append(
            "Some figures are not shown, because their intervals cover more than half of the "
            f"possible range: {', '.join(numeric.hidden)}."
        )
    return " ".join(texts)


def _texts_of_fakes(figures: DisplayedFigures) -> str:
    texts = None if figures.histogram is None else figures.histogram.texts
    if texts is None:
        return ""
    return (
        f"From about {texts.fakes:,} fake reports on, any text may appear here: the texts are "
        "chosen by those who send reports, not by you."
    )


def _hidden_by_steps(figures: DisplayedFigures) -> str:
    step = max((sample.step for sample in figures.samples if not sample.final), default=1)
    if step <= 1:
        return ""
    return (
        f"Figures are updated after at least {step:,} more reports; until then, new reports "
        "are stored but not shown."
    )


def _smoothed(figures: DisplayedFigures) -> str:
    histogram = figures.histogram
    numeric = None if histogram is None else histogram.numeric
    if histogram is None or numeric is None or not numeric.blur:
        return ""
    hidden = [numeric.too_wide(one) for one in numeric.bins]
    if all(hidden) and all(numeric.too_wide(one) for one in numeric.quartiles):
        return ""
    reach = f"{numeric.blur * numeric.span / (len(histogram.categories) - 1):.15g}"
    return (
        f"Shares and quartiles are smoothed over {reach} on either side, because otherwise they "
        "would be mere noise. Use their intervals, which allow for the smoothing."
    )


def _unseen_fakes(figures: DisplayedFigures) -> str:
    if figures.unseen is None or any(sample.fewest_fakes for sample in figures.samples):
        return ""
    histogram, moved = figures.unseen
    if (share := histogram.poisoning.detectable_share) is None:
        text = (
            "With so few reports, fake reports cannot be detected. Lies about the answer in "
            "otherwise honest reports can never be detected."
        )
    else:
        share = min(share, 0.99)
        least = f"about {math.ceil(share * histogram.n):,} such fake reports ({100 * share:.2g} %)"
        text = (
            "Fake devices that answer like real ones always go unnoticed, however many: only a "
            "sudden change may show them. If others cause impossible counts, this begins with “Do "
            f"not use these figures”. Fewer than {least} may go unnoticed; with that many, "
            f"{moved(share)}."
        )
    if histogram.enrolment is not None and histogram.enrolment.mode == "open":
        text = f"Anyone can send reports to this survey. {text}"
    return text


# Each code, its level, and its sentence if it applies.
CAUTIONS: Final[tuple[Rule[DisplayedFigures], ...]] = (
    Rule("not-to-be-used", Level.ALERT, _not_to_be_used),
    Rule("simulated", Level.ALERT, _simulated),
    Rule("small-group", Level.WARNING, _small_group),
    Rule("fakes-decide", Level.WARNING, lambda it: _fakes(it) if it.fakes_decide else ""),
    Rule("outside", Level.WARNING, _outside),
    Rule("shared-noise", Level.WARNING, _shared_noise),
    Rule("texts-of-fakes", Level.WARNING, _texts_of_fakes),
    Rule("distrusted-issuers", Level.WARNING, _distrusted),
    Rule("chosen-by-size", Level.WARNING, _chosen_by_size),
    Rule("biased-view", Level.WARNING, _biased_view),
    Rule("chance-alone", Level.NOTE, lambda it: f"Intervals reflect {CHANCE}" * bool(it.samples)),
    Rule("fakes", Level.NOTE, lambda it: "" if it.fakes_decide else _fakes(it)),
    Rule("unseen-fakes", Level.NOTE, _unseen_fakes),
    Rule("recurring-devices", Level.NOTE, _recurring_devices),
    Rule("different-surveys", Level.NOTE, _different_surveys),
    Rule("few-reports", Level.NOTE, _few_reports),
    Rule("hidden-by-steps", Level.NOTE, _hidden_by_steps),
    Rule("smoothed", Level.NOTE, _smoothed),
)


def histogram_cautions(
    histogram: Histogram, rows: ShownRows | None = None, view: View = View.UNBIASED
) -> tuple[Caution, ...]:
    """Return the cautions about some of a histogram's rows, or about all rows in a view."""
    outside = int((histogram.outside & ~histogram.poisoning.impossible).sum())
    if histogram.numeric is not None:
        estimates = (histogram.numeric.mean, *(group.share for group in histogram.numeric.bins))
        outside = sum(estimate.outside for estimate in estimates)
    elif rows is not None:
        outside = sum(row["outside"] and not row.get("impossible") for row in rows.rows)
    return DisplayedFigures(
        (histogram.sample,),
        *_biases(histogram),
        outside=outside,
        histogram=histogram,
        unseen=(histogram, lambda share: _biases(histogram, share / FAKES)[0]),
        rows=rows,
        view=view if rows is None else rows.view,
    ).cautions


def _biases(histogram: Histogram, times: float = 1.0) -> tuple[str, bool]:
    """Return how far 1 % of fakes, or ``times`` as many, move the displayed figures.

    It also returns whether they decide one of them.
    """
    if (numeric := histogram.numeric) is not None:
        kinds = [("the mean", [numeric.mean.influence], Unit.NUMBER, float(numeric.span))]
        shares = [one.share.influence for one in numeric.bins if not numeric.too_wide(one)]
        kinds += [("a share", shares, Unit.SHARE, 1.0)] if shares else []
    elif answers := [row["influence"] for row in crossed_rows(histogram)]:
        kinds = [
            ("a combination", histogram.influence.tolist(), Unit.SHARE, 1.0),
            ("an answer to one question", answers, Unit.SHARE, 1.0),
        ]
    else:
        kinds = [("a share", histogram.influence.tolist(), Unit.SHARE, 1.0)]
    most = [(name, times * max(known), unit, widest) for name, known, unit, widest in kinds]
    decided = [decided_by_fakes(influence, widest) for _, influence, _, widest in most]
    texts = [
        bias_text(name, influence, unit, decided=fakes_decide)
        for (name, influence, unit, _), fakes_decide in zip(most, decided, strict=True)
    ]
    return ", ".join(texts), any(decided)
