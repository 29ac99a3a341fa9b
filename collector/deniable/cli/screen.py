"""The terminal: one console, on which texts from manifests are shown literally."""

import os
import sys

from rich.console import Console

__all__ = ["console"]

_WIDTH_OF_A_PIPE = 100


def console(*, error: bool = False) -> Console:
    """Return a console without markup, emoji codes and highlighting."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_A_PIPE
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width)
