"""What a two-valued solution matrix guarantees: its tight (epsilon, delta)."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.mechanisms.exact import Number, exact_delta, exact_epsilon
from deniable.mechanisms.exponential import exp_enclosure, log_ceiling

__all__ = ["Privacy"]

_PLACES = 12


@dataclass(frozen=True, slots=True)
class Privacy:
    """The tight guarantee of a matrix with ``truth`` on and ``lie`` off the diagonal.

    Attributes:
        truth: probability of the true category, d.
        lie: probability of each other category, q, with 0 < q <= d.

    Source: Holohan, Leith and Mason, Theorem 8; docs/mathematics.md, section 1.
    """

    truth: Fraction
    lie: Fraction

    @property
    def odds(self) -> Fraction:
        """Return e^eps' of the pure guarantee: no response shifts any odds by more than this."""
        # d/q = (1 - mq)/q, which at q = (1-delta)/(E+m) is (E + m*delta)/(1-delta).
        return self.truth / self.lie

    @property
    def epsilon(self) -> Decimal:
        """Return the pure level eps' = ln(odds), rounded up to 12 decimal places."""
        return self.epsilon_at(0)

    def epsilon_at(self, delta: Number) -> Decimal:
        """Return the smallest epsilon that holds with this delta, rounded up to 12 places."""
        # d <= E q + delta  <=>  E >= (d - delta)/q; and E is never below 1.
        odds = max(Fraction(1), (self.truth - exact_delta(delta)) / self.lie)
        # Put together from digits: arithmetic would round by the app's decimal context, even down.
        digits = tuple(map(int, str(log_ceiling(odds, 10**_PLACES))))
        return Decimal((0, digits, -_PLACES))

    def delta_at(self, epsilon: Number) -> Fraction:
        """Return the smallest delta that holds with this epsilon, at most 2^-128 too large."""
        # Two rows differ in two columns only: (d - Eq)_+ + (q - Ed)_+; the second is 0 as E >= 1.
        # A lower bound of E makes delta larger, never smaller.
        low, _ = exp_enclosure(exact_epsilon(epsilon), 128)
        return max(Fraction(0), self.truth - Fraction(low, 1 << 128) * self.lie)

    def satisfies(self, epsilon: Number, delta: Number) -> bool:
        """Tell whether the matrix is (epsilon, delta)-private, certified in integers."""
        return self.delta_at(epsilon) <= exact_delta(delta)
