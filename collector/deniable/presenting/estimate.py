"""Sentences of one figure: of an estimate, and of a verdict about it."""

import math
from functools import partial
from typing import Final

from deniable.documents import Caution, Document, Fact, decimals, level_text, number_text
from deniable.estimates.estimate import Estimate, Side, Verdict
from deniable.estimates.forms import Unit
from deniable.presenting.cautions import DisplayedFigures, furthest, with_cautions
from deniable.presenting.rows import estimate_map
from deniable.reading.epochs import reporters

_ALIKE: Final = 1e-9
"""What rounding may have made of a number that is written outward."""
_WORTH: Final = 0.5
"""A share's interval or standard error over more than this of [0, 1] says too little."""
_A_YEAR: Final = 52
_OFTENER: Final = 3
"""By the exact law 2.63 times at 95 %, of 2 to 50 answers; at other levels it is less."""
AT_ONCE: Final = ", which holds for all answers at once"
"""Behind an interval that does."""


def estimate_sentence(estimate: Estimate, conclusion: str = "") -> str:
    """Return the estimate in words, with a conclusion in it, and the cautions behind it."""
    return with_cautions(estimate_statement(estimate, conclusion), estimate_cautions(estimate))


def estimate_statement(estimate: Estimate, conclusion: str = "") -> str:
    """Return the sentence without cautions, for those who have these beside it."""
    concluded = f": {conclusion}" * bool(conclusion)
    whom, label = _whom(estimate), estimate.label
    if estimate.too_small:
        return f"The reports do not tell {_untold(estimate)}{concluded}."
    show = partial(estimate_text, estimate)
    limited = estimate.unit is Unit.SHARE and (estimate.low <= 0 or estimate.high >= 1)
    bounds = ("least", "most") if limited or _impossible(estimate) else ("", "")
    low, high = map(show, (estimate.low, estimate.high), bounds)
    ends = f" from {low} up" if estimate.high == math.inf else f" {low} to {high}"
    interval = f"{level_text(estimate.level)} interval{ends}{AT_ONCE * estimate.at_once}"
    match estimate.unit:
        case Unit.SHARE if estimate.low >= 1 - _ALIKE:
            text = f"All of {whom} answered {label}"
            interval = "whatever was counted"
        case Unit.SHARE if not max(estimate.standard_error, estimate.high - estimate.low) <= _WORTH:
            known = f", {show(estimate.value)}," * (not _impossible(estimate))
            text = (
                f"The reports do not tell how many of {whom} answered {label}: the "
                f"estimate{known} may be off by more than a quarter of all"
            )
        case Unit.SHARE if limited:
            limit = f"Fewer than {high}" if estimate.low <= 0 else f"More than {low}"
            text = f"{limit} of {whom} answered {label}"
            if not _impossible(estimate):
                interval = f"an estimated {show(estimate.value)}, {interval}"
        case Unit.SHARE:
            text = f"An estimated {show(estimate.value)} of {whom} answered {label}"
        case _ if _impossible(estimate):
            points = " percentage points" * estimate.unit.of_shares
            limit = f"at most {high}" if estimate.value < estimate.low else f"at least {low}"
            text = f"{label or 'estimate'}: {limit}{points}"
        case Unit.DIFFERENCE | Unit.CHANGE:
            points = " percentage points" * estimate.unit.of_shares
            text = f"{label}: {show(estimate.value)}{points}"
            if not estimate.distinguishable:
                interval += "; not distinguishable from no difference"
        case Unit.RATIO:
            text = f"{label}: {show(estimate.value)}"
            if not estimate.distinguishable:
                same = ": the same" * (estimate.nothing == 1)
                interval += f"; not distinguishable from {estimate.nothing:g}{same}"
        case _:
            text = f"{label or 'estimate'}: {show(estimate.value)}"
    return f"{text} ({interval}){concluded}."


def _impossible(estimate: Estimate) -> bool:
    """Return whether no population has the value, which its interval then lies beside."""
    return estimate.value < estimate.low or estimate.value > estimate.high


def estimate_text(estimate: Estimate, number: float, bound: str = "") -> str:
    """Return a value or an end as it is written; the "least" rounded down, the "most" up."""
    match estimate.unit:
        case Unit.SHARE:
            return f"{_outward(100 * number, 1, bound):z.1f} %"
        case Unit.DIFFERENCE:
            return f"{_outward(100 * number, 1, bound):+z.1f}"
        case Unit.RATIO if math.isnan(number):
            return "not known"
        case Unit.RATIO:
            return f"{_outward(number, 2 - _magnitude(number), bound):.3g}"
        case Unit.NUMBER | Unit.CHANGE:
            width, sign = estimate.high - estimate.low, "+" * (estimate.unit is Unit.CHANGE)
            places = decimals(width, 0) if 0 < width < math.inf else 5 - _magnitude(number)
            return number_text(_outward(number, places, bound), width, sign)


def estimate_cautions(estimate: Estimate) -> tuple[Caution, ...]:
    """Return the cautions of its use."""
    reports = "the reports of each" if len(estimate.samples) > 1 else "the reports"
    return DisplayedFigures(
        estimate.samples,
        *furthest([estimate]),
        reports,
        outside=int(estimate.outside),
        level=estimate.level,
        disjoint=estimate.form is not None and estimate.form.disjoint,
        too_small=estimate.too_small,
    ).cautions


def _whom(estimate: Estimate) -> str:
    places = [sample.place for sample in estimate.samples]
    return reporters(places[0] if len(places) == 1 else "", estimate.group)


def _untold(estimate: Estimate) -> str:
    """Return the figure that the reports do not tell, as a part of a sentence."""
    if estimate.group:
        return f"how many of {_whom(estimate)} answered {estimate.label}"
    return f"the {'ratio' if estimate.unit is Unit.RATIO else 'difference'}, {estimate.label}"


def _magnitude(number: float) -> int:
    return max(-9, math.floor(math.log10(abs(number)))) if number and math.isfinite(number) else 0


def _outward(number: float, places: int, bound: str) -> float:
    """Return a number with so many decimals: the "least" rounded down, the "most" up."""
    if not bound or not math.isfinite(number):
        return number
    scaled = number * 10.0**places
    whole = math.floor(scaled + _ALIKE) if bound == "least" else math.ceil(scaled - _ALIKE)
    return whole / 10.0**places


def verdict_sentence(verdict: Verdict) -> str:
    """Return the figure and the side in words, as they can be published."""
    side = "it may be above or below" if verdict.side is Side.NEITHER else verdict.side
    return estimate_sentence(verdict.estimate, f"{side} {_limit(verdict)}")


def verdict_cautions(verdict: Verdict) -> tuple[Caution, ...]:
    """Return the cautions of the figure."""
    return estimate_cautions(verdict.estimate)


def verdict_note(verdict: Verdict) -> str:
    """Return how often chance alone gives the alarm, for who asks again and again."""
    chance = (1 - verdict.estimate.level) / 2
    return (
        f"Where the truth is just {_limit(verdict)}, chance alone says {verdict.beyond} in up to "
        f"about {level_text(chance)} of looks: {_A_YEAR * chance:.2g} times a year, of one a "
        f"week; and up to {_OFTENER} times as often where reports are few, or the limit is "
        "near an end of what is possible. With a higher level it does so more rarely."
    )


def _limit(verdict: Verdict) -> str:
    # Not rounded as figures are: nobody measured it.
    if not verdict.estimate.unit.of_shares:
        return f"{verdict.limit:.12g}"
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
        cautions=verdict_cautions(verdict),
        sentence=sentence,
        values=estimate_map(verdict.estimate),
    )
