"""The rows of a histogram that people are shown, and their intervals.

Of many estimates the largest are those that chance made larger, so an interval by itself holds less
often than its level states: for 24 of the 50 largest of 1,000 answers from 20,000 reports. Readers
of a table pick rows by their estimates, and compare them. Therefore rows of answers have intervals
that hold for all rows at once, whichever are read.

They are correct in a biased view, too. Projected shares are (f - t)_+, with one t for all. If a
share is below its interval, of f and a margin h, then t > h, so all are below the others' low ends
too, and these sum to more than 1; likewise above. So if intervals are about equally wide, and the
true shares all in them, the projected ones are as well. In separate intervals they often are not:
of the ten largest of 1,024, sometimes hardly any (docs/coverage.md).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from deniable.documents import Column, ColumnKind, Fact, Level, level_text
from deniable.documents.programs import (
    Field,
    Fields,
    Json,
    plain,
)
from deniable.estimates.answers import affirmed, denies
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.debiased import DebiasedCounts
from deniable.estimates.estimate import Estimate
from deniable.estimates.forms import Sample
from deniable.estimates.frequencies import View, beyond
from deniable.estimates.histogram import Histogram
from deniable.estimates.means import Margin
from deniable.estimates.results import presents
from deniable.presenting.revealed import revealed_brief
from deniable.reading import MOST_ROWS
from deniable.reading.epochs import EpochState, instant_text, period_text, version_text, when_text

ESTIMATE: Final = (
    Field("estimate", "stated"),
    Field("standard_error"),
    Field("low"),
    Field("high"),
    Field("outside"),
    Field("influence"),
    Field("fakes_decide"),
)


def _counts(histogram: DebiasedCounts) -> Sequence[int | None]:
    counts: list[int | None] = histogram.raw.tolist()
    if histogram.texts is not None:  # all other texts have no count of their own
        counts[-1] = None
    return counts


# Columns: each value is a list with one entry per category, or per response.
CATEGORY: Final = (
    Field("category", "categories"),
    Field("raw", lambda h: (None,) * len(h.categories) if h.responses else _counts(h)),
    Field("estimate"),
    Field("standard_error"),
    Field("low"),
    Field("high"),
    Field("simultaneous_low", "simultaneous.low"),
    Field("simultaneous_high", "simultaneous.high"),
    Field("method", "methods"),
    Field("outside"),
    Field("impossible", "poisoning.impossible"),
    Field("influence"),
)
_COUNTS: Final = {"count": "estimate", "count_low": "low", "count_high": "high"}
COUNTED: Final = (
    Field("answered"),
    *(Field(name) for name, end in _COUNTS.items()),
)
"""For a category, about how many of the devices that answered gave it."""
RESPONSE: Final = (
    Field("response", "responses"),
    Field("raw"),
    Field("impossible", "poisoning.impossible_responses"),
)

ALIKE: Final = 1e-9
"""The rounding tolerance for a number that is written outward."""
NOT_FOUND: Final = "No answer contains this text."
HELD: Final = {
    True: (
        "All intervals hold at once. This makes them wider than single intervals, some of which "
        "miss the truth by chance."
    ),
    False: "Each interval holds only by itself. Intervals that all hold at once, as in Figures, "
    "are wider.",
}
"""What is said of intervals, by whether they hold all at once."""


CUT: Final = (
    "Shares below 0 % or above 100 % are shown as 0 % or 100 %, but differences are calculated "
    "from the actual estimates."
)


def longer_notes(histogram: DebiasedCounts, *, clear: bool) -> list[str]:
    """Return that more dates together may tell what those of a single epoch do not."""
    alone = len(histogram.epochs) == 1 and histogram.epochs[0] > 0
    if clear or not alone or histogram.kept_range is not None:
        return []
    period = histogram.sample.period
    return [f"Only reports from {period} are used here; those of more dates together may tell."]


def quoted(label: str) -> str:
    """Return the label of an answer, or of several, as sentences name it: in quotation marks."""
    return f'"{label}"'


def quoted_share(share: Estimate) -> str:
    """Return the answer of a share as sentences name it, with the group if there is one."""
    return quoted(share.label) + f" among those with {quoted(share.group)}" * bool(share.group)


def estimate_map(estimate: Estimate | None) -> Json:
    """Return an estimate and its interval."""
    return plain(estimate, ESTIMATE)


def margin_rows(margin: Margin) -> list[Json]:
    """Return the figures of each answer to one of several questions."""
    pairs = zip(margin.answers, margin.shares, strict=True)
    return [{"answer": answer, **estimate_map(share)} for answer, share in pairs]


def crossed_rows(histogram: Histogram) -> list[Json]:
    """Return the figures of each question's answers, if categories are combinations."""
    if not histogram.crossed:
        return []
    return [
        counted(row, histogram.sample.devices or histogram.n)
        | {
            "category": f"{margin.question}: {row['answer']}",
            "simultaneous_low": at_once.low,
            "simultaneous_high": at_once.high,
        }
        for margin in histogram.margins
        for row, at_once in zip(
            margin_rows(margin),
            (share.at(histogram.level_at_once) for share in margin.shares),
            strict=True,
        )
    ]


def at_once(row: Json) -> Json:
    """Return a row with the interval that holds for all rows at once, instead of the row's own."""
    low, high = row["simultaneous_low"], row["simultaneous_high"]
    value = row["estimate"]
    outside = value is not None and beyond(value, low, high, 0.0, 1.0)
    return counted(row | {"low": low, "high": high, "outside": outside}, row["answered"])


def _rows(histogram: Histogram, columns: Fields) -> list[Json]:
    names, values = [c.name for c in columns], [c.of(histogram) for c in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def category_rows(histogram: Histogram) -> list[Json]:
    """Return the rows of the categories."""
    sample, answered = histogram.sample, np.zeros(len(histogram.categories), dtype=np.int64)
    for part in sample.decoder.parts:
        answered[part.categories] = sample.devices or part.tally(sample.tally).n
    return [*map(counted, _rows(histogram, CATEGORY), answered.tolist())]


def counted(row: Json, answered: int | None) -> Json:
    """Return a row with its estimated number of devices among those that answered, if known.

    Of n that answered n f_n gave an answer, where f is the share in the population that they
    represent. Var(est - f) = Var(est - f_n) + Var(f_n): the noise, and the sampling of those that
    answered. So n times the interval of f contains n f_n at least as often as the interval contains
    f.
    """
    values = {name: row[end] for name, end in _COUNTS.items()}
    unknown = answered is None or None in values.values()
    counts = {name: None if unknown else answered * x for name, x in values.items()}
    return row | {"answered": answered} | counts


def count_texts(answered: int, *shares: float) -> list[str]:
    """Return an estimated count and its interval's ends, rounded outward to the second digit."""
    value, low, high = (answered * min(max(share, 0.0), 1.0) for share in shares)
    step = 10 ** max(math.floor(math.log10(max(high - low, 1.0))) - 1, 0)
    whole = round(value / step), math.floor(low / step + ALIKE), math.ceil(high / step - ALIKE)
    return [f"{min(step * number, answered):,}" for number in whole]


def count_column(rows: Sequence[Json], epochs: int, key: str = "estimate") -> Column:
    """Return the column with each row's estimated number of devices, or of reports."""

    def cell(row: Mapping[str, Any]) -> str:
        if not row["answered"] or row["low"] is None:
            return "-"
        value, low, high = count_texts(row["answered"], row[key], row["low"], row["high"])
        of = f" of {row['answered']:,}" * several
        return f"{value}{of} ({low} to {high})"

    answered, title = {row["answered"] for row in rows}, "devices" if epochs == 1 else "reports"
    several = len(answered) != 1
    if not several:
        n = answered.pop() or 0
        title = f"of {n:,} {title if n != 1 else title[:-1]}"
    return Column("", title, "number", cell=cell)


def response_rows(histogram: Histogram) -> list[Json] | None:
    """Return the rows of the counted responses; None if responses are categories."""
    if not histogram.responses:
        return None
    return [row for row in _rows(histogram, RESPONSE) if row["raw"] or row["impossible"]]


@dataclass(frozen=True, slots=True)
class ShownRows:
    """Rows of figures from this module.

    Attributes:
        rows: low and high are the ends of the displayed interval; "shown" is the estimate in a view
            other than the unbiased one.
        total: the number of rows; matching: the number of rows with the wanted text.
        chosen: whether the rows are those with the largest estimates, in that order.
        simultaneous: whether the intervals hold for all rows at once.
        view: the view of the displayed estimates.
        beyond: whether estimates below 0 and above 1 are shown, because this view was requested.
    """

    rows: tuple[Json, ...]
    total: int
    matching: int
    chosen: bool = False
    simultaneous: bool = False
    view: View = View.UNBIASED
    beyond: bool = False


def chosen_rows(
    histogram: Histogram,
    view: View | str | None = None,
    *,
    top: int | None = None,
    wanted: str = "",
) -> ShownRows:
    """Return the rows whose labels contain the wanted text; the largest, if there are many.

    By default, rows are in the histogram's ``first_view``. For several questions, the questions'
    answers come first, of yes/no questions each yes; in a view other than the unbiased one, rows
    are the categories; for numbers, the groups with informative intervals.

    Raises:
        ValueError: for any choice in a numeric survey, whose rows are groups of values.
    """
    explicit, view = view is not None, histogram.first_view if view is None else View(view)
    biased = view is not View.UNBIASED
    if histogram.numeric is not None and (biased or top):
        raise ValueError(
            "a numeric survey shows groups of values; `top` and biased views do not apply"
        )
    rows = shown_rows(histogram, view)
    kept = [row for row in rows if wanted.casefold() in row["category"].casefold()]
    wanted_count = len(kept)
    chosen = top is not None or wanted_count > MOST_ROWS
    if chosen:
        # Sorted by the displayed value, and if that is 0, by the estimate. The estimate is None if
        # no report is about its question. Single questions' answers, which have no count of their
        # own, come first.
        keys = ("shown", "estimate") if biased else ("estimate",)
        kept.sort(
            key=lambda row: [
                float("raw" in row),
                *(math.inf if row[key] is None else -row[key] for key in keys),
            ]
        )
        del kept[MOST_ROWS if top is None else top :]
    elif affirmed(histogram.dimensions) and not histogram.together:
        kept.sort(key=lambda row: denies(row["category"]))  # of yes/no questions, each yes first
    if simultaneous := histogram.numeric is None:
        kept = [*map(at_once, kept)]
    return ShownRows(tuple(kept), len(rows), wanted_count, chosen, simultaneous, view, explicit)


def shown_rows(histogram: Histogram, view: View = View.UNBIASED) -> list[Json]:
    """Return the rows of answers to single questions, then of categories; or of groups."""
    if (numeric := histogram.numeric) is not None:
        groups = (group for group in numeric.bins if not numeric.too_wide(group))
        rows = ({"category": group.label, **estimate_map(group.share)} for group in groups)
        return [counted(row, histogram.sample.devices or histogram.n) for row in rows]
    if view is View.UNBIASED:
        return [*crossed_rows(histogram), *category_rows(histogram)]
    values = histogram.view(view).tolist()
    pairs = zip(category_rows(histogram), values, strict=True)
    return [{**row, "shown": value} for row, value in pairs]


def largest_shares(
    histograms: Sequence[Histogram], wanted: str = "", *, everywhere: bool
) -> list[str]:
    """Return the answers, starting with the largest shares in all histograms together.

    Single questions' answers precede combinations of them; of two answers, a yes precedes its no,
    and the yes of several questions precede every no.

    If they were chosen by one of them, chance would make them seem to fall in the others. But the
    mean of x and y, from n and m reports, (n x + m y) / (n + m), has with their difference x - y
    the covariance (V - V) / (n + m) = 0, if V / n and V / m are their variances. Answers to a
    question without reports are omitted: without reports in all histograms, or, for ``everywhere``,
    in any.

    Raises:
        ValueError: if no label contains the wanted text.
    """
    reports: dict[str, float] = {}
    times: Counter[str] = Counter()
    single: set[str] = set()
    for histogram in histograms:
        counts = (histogram.n * histogram.estimate).tolist()
        for part in histogram.sample.decoder.parts:
            if part.tally(histogram.sample.tally).n:
                answers = histogram.categories[part.categories]
                times.update(answers)
                for name, n in zip(answers, counts[part.categories], strict=True):
                    reports[name] = reports.get(name, 0.0) + n
        for margin in histogram.margins if histogram.crossed else ():
            for answer, share in zip(margin.answers, margin.shares, strict=True):
                label = f"{margin.question}: {answer}"
                times[label] += 1
                reports[label] = reports.get(label, 0.0) + histogram.n * share.value
                single.add(label)
    sought, least = wanted.casefold(), len(histograms) if everywhere else 1
    names = [name for name in reports if sought in name.casefold() and times[name] >= least]
    if wanted and not names:
        raise ValueError(NOT_FOUND.rstrip("."))
    two = len(names) == 2
    denied = {
        f"{margin.question}: {answer}"
        for histogram in histograms
        for margin in histogram.margins
        for answer in margin.answers
        if len(margin.answers) == 2 and denies(answer)
    }

    def place(name: str) -> tuple[bool, bool, float]:
        return name not in single, name in denied or (two and denies(name)), -reports[name]

    return sorted(names, key=place)


_STATES: Final = {
    EpochState.OPEN: "open: more reports may arrive",
    EpochState.GRACE: "over; late reports are still accepted",
    EpochState.CLOSED: "over: no more reports are accepted, so these counts are final",
    EpochState.SEALED: "sealed: these counts are final",
}


def estimate_columns(
    level: float,
    kind: ColumnKind = "share",
    title: str = "estimate",
    key: str = "estimate",
    simultaneous: bool | None = None,
) -> list[Column]:
    """Return the columns of an estimate with its interval at a level, and a bar.

    The title states whether intervals hold at once, unless there is only one kind.
    """
    held = {None: "", True: ", all at once", False: ", on its own"}[simultaneous]
    return [
        Column(key, title, kind, "width"),
        Column(
            "low",
            f"{level_text(level)} interval{held}",
            kind,
            "width",
            "interval",
        ),
        Column(key, "", kind, shape="bar"),
    ]


def estimate_row(row: Json) -> Json:
    """Return an estimate's fields, with the width of its interval if the width is useful."""
    known = row["low"] is not None and row["high"] is not None
    # With few reports a standard error is unreliable: it underestimates the scatter.
    few = row.get("method") == IntervalMethod.CLOPPER_PEARSON
    return {
        **row,
        "standard_error": None if few else row.get("standard_error"),
        "width": row["high"] - row["low"] if known else None,
        **marked(row),
    }


def histogram_facts(histogram: DebiasedCounts) -> Iterator[Fact]:
    """Yield facts for people about the reports behind the figures."""
    if histogram.survey:
        survey = f"{histogram.survey}, {histogram.sample.period}"
        yield Fact("survey", survey, aside=True)
    if histogram.start is not None and histogram.end is not None:
        time = f"{instant_text(histogram.start)} to {instant_text(histogram.end)}"
        yield Fact("time", time, aside=True)
    yield Fact("reports", histogram.turnout)
    if histogram.standing is not None:
        yield Fact("state", _STATES[EpochState(histogram.standing.state)])
    yield Fact("epsilon", histogram.guarantee, aside=True)
    yield Fact("devices", enrolment_text(histogram), aside=True)
    if histogram.anonymity_set is not None:
        among = "" if len(histogram.epochs) == 1 else ", in the epoch with the fewest reports"
        hidden = f"{histogram.anonymity_set:,} reports of the same survey version{among}"
        yield Fact("hidden among", hidden, aside=True)
    if histogram.groups:  # otherwise the other displayed figures are unknown
        yield Fact("reveals", revealed_brief(histogram.revealed()), aside=True)


def enrolment_text(histogram: DebiasedCounts) -> str:
    """Return the words for an enrolment: who vouches for the devices that sent these reports."""
    enrolment = histogram.enrolment
    if enrolment is None:
        return "not known"
    if enrolment.mode == "open":
        return "open (nobody vouches that reports come from different devices)"
    if enrolment.mode == "blind":
        return f"vouched for by {enrolment.issuer}, who cannot tell which report is whose"
    return f"vouched for by {', '.join(issuer.hex()[:16] for issuer in enrolment.issuers)}"


def marked(row: Json) -> Json:
    """Return the mark of a row's count if honest devices cannot cause it."""
    if not row.get("impossible"):
        return {"mark": ""}
    return {"mark": "impossible", "caution": Level.ALERT}


def sentence_map(histogram: DebiasedCounts, sentence: str) -> Json:
    """Return the values for a sentence about a histogram, with its subject."""
    return {
        "survey": histogram.survey,
        "survey_id": histogram.survey_id,
        "epochs": list(histogram.epochs),
        "n": histogram.n,
        "level": histogram.level,
        "sentence": sentence,
    }


def sample_period(sample: Sample) -> str:
    """Return the days or hours in which the reports of a sample arrived."""
    return period_text(sample.start, sample.seconds, sample.epochs)


def sample_place(sample: Sample) -> str:
    """Return the survey of a sample, and when its reports arrived."""
    return f"{sample.name} {when_text(sample_period(sample))}"


def _version(sample: Sample) -> str:
    return version_text(sample.sequence)


presents(Sample, period=sample_period, place=sample_place, version=_version)
