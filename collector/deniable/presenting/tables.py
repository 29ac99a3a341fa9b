"""Parts of documents of figures: what they are of, and the columns and rows of an estimate."""

from collections.abc import Iterator
from typing import Final

from deniable.documents import Column, ColumnKind, Fact, Level, level_text
from deniable.documents.json import Json
from deniable.estimates.binomial import IntervalMethod
from deniable.estimates.debiased import DebiasedCounts
from deniable.presenting.revealed import revealed_brief
from deniable.reading.epochs import EpochState, epochs_text, instant_text

_STATES: Final = {
    EpochState.OPEN: "open: more reports may come",
    EpochState.GRACE: "over; late reports are still taken",
    EpochState.CLOSED: "over; no more reports are taken, and it is about to be sealed",
    EpochState.SEALED: "sealed: these counts are final",
}


def estimate_columns(
    level: float,
    kind: ColumnKind = "share",
    title: str = "estimate",
    key: str = "estimate",
    simultaneous: bool = False,
) -> list[Column]:
    """Return the columns of an estimate with its interval of a level, and a bar."""
    return [
        Column(key, title, kind, "width"),
        Column(
            "low",
            f"{level_text(level)} {'simultaneous ' * simultaneous}interval",
            kind,
            "width",
            "interval",
        ),
        Column(key, "", kind, shape="bar"),
    ]


def estimate_row(row: Json) -> Json:
    """Return an estimate's fields with the width of its interval, if that is of any use."""
    known = row["low"] is not None and row["high"] is not None
    # Of few reports a standard error tells little: they scatter less than their number does.
    few = row.get("method") == IntervalMethod.CLOPPER_PEARSON
    return {
        **row,
        "standard_error": None if few else row.get("standard_error"),
        "width": row["high"] - row["low"] if known else None,
        **marked(row),
    }


def histogram_facts(histogram: DebiasedCounts) -> Iterator[Fact]:
    """Yield the reports that the figures are of, in facts for people."""
    if histogram.survey:
        yield Fact("survey", f"{histogram.survey}, {epochs_text(histogram.epochs)}")
    if histogram.start is not None and histogram.end is not None:
        yield Fact("time", f"{instant_text(histogram.start)} to {instant_text(histogram.end)}")
    yield Fact("reports", f"{histogram.n:,}")
    if histogram.standing is not None:
        yield Fact("state", _STATES[EpochState(histogram.standing.state)])
    yield Fact("epsilon", histogram.guarantee)
    yield Fact("devices", histogram.enrolment)
    if histogram.anonymity_set is not None:
        among = "" if len(histogram.epochs) == 1 else ", in the epoch with the fewest"
        yield Fact("hides among", f"{histogram.anonymity_set:,} reports of one survey id{among}")
    if histogram.groups:  # or nobody knows what else is shown
        yield Fact("reveals", revealed_brief(histogram.revealed()))


def marked(row: Json) -> Json:
    """Return the mark of a row's count, if honest devices do not cause it."""
    if not row.get("impossible"):
        return {"mark": ""}
    return {"mark": "impossible", "caution": Level.ALERT}


def sentence_map(histogram: DebiasedCounts, sentence: str) -> Json:
    """Return the values of a sentence about a histogram, and what it is of."""
    return {
        "survey": histogram.survey,
        "survey_id": histogram.survey_id,
        "epochs": list(histogram.epochs),
        "n": histogram.n,
        "level": histogram.level,
        "sentence": sentence,
    }
