"""Rehearsals: surveys that no device answers, told by their names.

A rehearsal is asked like the survey that it is of, and a program answers it with simulated reports.
The name goes with every figure, so that none can be taken for what devices said; devices refuse
such surveys, whatever their app declares.
"""

from typing import Final

_PREFIX: Final = "simulated-"


def simulated_name(name: str) -> str:
    """Return the name under which a survey is rehearsed."""
    return _PREFIX + name


def is_simulated(name: str) -> bool:
    """Tell whether a survey of this name is a rehearsal: no device answered it."""
    return name.startswith(_PREFIX)
