"""Two layers: randomise an answer once and keep the response, then randomise that for each report.

The kept response protects a constant answer for any number of reports, the fresh noise hides that
it is constant. Both layers are randomised response on the same k categories.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.budget.cost import epsilon_ceiling
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    TwoRound,
    epsilon_of_odds,
    exact_epsilon,
    log_ceiling,
    odds_floor,
)

__all__ = ["TwoLayers"]

_BITS: Final = 160
_UNIT: Final = 10**12


@dataclass(frozen=True, slots=True)
class TwoLayers:
    """A kept layer and a fresh one, by the odds d/q of each.

    Attributes:
        categories: k >= 2.
        kept: E_inf > 1 of the response that is kept.
        fresh: E_2 > 1 of the noise that each report adds.

    Raises:
        ValueError: for a parameter outside its domain.

    Source: Erlingsson, Pihur and Korolova 2014 (k = 2); docs/mathematics.md, section 16.
    """

    categories: int
    kept: Fraction
    fresh: Fraction

    def __post_init__(self) -> None:
        if self.categories < 2 or self.kept <= 1 or self.fresh <= 1:
            raise ValueError("two layers have at least 2 categories, and odds above 1")

    @classmethod
    def of_levels(cls, categories: int, epsilon: Number, first_epsilon: Number) -> "TwoLayers":
        """Return the layers for a level in the long run and a level of a single report.

        Both levels are certified. Of their odds less than 2^-150 is given away.

        Args:
            categories: k >= 2.
            epsilon: of any number of reports about a constant answer.
            first_epsilon: of one report; positive, and less than ``epsilon``.

        Raises:
            TypeError: for a float or another type that does not hold the number exactly.
            InvalidPrivacyParameter: for a level outside its domain.
            ValueError: for fewer categories.
        """
        exact, first = exact_epsilon(epsilon), exact_epsilon(first_epsilon)
        if not 0 < first < exact:
            raise InvalidPrivacyParameter(
                "one report's epsilon must be positive and less than that of all reports together"
            )
        return cls.of_odds(categories, odds_floor(exact, _BITS), odds_floor(first, _BITS))

    @classmethod
    def of_odds(cls, categories: int, odds: Fraction, first_odds: Fraction) -> "TwoLayers":
        """Return the layers for given odds in the long run and of a single report, exactly.

        Raises:
            ValueError: unless 1 < first_odds < odds, or for fewer than 2 categories.
        """
        if not 1 < first_odds < odds:
            raise ValueError("one report's odds must be above 1 and below those of all reports")
        # kappas multiply: kappa(E_1) = kappa(E_inf) kappa(E_2), solved for E_2. The form with
        # k - 2 = 0 stands in the literature for every k; for k > 2 it adds too much noise.
        k = categories
        fresh = (first_odds * (odds + k - 2) - (k - 1)) / (odds - first_odds)
        return cls(categories, odds, fresh)

    @classmethod
    def of_mechanism(cls, mechanism: TwoRound) -> "TwoLayers":
        """Return the layers that a mechanism's integers make."""
        kept, fresh = mechanism.kept, mechanism.fresh
        return cls(mechanism.categories, kept.truth / kept.lie, fresh.truth / fresh.lie)

    @property
    def contraction(self) -> Fraction:
        """Return kappa = kappa_inf kappa_2; a report is randomised response with it."""
        return _contraction(self.categories, self.kept) * _contraction(self.categories, self.fresh)

    def constant_odds(self, reports: int) -> Fraction:
        """Return e^eps_T of so many reports about an answer that never changes, exactly.

        It tends to the odds of the kept layer; for one report it is the level of a report.

        Raises:
            ValueError: for less than one report.
        """
        # The most telling reports all name x. Under x: the kept response is x (d_inf) and every
        # report true to it (d_2^T), or it is one of m = k-1 others and every report lies. Under x':
        # kept x by a lie, x' by the truth, or one of k-2 others. Over q_inf q_2^T this is
        #   (E_inf E_2^T + k - 1) / (E_2^T + E_inf + k - 2).
        k, growth = self.categories, self.fresh ** _count(reports)
        return (self.kept * growth + k - 1) / (growth + self.kept + k - 2)

    def constant_epsilon(self, reports: int) -> Decimal:
        """Return eps_T = ln of :meth:`constant_odds`, rounded up to 12 decimal places.

        Raises:
            ValueError: for less than one report.
        """
        return epsilon_of_odds(self.constant_odds(reports))

    def changing_epsilon(self, reports: int) -> Decimal:
        """Return T ln E_2, rounded up: the level of so many reports, however the answer changed.

        Between two histories that differ at one time only, that of one report holds.

        Raises:
            ValueError: for less than one report.
        """
        # Given the kept responses, two histories give each report with odds of at most E_2, and so
        # do mixtures over the kept ones. These add nothing: which reports share a kept response
        # depends on the history. The ceiling of T 10^12 ln E_2 is that of ln E_2 in units of
        # 1/(T 10^12).
        return epsilon_ceiling(Fraction(log_ceiling(self.fresh, _UNIT * _count(reports)), _UNIT))


def _contraction(categories: int, odds: Fraction) -> Fraction:
    # d = E q and d + (k-1) q = 1.
    return (odds - 1) / (odds + categories - 1)


def _count(reports: int) -> int:
    if reports < 1:
        raise ValueError("there must be at least one report")
    return reports
