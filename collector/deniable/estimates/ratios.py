"""Ends of the quotient of two figures from their own intervals, and of a ratio.

The ends are like those of a difference (:func:`deniable.estimates.queries.difference_ends`).
"""

import math

from scipy import optimize

from deniable.estimates.forms import ALIKE, Form
from deniable.estimates.influences import ratio_shift, report_shifts
from deniable.estimates.queries import Ends, cautious_values, contrast_variance


def multiple_ends(one: Ends[float], other: Ends[float], correlation: float) -> tuple[float, float]:
    """Return the ends of all q at which one minus q times the other is compatible with 0.

    There is no upper end if the other may be 0; it may be above 0.
    """
    # With x and y the distances to the ends: (a - q b)^2 = x^2 - 2 q rho x y + q^2 y^2, which is A
    # q^2 - 2 B q + C = 0. It has a root on the side of a/b on which x and y are.
    low, a, high = one
    least, b, most = other

    def root(x: float, y: float, *, larger: bool) -> float:
        square, half, constant = b * b - y * y, a * b - correlation * x * y, a * a - x * x
        spread = math.sqrt(max(half * half - square * constant, 0.0))
        return (half + spread) / square if larger else constant / (half + spread)

    return (
        root(a - low, most - b, larger=False) if low > 0 else 0.0,
        root(high - a, b - least, larger=True) if least > 0 else math.inf,
    )


def errors_together(one: Form, other: Form) -> tuple[float, float]:
    """Return the standard error of the difference of two forms, and their correlation."""
    first, second = (form.figures()[1] for form in (one, other))
    both = one.plus(other, -1.0).figures()[1]
    if not first * second > 0:
        return both, 0.0
    # With the contribution of devices in both samples, which the difference's error includes.
    correlation = (first**2 + second**2 - both**2) / (2 * first * second)
    return both, min(max(correlation, -1.0), 1.0)


def moved_ratio(above: tuple[float, Form], below: tuple[float, Form], share: float) -> float:
    """Return the greatest error of a ratio of values if this share of each sample is fake."""
    forms = _same_samples(above[1], below[1])
    upper, lower = (
        [report_shifts(one.mechanism, w, one.decoder.frequencies(one.tally)) for one, w in terms]
        for terms in (form.terms.items() for form in forms)
    )
    counted = [one.tally.counts / one.tally.n for one in forms[0].terms]
    return ratio_shift((above[0], upper), (below[0], lower), counted, share)


def _same_samples(above: Form, below: Form) -> tuple[Form, Form]:
    """Return the two forms over the samples of either, in the same order."""
    return above.plus(below, 0.0), above.times(0.0).plus(below)


def fieller_ends(a: float, b: float, above: Form, below: Form, z: float) -> tuple[float, float]:
    """Return the ends of all r with (a - r b)^2 <= z^2 Var(a - r b)."""
    upper, lower = _same_samples(above, below)
    made = [
        contrast_variance(sample.decoder, sample.tally, weights, lower.terms[sample], z * z / 2)
        for sample, weights in upper.terms.items()
    ]
    seen = [z * z * math.fsum(terms) for terms in zip(*(one for one, _ in made), strict=True)]

    def error(r: float) -> float:
        once = sum(variance(r) for _, variance in made)
        return z * math.sqrt(once + above.plus(below, -r).recurring)

    def beyond(r: float) -> float:
        return (a - r * b) ** 2 - error(r) ** 2

    def end(direction: float) -> float:
        # With the variance of the reports alone it is the root of a quadratic; so it is with a
        # variance that is larger in between, but equal there.
        square, half = b * b - seen[2], a * b + seen[1] / 2
        spread = math.sqrt(max(half * half - square * (a * a - seen[0]), 0.0))
        if abs(beyond(root := (half + direction * spread) / square)) <= ALIKE * error(root) ** 2:
            return root
        step = direction * error(value) / abs(b)
        while step and beyond(value + step) <= 0:
            step *= 2
        # For sums of all answers, which are certain, only rounding errors remain.
        certain = not step or beyond(value) >= 0
        return value if certain else float(optimize.brentq(beyond, value, value + step))

    # The interval contains the r about a/b up to an excluded one on either side. If b is within its
    # own interval of 0, no distant r is excluded, and so nothing is; the same if a is from a single
    # report, which has no error.
    far = z * z * (sum(own**2 for own in _cautious_errors(below, z * z / 2)) + below.recurring)
    if not b * b > far or not math.isfinite(error(value := a / b)):
        return -math.inf, math.inf
    return end(-1.0), end(1.0)


def _cautious_errors(form: Form, unseen: float) -> list[float]:
    return [
        float(cautious_values(sample.decoder, sample.tally, weights, unseen)[1])
        for sample, weights in form.terms.items()
    ]


def range_of_ratio(above: Form, below: Form) -> tuple[float, float]:
    """Return the possible range of a ratio: of a part to its whole, of two shares, or of others."""
    if above.constant or below.constant:
        return -math.inf, math.inf
    weights = [w for form in (above, below) for w in form.terms.values()]
    if any((row < 0).any() for row in weights):
        return -math.inf, math.inf
    part = len(above.terms) == 1 and list(above.terms) == list(below.terms)
    return 0.0, 1.0 if part and (weights[0] <= weights[1]).all() else math.inf
