"""Audit: the paper's theorems as exact functions, and privacy decided without rounding.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter. Only
the comparison of all rows of a matrix imports numpy.
"""

from deniable.accounting import epsilon_each as epsilon_each
from deniable.audit.solution_matrix import InvalidMatrix as InvalidMatrix
from deniable.audit.solution_matrix import MatrixTooLarge as MatrixTooLarge
from deniable.audit.solution_matrix import NotOnGrid as NotOnGrid
from deniable.audit.solution_matrix import SolutionMatrix as SolutionMatrix
from deniable.audit.theorems import Lie as Lie
from deniable.audit.theorems import TheoremDoesNotApply as TheoremDoesNotApply
from deniable.audit.theorems import delta_of_design as delta_of_design
from deniable.audit.theorems import delta_of_exponent as delta_of_exponent
from deniable.audit.theorems import delta_of_lie as delta_of_lie
from deniable.audit.theorems import epsilon_above as epsilon_above
from deniable.audit.theorems import error_of_exponent as error_of_exponent
from deniable.audit.theorems import error_range as error_range
from deniable.audit.theorems import exponent_of_lie as exponent_of_lie
from deniable.audit.theorems import greatest_trace as greatest_trace
from deniable.audit.theorems import largest_lie as largest_lie
from deniable.audit.theorems import least_error as least_error
from deniable.audit.theorems import least_lie as least_lie
from deniable.audit.theorems import lie_of_exponent as lie_of_exponent
from deniable.audit.theorems import odds_above as odds_above
from deniable.audit.theorems import odds_below as odds_below
from deniable.audit.theorems import odds_of_error as odds_of_error
from deniable.audit.theorems import odds_of_lie as odds_of_lie
from deniable.audit.theorems import parent_matrix as parent_matrix
from deniable.audit.theorems import pure_odds as pure_odds
from deniable.audit.theorems import pure_odds_of_design as pure_odds_of_design
from deniable.audit.tight import Finding as Finding
from deniable.audit.tight import Witness as Witness
from deniable.audit.tight import pure_level as pure_level
from deniable.audit.tight import tight_delta as tight_delta
from deniable.audit.tight import tight_delta_at_odds as tight_delta_at_odds
from deniable.audit.tight import tight_epsilon as tight_epsilon
