"""Audit: privacy decided without rounding.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter.
"""

from deniable.audit.solution_matrix import InvalidMatrix as InvalidMatrix
from deniable.audit.solution_matrix import SolutionMatrix as SolutionMatrix
from deniable.audit.tight import Finding as Finding
from deniable.audit.tight import Witness as Witness
from deniable.audit.tight import pure_level as pure_level
from deniable.audit.tight import tight_delta as tight_delta
from deniable.audit.tight import tight_delta_at_odds as tight_delta_at_odds
from deniable.audit.tight import tight_epsilon as tight_epsilon
