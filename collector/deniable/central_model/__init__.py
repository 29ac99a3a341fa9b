"""Central-model mechanisms: released by a trusted curator, and audited like any other matrix.

A parameter is a decimal string, Decimal, Fraction or int. A float raises TypeError, what is outside
its domain InvalidPrivacyParameter. Draws of words from elsewhere than the system are for tests.
"""

from deniable.central_model.laplace import DiscreteLaplace, LaplaceRelease, Neighbours, Query
from deniable.central_model.selection import (
    MAX_OUTCOMES,
    ExponentialMechanism,
    Movement,
    UnboundedSelection,
    exact_choice,
)

__all__ = [
    "MAX_OUTCOMES",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "LaplaceRelease",
    "Movement",
    "Neighbours",
    "Query",
    "UnboundedSelection",
    "exact_choice",
]
