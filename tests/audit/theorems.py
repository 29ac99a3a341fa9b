"""The paper's theorems as exact functions of privacy, the exponent, the lie and the error.

Everything is rational in four numbers, so everything here is exact:

- ``odds``: E = e^epsilon, at least 1, with ``delta`` in [0, 1);
- ``exponent_odds``: T = e^theta, at least 1, of the exponential mechanism with utility -theta h;
- ``lie``: q, the probability of each particular lie of the parent mechanism (the paper's p);
- error: the probability that one row's response is wrong. For n rows, n times as many errors are
  expected.

k = m + 1 >= 2 is the number of categories. No theorem depends on the number of rows (Theorem 6).
Epsilon itself is irrational in them; it is converted by :func:`odds_below`, :func:`odds_above` and
:func:`epsilon_above`, which are certified.

Source: Holohan, Leith and Mason (2016); docs/mathematics.md, sections 13 and 15.
"""

from fractions import Fraction

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
    exact_number,
    log_ceiling,
    odds_ceiling,
    odds_floor,
)

_STEPS = 10**12


class TheoremDoesNotApply(ValueError):
    """A hypothesis of the theorem is not met, so it says nothing about these numbers."""


def odds_above(epsilon: Number) -> Fraction:
    """Return e^epsilon, too large by less than 2^-126 of it, exact at 0; for a *statement*."""
    return odds_ceiling(exact_epsilon(epsilon))


def odds_below(epsilon: Number) -> Fraction:
    """Return e^epsilon, too small by less than 2^-126 of it, exact at 0; for a *requirement*."""
    return odds_floor(exact_epsilon(epsilon))


def epsilon_above(odds: Number) -> Fraction:
    """Return ln(odds), rounded up to 12 decimal places."""
    return Fraction(log_ceiling(_odds("odds", odds), _STEPS), _STEPS)


def pure_odds(categories: int, odds: Number, delta: Number) -> Fraction:
    """Return (E + m delta)/(1 - delta): the pure equivalent of (epsilon, delta).

    It is the greatest e^theta at which the exponential mechanism is (epsilon, delta)-private, and
    the e^epsilon' of the optimal mechanism's actual pure guarantee. Theorem 4.
    """
    # d/q = (1 - mq)/q at q = (1 - delta)/(E + m).
    m, slack = _others(categories), exact_delta(delta)
    return (_odds("odds", odds) + m * slack) / (1 - slack)


def pure_odds_of_design(
    responses: int, supporting: int, separating: int, odds: Number, delta: Number
) -> Fraction:
    """Return ((r - t) E + delta (K - r))/((r - t) - delta r): Theorem 4, for block designs.

    Of K responses r support an answer, r - t of these not another given one: a design is (epsilon,
    delta)-private if and only if the former are sent at these odds at most. TheoremDoesNotApply if
    delta allows any odds. docs/mathematics.md, section 17.
    """
    _check_design(responses, supporting, separating)
    exact, slack = _odds("odds", odds), exact_delta(delta)
    if slack * supporting >= separating:
        raise TheoremDoesNotApply("delta is so large that it allows any response; lower it")
    rest = responses - supporting
    return (separating * exact + slack * rest) / (separating - slack * supporting)


def delta_of_design(
    responses: int, supporting: int, separating: int, design_odds: Number, odds: Number
) -> Fraction:
    """Return the smallest delta, at these odds, of a design with the odds ``design_odds``."""
    _check_design(responses, supporting, separating)
    t, e = _odds("design_odds", design_odds), _odds("odds", odds)
    # (r - t)(T - E) of the weights rT + K - r.
    total = supporting * t + responses - supporting
    return max(Fraction(0), separating * (t - e) / total)


def delta_of_exponent(categories: int, exponent_odds: Number, odds: Number) -> Fraction:
    """Return the smallest delta of the exponential mechanism at these odds (Theorem 4)."""
    m = _others(categories)
    t, e = _odds("exponent_odds", exponent_odds), _odds("odds", odds)
    # t <= (E + m delta)/(1 - delta), solved for delta.
    return max(Fraction(0), (t - e) / (t + m))


def error_of_exponent(categories: int, exponent_odds: Number) -> Fraction:
    """Return the exponential mechanism's error, 1/(1 + e^theta/m) per row (Theorems 5 and 9)."""
    m = _others(categories)
    return m / (_odds("exponent_odds", exponent_odds) + m)


def error_range(categories: int, odds: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest error of an (epsilon, delta)-private exponent theta >= 0.

    The least is attained at :func:`pure_odds`, the greatest at theta = 0, where every response is
    equally likely. Theorems 5 and 9.
    """
    m = _others(categories)
    return least_error(categories, odds, delta), Fraction(m, m + 1)


def lie_of_exponent(categories: int, exponent_odds: Number) -> Fraction:
    """Return the q whose product mechanism is the exponential one: 1/(e^theta + m) (Theorem 7)."""
    # One row keeps weight 1 of 1 + m e^-theta, and each other category has weight e^-theta.
    return 1 / (_odds("exponent_odds", exponent_odds) + _others(categories))


def exponent_of_lie(categories: int, lie: Number) -> Fraction:
    """Return the e^theta whose exponential mechanism is the product mechanism: 1/q - m (Theorem 7).

    TheoremDoesNotApply unless 0 < q <= 1/(m + 1).
    """
    m = _others(categories)
    q = _lie(lie, m)
    if not 0 < q * (m + 1) <= 1:
        raise TheoremDoesNotApply(
            "Theorem 7 needs 0 < lie <= 1/categories: otherwise no theta >= 0 gives this mechanism"
        )
    return 1 / q - m


def least_lie(categories: int, odds: Number, delta: Number) -> Fraction:
    """Return the smallest private q, (1 - delta)/(E + m): the optimal parent mechanism's.

    Every q from here to 1/(m + 1) is private, and none below. Theorems 8 and 10.
    """
    # d = 1 - mq <= Eq + delta, solved for q.
    return (1 - exact_delta(delta)) / (_odds("odds", odds) + _others(categories))


def delta_of_lie(categories: int, lie: Number, odds: Number) -> Fraction:
    """Return the smallest delta of the parent and its products at these odds.

    Theorem 8, for q <= 1/(m + 1); above, up to 1/m, truth and lie are exchanged.
    """
    m = _others(categories)
    q, e = _lie(lie, m), _odds("odds", odds)
    d = 1 - m * q
    # Two rows differ in two columns: (d - Eq)_+ + (q - Ed)_+, of which at most one is positive.
    return max(Fraction(0), d - e * q, q - e * d)


def odds_of_lie(categories: int, lie: Number, delta: Number) -> Fraction:
    """Return the smallest odds of the parent and its products at this delta.

    TheoremDoesNotApply if no finite epsilon holds: without lies, or without truth.
    """
    m = _others(categories)
    q, slack = _lie(lie, m), exact_delta(delta)
    more, less = max(1 - m * q, q), min(1 - m * q, q)
    # more <= E less + delta, solved for E; E is never below 1.
    if more <= less + slack:
        return Fraction(1)
    if less == 0:
        raise TheoremDoesNotApply("no finite epsilon holds: some response is impossible; raise lie")
    return (more - slack) / less


def least_error(categories: int, odds: Number, delta: Number) -> Fraction:
    """Return m (1 - delta)/(E + m): no (epsilon, delta)-private mechanism has less error per row.

    It bounds the largest error over the databases, and also the average with all databases equally
    likely, for *every* mechanism D^n -> D^n, not only for products. For the largest error only the
    parent with :func:`least_lie` attains it. Theorem 10, here for all mechanisms.
    """
    return _others(categories) * least_lie(categories, odds, delta)


def greatest_trace(categories: int, odds: Number, delta: Number) -> Fraction:
    """Return k (E + m delta)/(E + m): the largest sum of the truths over all categories."""
    # P_ii <= E P_ji + delta. Sum over j != i: m P_ii <= E (sum_j P_ji - P_ii) + m delta.
    # Sum over i, with sum_ij P_ij = k:        (m + E) trace <= k (E + m delta).
    m = _others(categories)
    e = _odds("odds", odds)
    return categories * (e + m * exact_delta(delta)) / (e + m)


def odds_of_error(categories: int, error: Number, delta: Number) -> Fraction:
    """Return the smallest odds at which a mechanism has at most this error (above 0) per row."""
    m = _others(categories)
    most = exact_number("error", error)
    if not 0 <= most <= 1:
        raise InvalidPrivacyParameter("error must be in [0, 1]")
    if most == 0:
        raise TheoremDoesNotApply("no finite epsilon holds without any error; allow some")
    # m (1 - delta)/(E + m) <= error, solved for E; E is never below 1.
    return max(Fraction(1), m * (1 - exact_delta(delta)) / most - m)


def parent_matrix(categories: int, lie: Number) -> tuple[tuple[Fraction, ...], ...]:
    """Return the parent mechanism's matrix (19): 1 - m q on the diagonal, q elsewhere."""
    m = _others(categories)
    q, all_ = _lie(lie, m), range(categories)
    return tuple(tuple(1 - m * q if x == y else q for y in all_) for x in all_)


def _others(categories: int) -> int:
    if type(categories) is not int:
        raise TypeError("categories must be an int")
    if categories < 2:
        raise ValueError("at least 2 categories are needed")
    return categories - 1


def _odds(name: str, value: Number) -> Fraction:
    odds = exact_number(name, value)
    if odds < 1:
        raise InvalidPrivacyParameter(f"{name} must be at least 1: neither exponent is negative")
    return odds


def _check_design(responses: int, supporting: int, separating: int) -> None:
    if not 1 <= separating <= supporting < responses:
        raise ValueError("1 <= separating <= supporting < responses must hold")


def _lie(value: Number, m: int) -> Fraction:
    q = exact_number("lie", value)
    if not 0 <= q * m <= 1:
        raise InvalidPrivacyParameter(f"lie must be in [0, 1/{m}], or truth would be negative")
    return q
