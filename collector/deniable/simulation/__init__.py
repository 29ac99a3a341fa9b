"""Simulation: whole simulated populations at once, for planning, teaching and tests."""

from deniable.simulation.bulk import (
    CipherWords,
    SimulatedReports,
    SimulatedWords,
    Words,
    randomise_many,
)
from deniable.simulation.coverage import Coverage, RunFigures, figures, true_figures
from deniable.simulation.truth import UnknownTruth, read_truth

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
