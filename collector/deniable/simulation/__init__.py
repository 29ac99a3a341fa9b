"""Simulation: randomising whole populations at once, for planning, teaching and tests."""

from deniable.simulation.bulk import randomise_many
from deniable.simulation.words import CipherWords, SimulatedWords, Words

__all__ = ["CipherWords", "SimulatedWords", "Words", "randomise_many"]
