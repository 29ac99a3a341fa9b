"""Sentences for a figure, a verdict about it and a quantile; and the rows of a distribution."""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from deniable.documents import (
    Caution,
    Column,
    Document,
    Fact,
    Table,
    decimals,
    level_text,
    number_text,
    with_cautions,
    with_minus,
)
from deniable.documents.programs import Field, Json
from deniable.estimates.change import Test
from deniable.estimates.curve import Distribution, Quantile
from deniable.estimates.debiased import Standing
from deniable.estimates.estimate import Estimate, Side, Verdict
from deniable.estimates.forms import Unit
from deniable.estimates.results import presents
from deniable.presenting.cautions import DisplayedFigures, furthest
from deniable.presenting.rows import ALIKE, COUNTED, count_texts, counted, estimate_map, quoted
from deniable.reading.epochs import EpochState, reporters

_WORTH: Final = 0.5
"""A share's interval or standard error over more than this of [0, 1] is uninformative."""
_A_YEAR: Final = 52
_OFTENER: Final = 3
"""By the exact distribution 2.63 times at 95 %, for 2 to 50 answers; at other levels it is less."""
AT_ONCE: Final = ", which holds for all answers at once"
"""A clause after such an interval."""


def estimate_sentence(estimate: Estimate, conclusion: str = "") -> str:
    """Return the estimate in words, including the conclusion, followed by the cautions."""
    return with_cautions(estimate_statement(estimate, conclusion), estimate_cautions(estimate))


def estimate_statement(estimate: Estimate, conclusion: str = "", when: str = "") -> str:
    """Return the sentence without cautions, for surfaces that show the cautions beside it.

    The sentence is shorter if the survey is named beside it: it states ``when``, not who reported.
    """
    concluded, when = f": {conclusion}" * bool(conclusion), f" {when}" * bool(when)
    several = _several(estimate)
    whom = reporters(several=several) if when else _whom(estimate)
    label, did = estimate.label, "were" if several else "answered"
    label = f"{quoted(label) if estimate.unit is Unit.SHARE else label}{when}"
    if estimate.too_small:
        return f"Too few reports to tell {_untold(estimate)}{concluded}."
    show = partial(estimate_text, estimate)
    # A table beside the sentence has a share's ends as precisely as they are written.
    bound = _impossible(estimate) and estimate.unit is not Unit.SHARE
    bounds = ("least", "most") if bound else ("", "")
    low, high = map(show, (estimate.low, estimate.high), bounds)
    ends = f" from {low} up" if estimate.high == math.inf else f" {low} to {high}"
    at_once = AT_ONCE * (estimate.at_once and not when)
    interval = f"{level_text(estimate.level)} interval{ends}{at_once}"
    match estimate.unit:
        case Unit.SHARE if estimate.low >= 1 - ALIKE:
            text = f"All of {whom} {did} {label}"
            interval = "this holds whatever the counts"
        case Unit.SHARE if not max(estimate.standard_error, estimate.high - estimate.low) <= _WORTH:
            known = f", {show(estimate.value)}," * (not _impossible(estimate))
            text = (
                f"Too few reports to tell how many of {whom} {did} {label}: the "
                f"estimate{known} may be off by more than 25 points"
            )
        case Unit.SHARE if _impossible(estimate):
            limit = f"Fewer than about {high}" if estimate.low <= 0 else f"More than about {low}"
            text = f"{limit} of {whom} {did} {label}"
        case Unit.SHARE:
            text = f"An estimated {show(estimate.value)} of {whom} {did} {label}"
        case _ if _impossible(estimate):
            points = " points" * estimate.unit.of_shares
            limit = f"at most {high}" if estimate.value < estimate.low else f"at least {low}"
            text = f"{label or 'estimate'}: {limit}{points}"
        case Unit.DIFFERENCE | Unit.CHANGE | Unit.RATIO as unit:
            text = f"{label}: {show(estimate.value)}{' points' * unit.of_shares}"
            if not estimate.distinguishable:
                none = unit is Unit.RATIO and estimate.nothing != 1
                interval += "; perhaps none" if none else "; no clear difference"
        case _ if when:
            text = f"The {estimate.label} was {show(estimate.value)}{when}"
        case Unit.NUMBER if estimate.label == "mean" and estimate.samples:
            text = f"The mean{' answer' * (not several)} of {whom} is {show(estimate.value)}"
        case _:
            text = f"{label or 'estimate'}: {show(estimate.value)}"
    return f"{text} ({interval}){concluded}.{_count_sentence(estimate) * (not concluded)}"


def _count_sentence(estimate: Estimate) -> str:
    """Return about how many of those that answered a share means; "" if it is shown elsewhere."""
    n = answered(estimate)
    if not n or estimate.high - estimate.low > _WORTH or estimate.at_once:
        return ""
    value, low, high = count_texts(n, estimate.value, estimate.low, estimate.high)
    amount = f"about {value} ({low} to {high})"
    if estimate.low <= 0 or estimate.high >= 1:
        amount = f"at most {high}" if estimate.low <= 0 else f"at least {low}"
    epochs = estimate.samples[0].tally.epochs
    whom = f"{n:,} reports of {epochs} epochs" if epochs > 1 else f"{n:,} devices that answered"
    return f" That is {amount} of the {whom}, not of all users."


def answered(estimate: Estimate) -> int | None:
    """Return how many devices answered, for a share; None for other figures and within a group."""
    if estimate.unit is not Unit.SHARE or estimate.form is None or len(estimate.samples) != 1:
        return None
    ((sample, weights),) = estimate.form.terms.items()
    return sample.answered(weights)


def _impossible(estimate: Estimate) -> bool:
    """Return whether no population has the value; the value is then outside its interval."""
    return estimate.value < estimate.low or estimate.value > estimate.high


def estimate_text(estimate: Estimate, number: float, bound: str = "") -> str:
    """Return a value or an end as text; the "least" rounded down, the "most" up."""
    match estimate.unit:
        case Unit.SHARE:
            return with_minus(f"{_outward(100 * number, 1, bound):z.1f} %")
        case Unit.DIFFERENCE if estimate.distinguishable and 0 < abs(number) < 5e-4:
            return with_minus(f"{100 * number:+.1g}")  # rounded, it would seem to include 0
        case Unit.DIFFERENCE:
            return with_minus(f"{_outward(100 * number, 1, bound):+z.1f}")
        case Unit.RATIO if math.isnan(number):
            return "not known"
        case Unit.RATIO:
            return f"{_outward(number, 2 - _magnitude(number), bound):.3g}"
        case Unit.NUMBER | Unit.CHANGE:
            width, sign = estimate.high - estimate.low, "+" * (estimate.unit is Unit.CHANGE)
            places = decimals(width, 0) if 0 < width < math.inf else 5 - _magnitude(number)
            return number_text(_outward(number, places, bound), width, sign)


def times_text(ratio: Estimate) -> tuple[str, str]:
    """Return a ratio of two shares, and its interval in brackets, for a sentence.

    If the divisor may be 0, there is only a lower end, and no interval.
    """
    if ratio.high == math.inf:
        return f"at least {estimate_text(ratio, ratio.low, 'least')}", ""
    value, low, high = (estimate_text(ratio, end) for end in (ratio.value, ratio.low, ratio.high))
    return value, f" ({level_text(ratio.level)} interval {low} to {high})"


def so_far(sentence: str, standing: Standing | None, labels: Iterable[str] = ()) -> str:
    """Return a sentence about epochs with a standing, which begins with "So far" if one is open.

    The case of an answer is kept if the sentence begins with one of the ``labels``.
    """
    if not sentence or standing is None or standing.state != EpochState.OPEN:
        return sentence
    first = sentence[0] if sentence.startswith(tuple(labels)) else sentence[0].lower()
    return f"So far, {first}{sentence[1:]}"


def estimate_cautions(estimate: Estimate) -> tuple[Caution, ...]:
    """Return the cautions about the use of the estimate."""
    reports = "the reports of each" if len(estimate.samples) > 1 else "the reports"
    return DisplayedFigures(
        estimate.samples,
        *furthest([estimate]),
        reports,
        outside=int(estimate.outside),
        too_small=estimate.too_small,
    ).cautions


def _whom(estimate: Estimate) -> str:
    places = [sample.place for sample in estimate.samples]
    group = quoted(estimate.group) if estimate.group else ""
    place = places[0] if len(places) == 1 else ""
    return reporters(place, group, several=_several(estimate))


def _several(estimate: Estimate) -> bool:
    """Return whether each device may have sent several answers, one in each epoch."""
    epochs = any(sample.tally.epochs > 1 for sample in estimate.samples)
    return epochs and ": " not in estimate.label  # of several questions, some are about others


def _untold(estimate: Estimate) -> str:
    """Return the figure that the reports do not determine, as part of a sentence."""
    if estimate.group:
        did = "were" if _several(estimate) else "answered"
        return f"how many of {_whom(estimate)} {did} {quoted(estimate.label)}"
    return f"the {'ratio' if estimate.unit is Unit.RATIO else 'difference'}, {estimate.label}"


def _magnitude(number: float) -> int:
    return max(-9, math.floor(math.log10(abs(number)))) if number and math.isfinite(number) else 0


def _outward(number: float, places: int, bound: str) -> float:
    """Return a number with this many decimals: the "least" rounded down, the "most" up."""
    if not bound or not math.isfinite(number):
        return number
    scaled = number * 10.0**places
    whole = math.floor(scaled + ALIKE) if bound == "least" else math.ceil(scaled - ALIKE)
    return whole / 10.0**places


def _count(name: str, row: Any) -> float | None:
    """Return about how many devices the share of a row means; None for other figures."""
    estimate: Estimate = row.estimate
    count: float | None = counted(estimate_map(estimate), answered(estimate))[name]
    return count


COUNTS: Final = tuple(Field(name, partial(_count, name)) for name, *_ in COUNTED)
"""The counts of a row with an estimate."""


def test_text(test: Test) -> str:
    """Return the result of a test, for use in brackets."""
    p = f"{test.p_value:.2g}" if test.p_value >= 0.001 else "below 0.001"
    counted = f", counted among {test.tables:,} tables" * bool(test.tables)
    return f"chi-square {test.statistic:.4g}, {test.degrees} degrees of freedom, p {p}{counted}"


def verdict_sentence(verdict: Verdict) -> str:
    """Return the figure and the side in words, suitable for publication."""
    side = "the true figure may be above or below" if verdict.side is Side.NEITHER else verdict.side
    return estimate_sentence(verdict.estimate, f"{side} {_limit(verdict)}")


def verdict_note(verdict: Verdict) -> str:
    """Return how often chance alone gives the alarm, for readers who check repeatedly."""
    chance = (1 - verdict.estimate.level) / 2
    return (
        f"If the truth is exactly {_limit(verdict)}, the result is {verdict.beyond} by chance "
        f"alone in up to about {level_text(chance)} of checks: {_A_YEAR * chance:.2g} times a "
        f"year if you check once a week. Such results are up to {_OFTENER} times as frequent if "
        "reports are few, or if the limit is near an end of the possible range. A higher level "
        "makes them rarer."
    )


def _limit(verdict: Verdict) -> str:
    # Not rounded like figures, since it is not measured.
    if not verdict.estimate.unit.of_shares:
        return with_minus(f"{verdict.limit:.12g}")
    percent = level_text(verdict.limit)
    if verdict.estimate.unit.value == "share":
        return percent
    return percent.replace(" %", " percentage points")


def verdict_document(verdict: Verdict) -> Document:
    """Return the verdict as a document."""
    sentence = verdict_sentence(verdict)
    return Document(
        facts=[
            Fact(key="reports", value=sum(sample.tally.n for sample in verdict.estimate.samples)),
            Fact(key="sentence", value=sentence),
            Fact(key="limit", value=verdict.limit),
            Fact(key="side", value=str(verdict.side)),
            Fact(key="holds", value=verdict.holds),
        ],
        notes=[verdict_note(verdict)],
        cautions=estimate_cautions(verdict.estimate),
        sentence=sentence,
        values=estimate_map(verdict.estimate),
    )


WITHHELD: Final = (
    "Cumulative shares are not shown: with so few reports, their band would be too wide or "
    "unreliable."
)


def quantile_sentence(quantile: Quantile[Any]) -> str:
    """Return the quantile in words, suitable for publication."""
    value, low, high = map(quoted_answer, (quantile.value, quantile.low, quantile.high))
    interval = f"{level_text(quantile.level)} interval {low} to {high}"
    several = quantile.share is not None and _several(quantile.share)
    place = quantile.share.samples[0].place if quantile.share else ""
    whom, answer = reporters(place, several=several), " answer" * (not several)
    statement = f"The {quantile.name}{answer} of {whom} is {value} ({interval})."
    if not isinstance(quantile.value, str) and quantile.name.endswith("% quantile"):
        percent, did = quantile.name.removesuffix(" quantile"), "were" if several else "answered"
        statement = f"About {percent} of {whom} {did} {value} or less ({interval})."
    return with_cautions(statement, quantile_cautions(quantile))


def quantile_cautions(quantile: Quantile[Any]) -> tuple[Caution, ...]:
    """Return the cautions about the quantile's use: for fakes, only the share's move is known."""
    if (share := quantile.share) is None:
        return ()
    moved = furthest([share], "the share up to it")
    return DisplayedFigures(share.samples, *moved).cautions


def answer_text(answer: str | float) -> str:
    """Return an answer, a name or a number, as text."""
    return answer if isinstance(answer, str) else with_minus(f"{answer:.12g}")


def quoted_answer(answer: str | float) -> str:
    """Return an answer for a sentence: a name in quotation marks, or a number."""
    return quoted(answer) if isinstance(answer, str) else answer_text(answer)


def quantile_table(quantiles: Sequence[Quantile[Any]], title: str = "") -> Table:
    """Return a row per quantile, for people and programs."""
    numbers = any(not isinstance(one.value, str) for one in quantiles)
    columns = [
        Column("name", "figure"),
        Column("value", "answer", "exact" if numbers else "text"),
        Column("reach", "from – to"),
        *(Column(key) for key in ("probability", "low", "high", "level")),
    ]
    rows = [
        {
            "name": one.name,
            "value": one.value,
            "reach": " – ".join(dict.fromkeys(map(answer_text, (one.low, one.high)))),
            "probability": one.probability,
            "low": one.low,
            "high": one.high,
            "level": one.level,
        }
        for one in quantiles
    ]
    return Table(columns, rows, title=title)


def curve_rows(distribution: Distribution) -> list[Json]:
    """Return a row for each share of the curve, with that part of the band."""
    curve = distribution.curve
    columns = (curve.estimate, curve.rising, curve.low, curve.high)
    return [
        {"category": name, "estimate": value, "rising": rising, "low": low, "high": high}
        for name, value, rising, low, high in zip(
            curve.categories, *(column.tolist() for column in columns), strict=True
        )
    ]


presents(Quantile, sentence=quantile_sentence, cautions=quantile_cautions)
presents(Test, text=test_text)
presents(Estimate, sentence=estimate_sentence, cautions=estimate_cautions)
presents(
    Verdict,
    sentence=verdict_sentence,
    note=verdict_note,
    document=verdict_document,
)
