"""Central-model mechanisms: released by a trusted curator, and audited like any other matrix.

A parameter is a decimal string, Decimal, Fraction or int. A float raises TypeError, what is outside
its domain InvalidPrivacyParameter. Draws of words from elsewhere than the system are for tests.
"""

from deniable.central_model.laplace import DiscreteLaplace as DiscreteLaplace
from deniable.central_model.laplace import LaplaceRelease as LaplaceRelease
from deniable.central_model.laplace import Neighbours as Neighbours
from deniable.central_model.laplace import Query as Query
from deniable.central_model.selection import MAX_OUTCOMES as MAX_OUTCOMES
from deniable.central_model.selection import ExponentialMechanism as ExponentialMechanism
from deniable.central_model.selection import Movement as Movement
from deniable.central_model.selection import UnboundedSelection as UnboundedSelection
from deniable.central_model.selection import exact_choice as exact_choice
