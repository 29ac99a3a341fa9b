"""How much of a large survey a page shows; the rest is found by name, or downloaded."""

from typing import Final

MOST_COMPARED: Final = 20
MOST_PANELS: Final = 12
MOST_OFFERED: Final = 120
"""Answers to be added up."""
