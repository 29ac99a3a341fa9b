"""Planning a survey: the most accurate mechanism, and the number of reports for its figures.

:func:`best` returns the most accurate mechanism for a number of categories. For one report it is
compared with the proven minimum in the worst case; for several it is found by a search.
"""

from deniable.planning.candidates import DESIGNS as DESIGNS
from deniable.planning.candidates import PLAIN as PLAIN
from deniable.planning.candidates import Candidate as Candidate
from deniable.planning.candidates import candidates as candidates
from deniable.planning.candidates import lower_bound as lower_bound
from deniable.planning.choice import Choice as Choice
from deniable.planning.choice import best as best
from deniable.planning.choice import composed as composed
from deniable.planning.plans import ChosenShare as ChosenShare
from deniable.planning.plans import Plan as Plan
from deniable.planning.plans import plan as plan
from deniable.planning.specification import best_fresh as best_fresh
