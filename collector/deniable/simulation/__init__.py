"""Simulation: whole imagined populations at once, for planning, rehearsing, teaching and tests."""

from deniable.simulation.bulk import randomise_many
from deniable.simulation.coverage import Coverage, RunFigures, figures, true_figures
from deniable.simulation.reports import SimulatedReports
from deniable.simulation.truth import UnknownTruth, read_truth
from deniable.simulation.words import CipherWords, SimulatedWords, Words

__all__ = [
    "CipherWords",
    "Coverage",
    "RunFigures",
    "SimulatedReports",
    "SimulatedWords",
    "UnknownTruth",
    "Words",
    "figures",
    "randomise_many",
    "read_truth",
    "true_figures",
]
