"""Compositions too large to be exact: they dominate the exact ones, and hardly overstate."""

from fractions import Fraction

import pytest

from deniable.accounting import PrivacyLoss, privacy_loss


def losses(reports: int) -> list[PrivacyLoss]:
    return [
        PrivacyLoss.of_design(10, 1, 1, Fraction(11, 10), reports),
        PrivacyLoss.of_design(13, 4, 3, Fraction(3), reports),
        PrivacyLoss.of_design(2, 1, 1, Fraction(10) ** 400, reports),
        PrivacyLoss.of_design(2, 1, 1, 1 + Fraction(1, 2**70), reports),
        PrivacyLoss.of_guarantee(Fraction(3, 2), "0.001", reports),
        PrivacyLoss.of_guarantee(Fraction(1), "0.25", reports),
    ]


@pytest.mark.parametrize("reports", [1, 7, 30])
def test_a_rounded_composition_dominates_the_exact_one_by_next_to_nothing(
    reports: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = losses(reports)
    monkeypatch.setattr(privacy_loss, "_EXACT_BITS", 0)
    for loss, rounded in zip(exact, losses(reports), strict=True):
        for at in (Fraction(n, 4) for n in range(40)):
            above = rounded.delta_at_odds(at) - loss.delta_at_odds(at)
            assert 0 <= above < Fraction(1, 2**64)
        # No responses have more mass than 1 under either answer.
        assert sum(p for p, _ in rounded.atoms) <= rounded.grid
        assert sum(q for _, q in rounded.atoms) <= rounded.grid
        assert rounded.epsilon_at("0.001") >= loss.epsilon_at("0.001")


def test_odds_that_a_float_cannot_tell_from_1_compose_soundly() -> None:
    total = PrivacyLoss.of_design(2, 1, 1, 1 + Fraction(1, 2**70), 1000)
    odds = total.odds_at("0")
    assert odds is not None
    assert 1 + Fraction(1000, 2**70) < odds < 1 + Fraction(1001, 2**70)
