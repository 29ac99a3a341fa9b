"""Selections given as text: which survey of a name, and which of its epochs."""

import re
from collections.abc import Sequence
from typing import Final

from deniable.messages import Manifest
from deniable.reading.errors import AmbiguousSurvey, NoSuchSurvey

ID_PREFIX: Final = "[0-9a-f]{4,64}"
"""What the beginning of a survey's id matches."""
VIEWS: Final = ("unbiased", "projected", "likelihood")
"""How a histogram can be looked at: by the names of ``deniable.estimates.View``."""
MOST_ROWS: Final = 50
"""Of more answers the largest are shown to people, by default so many."""

EPOCHS: Final = "[0-9]{1,6}(-[0-9]{1,6})?"
"""What a question for one epoch, or for several together, matches."""


def find_version(name: str, named: Sequence[Manifest], prefix: str | None = None) -> Manifest:
    """Return the newest survey of a name, or the one whose id begins so.

    Args:
        name: as it was asked for.
        named: all surveys of that name, the newest first.
        prefix: 4 to 64 hex digits.

    Raises:
        NoSuchSurvey: if there is none.
        AmbiguousSurvey: if several ids begin so, or the prefix is too short to tell.
    """
    if prefix is None:
        matches = list(named[:1])
    elif re.fullmatch(ID_PREFIX, prefix) is None:
        raise AmbiguousSurvey("a survey's id begins with at least 4 hex digits, in lower case")
    else:
        matches = [manifest for manifest in named if manifest.survey_id.hex().startswith(prefix)]
    if not matches:
        raise NoSuchSurvey(
            f"no survey {name!r} is published; see: deniable survey list"
            if not named
            else f"no survey {name!r} has an id that begins so; see: deniable survey list"
        )
    if len(matches) > 1:
        raise AmbiguousSurvey(f"{len(matches)} ids of this name begin so; give more digits")
    return matches[0]


def epoch_range(text: str, epochs: int) -> range:
    """Return the epochs of a text such as "3" or "0-5", which are so many at most.

    Raises:
        ValueError: saying what it must be.
    """
    if re.fullmatch(EPOCHS, text, re.ASCII) is not None:
        first, _, last = text.partition("-")
        span = range(int(first), int(last or first) + 1)
        if span and span[-1] < epochs:
            return span
    raise ValueError(f"must be one of the epochs 0 to {epochs - 1}, or a range of them such as 0-5")


def appear_text(manifest: Manifest) -> str:
    """Return the condition for figures of an epoch, in words."""
    least = max(1, manifest.minimum_reports)
    return f"appear once an epoch has {least:,} report{'s' * (least > 1)}"
