"""Planning: how many reports an accuracy takes."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from deniable.estimates.intervals import normal_quantile
from deniable.estimates.inverse import tables
from deniable.estimates.queries import kernels, second_moments
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = ["reports_for_half_width", "reports_for_mean"]


def reports_for_half_width(
    mechanism: Mechanism,
    half_width: float,
    frequency: float | None = None,
    level: float = 0.95,
) -> int:
    """Return about how many reports give intervals of this half width, for every category.

    Args:
        mechanism: what the devices will sample from.
        half_width: of a frequency's interval, such as 0.05 for ± 5 percentage points.
        frequency: the true frequency expected; None for the worst case.
        level: confidence level in (0, 1).

    Source: docs/mathematics.md, section 5.
    """
    # half width = z sqrt(V/n), solved for n, where V = n Var f_j in the sampled model.
    variance = _worst_variance(mechanism, frequency)
    return math.ceil(variance * (normal_quantile(level) / half_width) ** 2)


def reports_for_mean(
    mechanism: Mechanism, values: Sequence[Fraction], half_width: float, level: float = 0.95
) -> int:
    """Return how many reports give the mean an interval of this half width, whatever the answers.

    Args:
        mechanism: what the devices will sample from.
        values: the numbers that its categories are.
        half_width: of the mean's interval, in units of the values.
        level: confidence level in (0, 1).

    Source: docs/mathematics.md, section 10.
    """
    # n Var = sum_x f_x h_x - (w.f)^2 with h_x = sum_y P_xy g_y^2, at most the largest h_x. Values
    # are counted from the middle of the range, where that bound is nearest.
    middle = (values[0] + values[-1]) / 2
    g = kernels(mechanism, np.array([float(value - middle) for value in values]))
    variance = float(second_moments(mechanism, g).max())
    return math.ceil(variance * (normal_quantile(level) / half_width) ** 2)


def _worst_variance(mechanism: Mechanism, frequency: float | None) -> float:
    """Return the largest V that any category has in any population."""
    if isinstance(mechanism, TwoValuedMechanism):
        # V = lam (1 - lam) / kappa^2. The worst lam in [q, q + kappa] is the one nearest 1/2.
        q, kappa = float(mechanism.lie), float(mechanism.contraction)
        lam = q + kappa * frequency if frequency is not None else min(max(0.5, q), q + kappa)
        return lam * (1 - lam) / kappa**2
    # With h_jx = sum_y P_xy G_jy^2, V_j = sum_x f_x h_jx - f_j^2 is linear in the frequencies of
    # the others: at f_j = t the worst population puts the rest on the x != j with the largest h_jx,
    #   V_j = t h_jj + (1 - t) H_j - t^2,   H_j = max_(x != j) h_jx,
    # which is concave in t, with its top where h_jj - H_j = 2t.
    moments = tables(mechanism).moments
    own, other = moments.own, moments.other
    t = np.clip((own - other) / 2, 0, 1) if frequency is None else np.float64(frequency)
    return float((t * own + (1 - t) * other - t**2).max())
