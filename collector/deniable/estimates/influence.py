"""Influence: what a single false report can do to an estimate."""

from deniable.estimates.inverse import tables
from deniable.mechanisms import Mechanism, TwoValuedMechanism

__all__ = ["influence"]


def influence(mechanism: Mechanism) -> float:
    """Return how far n times an estimated frequency moves at most if one report is false.

    Source: docs/mathematics.md, section 6.
    """
    # n f_j is the sum over the reports y of G_jy. One that says z instead of y moves it by
    # G_jz - G_jy. For randomised response G_jj = (1 - q)/kappa, and -q/kappa elsewhere.
    if isinstance(mechanism, TwoValuedMechanism):
        return float(1 / mechanism.contraction)
    inverse = tables(mechanism).inverse
    return float((inverse.max(axis=1) - inverse.min(axis=1)).max())
