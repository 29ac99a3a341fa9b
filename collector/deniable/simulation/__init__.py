"""Simulation: whole simulated populations at once, for planning, teaching and tests."""

from deniable.simulation.bulk import SimulatedReports as SimulatedReports
from deniable.simulation.truth import UnknownTruth as UnknownTruth
from deniable.simulation.truth import read_truth as read_truth
