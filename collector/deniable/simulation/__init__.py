"""Simulation: whole simulated populations at once, for planning, teaching and tests."""

from deniable.simulation.bulk import CipherWords as CipherWords
from deniable.simulation.bulk import SimulatedReports as SimulatedReports
from deniable.simulation.bulk import SimulatedWords as SimulatedWords
from deniable.simulation.bulk import Words as Words
from deniable.simulation.bulk import randomise_many as randomise_many
from deniable.simulation.truth import UnknownTruth as UnknownTruth
from deniable.simulation.truth import read_truth as read_truth
