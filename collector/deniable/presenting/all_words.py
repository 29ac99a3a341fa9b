"""Words of all results of :mod:`deniable.estimates`: importing this module registers them."""

from deniable.presenting import comparison, estimate, histogram, questions, revealed, series

__all__ = ["comparison", "estimate", "histogram", "questions", "revealed", "series"]
