"""Views of the frequencies: as they are estimated, or as frequencies that can be.

The unbiased estimate may leave [0, 1]; sums and averages of it are right. The others stay in [0, 1]
and sum to 1, for which they are biased: they are for looking at, and never added up or averaged.
Which one people are shown first does not depend on what was counted, so that the choice adds no
bias: it follows from the mechanism and the number of reports (``first_view``).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import numpy as np
from scipy.special import ndtr

from deniable.estimates.decoders import Decoder, Floats, Tally, TwoValuedDecoder

_GAP: Final = 1e-4
"""By how much the logarithm of the likelihood may miss its maximum: chance moves it by 1/2."""

_MOST_STEPS: Final = 20_000


_FEW: Final = 10
"""Answers that are no list to look through."""


class View(StrEnum):
    """How frequencies are shown."""

    UNBIASED = "unbiased"
    """As they are estimated."""

    PROJECTED = "projected"
    """The frequencies nearest to the estimate, which are never further from the truth than it."""

    LIKELIHOOD = "likelihood"
    """The frequencies under which what was counted is the likeliest."""


def first_view(decoder: Decoder, tally: Tally) -> View:
    """Return the view that people are shown first: projected, where noise makes shares impossible.

    That is where one estimate or more is expected below 0, even if all answers are as frequent;
    and there are many: of few, estimates are read one by one.
    """
    # Of k answers, with the standard error s at even ones, k Phi(-1/(k s)). If answers differ, with
    # errors about as large, it is more: Phi(-f/s) is convex in f >= 0 (Jensen). The variance of
    # one report at even answers has the second moment (own + (k - 1) other)/k, or less.
    negative = 0.0
    for part in decoder.parts:
        n, k, moments = part.tally(tally).n, part.decoder.categories, part.decoder.moments
        if not n:
            return View.UNBIASED  # there is no other, of a question that no report is about
        if k <= _FEW:
            continue
        variance = (moments.own + (k - 1) * moments.other) / k - 1 / k**2
        negative += float(np.sum(np.broadcast_to(ndtr(-np.sqrt(n / variance) / k), k)))
    return View.PROJECTED if negative >= 1 else View.UNBIASED


def viewed(view: View, decoder: Decoder, tally: Tally) -> Floats:
    """Return the frequencies in a view; of several questions, each question's.

    ValueError for a question that no report is about, unless the view is the unbiased one.
    """
    if view is View.UNBIASED:
        return decoder.frequencies(tally)
    frequencies = np.empty(decoder.categories)
    for part in decoder.parts:
        own = part.tally(tally)
        if not own.n:
            raise ValueError("no report is about one of the questions yet")
        frequencies[part.categories] = _VIEWS[view](part.decoder, own)
    return frequencies


def projected(frequencies: Floats) -> Floats:
    """Return the nearest frequencies that are not negative and sum to 1, in O(k log k).

    Source: Duchi et al. 2008; docs/mathematics.md, section 19.
    """
    # (f - t)_+ for the t at which it sums to 1. With f sorted, largest first, the support is the
    # longest head of which every member is above the t of the head that ends with it.
    head = np.sort(frequencies)[::-1]
    t = (np.cumsum(head) - 1) / np.arange(1, len(head) + 1)
    return np.asarray(np.maximum(frequencies - t[np.flatnonzero(head > t)[-1]], 0.0))


def _projected(decoder: Decoder, tally: Tally) -> Floats:
    return projected(decoder.frequencies(tally))


def likeliest(decoder: Decoder, tally: Tally) -> Floats:
    """Return the frequencies f that maximise sum_y c_y ln (P^T f)_y.

    Within 0.0001 of the maximum; ValueError if that takes too many steps, as at a tiny epsilon.
    """
    if isinstance(decoder, TwoValuedDecoder):
        return _likeliest_of_counts(tally.counts.astype(np.float64), -decoder.extremes.least[0])
    seen = tally.counts > 0
    shares = tally.shares

    def gains(f: Floats) -> Floats:
        """Return the slope of the likelihood: g_x = sum_y (c_y/n) P_xy / lambda_y."""
        lam = decoder.response_shares(f)
        return decoder.means(np.where(seen, shares / np.where(seen, lam, 1.0), 0.0))

    # Expectation and maximisation: f_x g_x. With sum f_x g_x = 1 the likelihood is no further from
    # its maximum than n ln max g (Jensen). Three steps are made into a longer one (SQUAREM:
    # Varadhan and Roland 2008), which is taken as long as it stays among the frequencies.
    f = np.full(decoder.categories, 1 / decoder.categories)
    for _ in range(_MOST_STEPS):
        g = gains(f)
        if tally.n * np.log(g.max()) <= _GAP:
            return f
        first = f * g
        second = first * gains(first)
        step, bend = first - f, second - 2 * first + f
        norm = float(np.linalg.norm(bend))
        length = max(float(np.linalg.norm(step)) / norm, 1.0) if norm > 0 else 1.0
        longer = f + 2 * length * step + length**2 * bend
        f = longer / longer.sum() if longer.min() > 0 else second
    raise ValueError("the likelihood is too flat for its maximum to be found; use another view")


def _likeliest_of_counts(counts: Floats, r: float) -> Floats:
    """Return max(0, c_x/nu - r), the maximum for randomised response with r = q/kappa."""
    # On the support c_x kappa/(q + kappa f_x) is the same for all x, so f_x = c_x/nu - r, and they
    # sum to 1 if nu = C/(1 + j r), C being the sum of the j counts of the support: the longest head
    # of the sorted counts of which every member has f_x > 0.
    head = np.sort(counts)[::-1]
    nu = np.cumsum(head) / (1 + r * np.arange(1, len(head) + 1))
    return np.asarray(np.maximum(counts / nu[np.flatnonzero(head > r * nu)[-1]] - r, 0.0))


_VIEWS: Final[Mapping[View, Callable[[Decoder, Tally], Floats]]] = {
    View.PROJECTED: _projected,
    View.LIKELIHOOD: likeliest,
}
