"""Groups: what a mechanism that protects one row guarantees for several rows at once.

Several rows are one person's answers to several questions, or several people whose answers depend
on one another.
"""

from fractions import Fraction

from deniable.budget.composition import Guarantee
from deniable.budget.cost import epsilon_ceiling
from deniable.budget.privacy_loss import PrivacyLoss, total_epsilon
from deniable.mechanisms import Number, exact_delta, odds_ceiling

__all__ = ["group_delta", "group_guarantee", "group_loss"]


def group_loss(loss: PrivacyLoss, rows: int) -> PrivacyLoss:
    """Return the exact loss of a group of rows that are randomised one by one.

    The responses to all g rows are g independent responses, so it is the g-fold composition; it is
    never worse than :func:`group_guarantee`, which holds for any mechanism.

    Args:
        loss: that of one row's response.
        rows: size of the group, at least 1.

    Raises:
        ValueError: for an empty group.

    Source: Holohan, Leith and Mason, Theorem 6, for one row; docs/mathematics.md, section 12.
    """
    return loss.repeat(_size(rows))


def group_delta(odds: Fraction, delta: Number, rows: int) -> Fraction:
    """Return the delta of a group at the odds E^g, exactly: delta (E^g - 1)/(E - 1), at most 1.

    Args:
        odds: E = e^epsilon >= 1 of one row.
        delta: of one row.
        rows: size g of the group, at least 1.

    Raises:
        TypeError: if delta is a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for a delta outside its domain.
        ValueError: for an empty group, or odds below 1.
    """
    if odds < 1:
        raise ValueError("odds must be at least 1")
    slack = exact_delta(delta)
    # Change one row after the other: P_0(S) <= E P_1(S) + delta <= E (E P_2(S) + delta) + delta
    # <= … <= E^g P_g(S) + delta (1 + E + … + E^(g-1)).
    total = Fraction(0)
    for _ in range(_size(rows)):
        total = odds * total + slack
        if total >= 1:
            return Fraction(1)
    return total


def group_guarantee(epsilon: Number, delta: Number, rows: int) -> Guarantee:
    """Return the guarantee of any (epsilon, delta)-private mechanism for a group of rows.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for an epsilon or delta outside its domain.
        ValueError: for an empty group.
    """
    level = total_epsilon(epsilon)
    slack = group_delta(odds_ceiling(level), delta, rows)
    return Guarantee(epsilon_ceiling(rows * level), slack)


def _size(rows: int) -> int:
    if rows < 1:
        raise ValueError("a group has at least one row")
    return rows
