"""The document of composition: the epsilon of several reports together, by each theorem."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

from deniable.accounting import (
    Guarantee,
    PrivacyLoss,
    advanced_composition,
    basic_composition,
    epsilon_each,
    kairouz_oh_viswanath_composition,
    optimal_composition,
)
from deniable.choosing.candidates import PLAIN, Candidate
from deniable.choosing.choice import best, composed
from deniable.documents import Column, Document, Table, upper_text
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse, exact_number

_MOST_EPSILON: Final = 2_000
_UNIT: Final = 10**18
_DIGITS: Final = 7

_Composition = Callable[[Fraction], Guarantee]
"""The guarantee of all reports by the epsilon of one."""

_Way = tuple[str, _Composition, Callable[[Fraction], str]]
"""A name, a composition, and for what it holds, likewise; for nothing if it is empty."""


def composition_document(
    epsilon: str | None,
    total: str | None,
    delta: str,
    times: int,
    slack: str,
    categories: int,
    lifetime: int,
) -> Document:
    """Return the document of the sum of reports of this epsilon, or of one's part of a total.

    A device's lifetime budget is told beside.
    """
    extra = exact_number("slack", slack)
    if extra >= 1:
        raise InvalidPrivacyParameter("slack must be in [0, 1)")
    mechanism = RandomisedResponse(categories, 1 if epsilon is None else epsilon, delta)
    level = mechanism.epsilon
    in_all = level * times if total is None else exact_number("total", total)
    if in_all > _MOST_EPSILON:
        raise InvalidPrivacyParameter(
            f"{times:,} reports of epsilon {epsilon or total} hide nothing; the sum is to be at "
            f"most {_MOST_EPSILON:,}"
        )
    rows, guess = [], Fraction(in_all, times)
    for name, compose, holds_for in _compositions(mechanism.delta, times, extra, categories):
        if total is not None:
            epsilon_text = f"{epsilon_each(total, _epsilon_of(compose), guess=guess)}"
            level = Fraction(epsilon_text)
            if holds_for is _any:  # no other way of adding up is much worse
                guess = level
        if not (held := holds_for(level)):
            continue
        guarantee = compose(level)
        if total is None:
            epsilon_text = upper_text(guarantee.epsilon, _DIGITS)
        bound = upper_text(guarantee.delta, _DIGITS)
        rows.append({"name": name, "epsilon": epsilon_text, "delta": bound, "holds_for": held})
    question, counts, column = (
        (f"epsilon {epsilon}", "smallest", "epsilon")
        if total is None
        else (f"epsilon {total} in all", "largest", "epsilon each")
    )
    columns = (
        Column("name", "composition"),
        Column("epsilon", column, "number"),
        Column("delta", "delta", "number"),
        Column("holds_for", "holds for"),
    )
    note = (
        "Every line is a theorem; of those that hold for your mechanism, use the one with the "
        f"{counts} epsilon. Any event is at most e^epsilon times as likely as with other answers, "
        "plus delta. Delta is no chance of staying within epsilon. Devices themselves count by the "
        "first line, the plain sum, and stop at their app's "
        f"lifetime_epsilon, {lifetime} unless it sets another."
    )
    slacks = f", delta {delta}" * (delta != "0") + f", each randomised afresh; slack {slack}:"
    return Document(
        tables=[Table(columns, rows, "compositions")],
        notes=[note],
        heading=f"{times:,} reports of {question}{slacks}",
        values={"times": times, "total": total},
    )


def _epsilon_of(compose: _Composition) -> Callable[[Fraction], Decimal]:
    return lambda level: compose(level).epsilon


def _any(_level: Fraction) -> str:
    return "any mechanism of this epsilon and delta"


def _compositions(delta: Fraction, times: int, extra: Fraction, categories: int) -> Iterator[_Way]:
    """Yield all ways of adding up."""

    def basic(level: Fraction) -> Guarantee:
        return basic_composition([(level, delta)] * times)

    yield "basic", basic, _any
    if extra:
        yield "advanced", lambda level: advanced_composition(level, delta, times, extra), _any
        closed = kairouz_oh_viswanath_composition
        yield "Kairouz et al.", lambda level: closed(level, delta, times, extra), _any
    # One slack for all that follows, rounded up to a plain decimal.
    together = Fraction(ceil((1 - (1 - delta) ** times * (1 - extra)) * _UNIT), _UNIT)
    if together >= 1:
        raise InvalidPrivacyParameter(
            f"{times:,} reports of this delta and slack hide nothing; lower one of them"
        )

    def optimal(level: Fraction, loss: PrivacyLoss | None = None) -> Guarantee:
        epsilon = (loss or optimal_composition(level, delta, times)).epsilon_at(together)
        # Rounded up, the optimum can exceed the plain sum by a digit in the twelfth place.
        return Guarantee(epsilon if delta else min(epsilon, basic(level).epsilon), together)

    def exact(level: Fraction) -> Guarantee:
        odds = RandomisedResponse(categories, level, delta).privacy.odds
        return optimal(level, PrivacyLoss.of_randomised_response(categories, odds).repeat(times))

    def auto(level: Fraction) -> Guarantee:
        epsilon = composed(chosen(level), level, times, delta, together)
        return Guarantee(epsilon if delta else min(epsilon, basic(level).epsilon), together)

    def chosen(level: Fraction) -> Candidate:
        return best(categories, level, delta=delta).candidate

    def design(level: Fraction) -> str:
        candidate = chosen(level)
        return "" if candidate.kind == PLAIN else str(candidate)

    yield "optimal", optimal, _any
    yield "exact", exact, lambda _: f"randomised response, {categories:,} categories"
    yield "exact, auto", auto, design
