"""Planning: how many reports an accuracy takes."""

import math

from scipy import special

from deniable.mechanisms import RandomisedResponse

__all__ = ["reports_for_half_width"]


def reports_for_half_width(
    mechanism: RandomisedResponse,
    half_width: float,
    frequency: float | None = None,
    level: float = 0.95,
) -> int:
    """Return about how many reports give intervals of this half width.

    Args:
        mechanism: what the devices will sample from.
        half_width: of a frequency's interval, such as 0.05 for ± 5 percentage points.
        frequency: the true frequency expected; None for the worst case.
        level: confidence level in (0, 1).

    Source: docs/mathematics.md, section 5.
    """
    q, kappa = float(mechanism.lie), float(mechanism.contraction)
    # half width = z sqrt(lam (1 - lam)/n) / kappa, solved for n. The worst lam in [q, q + kappa] is
    # the one nearest 1/2.
    lam = q + kappa * frequency if frequency is not None else min(max(0.5, q), q + kappa)
    z = -float(special.ndtri((1 - level) / 2))  # (1 + level)/2 may round to 1
    return math.ceil(z**2 * lam * (1 - lam) / (kappa * half_width) ** 2)
