"""Selections given as text: which survey of a name, and which of its epochs."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from deniable.messages import Manifest
from deniable.reading.source import AmbiguousSurvey, ListedEpoch, NoSuchSurvey, TooFewReports

ID_PREFIX: Final = "[0-9a-f]{4,64}"
"""What the beginning of a survey's id matches."""
VIEWS: Final = ("unbiased", "projected", "likelihood")
"""How a histogram can be looked at: by the names of ``deniable.estimates.View``."""
LINE_EPOCHS: Final = 12
"""Newest epochs that one figure of a survey in a list of all is shown of."""

MOST_ROWS: Final = 50
"""Of more answers the largest are shown to people, by default so many."""

PREVIOUS: Final = "previous"
"""In a comparison, instead of epochs: the newest one with figures before those compared."""
OLDER: Final = "older"
"""In a comparison, instead of a survey: the one of its name before it."""
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


def asked_alike(manifest: Manifest, named: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """Return the surveys whose figures mean what those of a survey do, which is one of them.

    Question, answers, the numbers that these are, and their order are the same. Their epsilons,
    mechanisms and epochs may differ.
    """

    def meaning(survey: Manifest) -> tuple[object, ...]:
        return survey.question, survey.categories, survey.dimensions, survey.values, survey.ordered

    return tuple(survey for survey in named if meaning(survey) == meaning(manifest))


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


def named_epochs(text: str, manifest: Manifest) -> range:
    """Return the epochs of a survey that a text names; ValueError for others than it has."""
    try:
        return epoch_range(text, manifest.schedule.epochs)
    except ValueError as error:
        raise ValueError(f"an epoch of {manifest.name} {error}") from error


def appear_text(manifest: Manifest) -> str:
    """Return the condition for figures of an epoch, in words."""
    least = max(1, manifest.minimum_reports)
    return f"appear once an epoch has {least:,} report{'s' * (least > 1)}"


def find_against(
    text: str, manifest: Manifest, named: Callable[[str], Sequence[Manifest]]
) -> tuple[Manifest, str | None]:
    """Return the survey and the epochs that a survey is compared with; None: the newest closed.

    Args:
        text: "previous", epochs of the survey itself, such as "0-3"; or another survey, perhaps
            with epochs: "older", a name, or how the id of another survey of its name begins, as in
            "older:0-3".
        manifest: the survey.
        named: all surveys of a name, the newest first.

    Raises:
        NoSuchSurvey: if there is none.
        AmbiguousSurvey: if several ids begin so.
    """
    if text == PREVIOUS or re.fullmatch(EPOCHS, text, re.ASCII) is not None:
        return manifest, text
    survey, _, epochs = text.partition(":")
    own = named(manifest.name)
    if survey == OLDER:
        older = own[own.index(manifest) + 1 :]
        if not older:
            raise NoSuchSurvey(f"survey {manifest.name!r} has no older version")
        return older[0], epochs or None
    others = named(survey)
    if not others and re.fullmatch(ID_PREFIX, survey, re.ASCII) is not None:
        return find_version(manifest.name, own, survey), epochs or None
    return find_version(survey, others), epochs or None


def newest_closed_of(epochs: Sequence[ListedEpoch], *, with_before: bool = False) -> int | None:
    """Return the newest closed epoch with figures; where none is closed, the newest with figures.

    None if there are no figures. Of epochs in their order, ``with_before`` leaves out the first, if
    there are more: nothing is before it.
    """
    known = [epoch for epoch in epochs if epoch.n]
    if with_before:
        known = known[1:] or known
    closed = [epoch for epoch in known if epoch.state.closed]
    return max((epoch.number for epoch in closed or known), default=None)


def epoch_before(epochs: Sequence[ListedEpoch], first: int, manifest: Manifest) -> int:
    """Return the newest epoch with figures before one, and before responses that are kept in it.

    Raises:
        TooFewReports: if there is none.
    """
    first = (manifest.repeat.memo_range(first) or range(first, first + 1)).start
    before = [epoch.number for epoch in epochs if epoch.n and epoch.number < first]
    if not before:
        raise TooFewReports(
            f"no figures before epoch {first} to compare it with: two closed epochs are needed"
        )
    return max(before)
