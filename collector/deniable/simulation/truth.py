"""A simulated truth: the share of each answer, as people write it."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.documents import read_number

Floats = NDArray[np.float64]

SHAPES: Final = ("uniform", "zipf")

_MOST: Final = 1e18
"""Numbers up to this can be added up, for any number of answers."""

_SLACK: Final = 1e-6
"""The greatest distance of the sum of rounded shares from 1."""


class UnknownTruth(ValueError):
    """The text is not a truth of this survey; the message states the valid forms."""


def read_truth(text: str, answers: Sequence[str], questions: Sequence[slice] = ()) -> Floats:
    """Return each answer's share: they sum to 1, or to 1 for each of several questions.

    Args:
        text: ``uniform``; ``zipf``, the i-th answer 1/i times as frequent as the first; the name of
            a CSV file with rows of answer and number; or a list of these, as in ``good=0.3, very
            good=20%``. Unnamed answers share the rest evenly.
            Numbers that sum to more than 1 are counts, of which unnamed answers have none, unless
            one is in percent.
        answers: the possible answers.
        questions: the answers of each question, if there are several.

    Raises:
        UnknownTruth: for anything else.
        OSError: for a file that cannot be read.
    """
    groups = questions or (slice(0, len(answers)),)
    if text in SHAPES:
        given: Mapping[str, float] = {}
        percent = False
    else:
        pairs = _pairs(text, answers)
        percent = any(written.rstrip().endswith("%") for _, written in pairs)
        given = _numbers(pairs)
        if unknown := given.keys() - set(answers):
            raise UnknownTruth(
                f"{min(unknown)!r} is not an answer; the answers are {_listed(answers)}"
            )
    truth = np.zeros(len(answers))
    for group in groups:
        named = {at: given[a] for at, a in enumerate(answers[group]) if a in given}
        size = len(answers[group])
        if percent and math.fsum(named.values()) > 1 + _SLACK:
            raise UnknownTruth("the shares sum to more than 100 %")
        truth[group] = 1 / np.arange(1, size + 1) if text == "zipf" else _shares(named, size)
        truth[group] /= truth[group].sum()
    return truth


def read_text_truth(text: str) -> dict[str, float]:
    """Return the shares of texts, as :func:`read_truth` has them but for shapes; or counts."""
    if text in SHAPES:
        raise UnknownTruth(
            "the survey lists no texts: name some in a file, or as in google=70%, bing=30%"
        )
    return _numbers(_pairs(text, ()))


def _shares(named: Mapping[int, float], size: int) -> Floats:
    total = math.fsum(named.values())
    left = 1 - total
    if left < -_SLACK:
        left = 0.0  # counts
    elif len(named) == size and left > _SLACK:
        raise UnknownTruth(
            f"the shares sum to {total:g}; they must sum to 1, unless they are counts"
        )
    shares = np.full(size, max(left, 0.0) / max(1, size - len(named)))
    for at, number in named.items():
        shares[at] = number
    return shares


def _pairs(text: str, answers: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return answers and the text for each, as they are in a file or in the text."""
    path = Path(text)
    if path.suffix.lower() == ".csv":
        try:
            pairs = _csv_pairs(path.read_text("utf-8-sig"), answers)
        except (ValueError, csv.Error) as error:
            raise UnknownTruth(f"{path} cannot be read: {error}") from error
        if not pairs:
            raise UnknownTruth(f"{path} lists no answers")
        return pairs
    if "=" in text:
        return [(name.strip(), n) for name, _, n in (e.rpartition("=") for e in text.split(","))]
    raise UnknownTruth(
        f"{text!r} is not a distribution: give {' or '.join(SHAPES)}, a .csv file, or "
        "shares such as good=0.3, bad=0.1"
    )


def _csv_pairs(text: str, answers: Sequence[str]) -> Sequence[tuple[str, str]]:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    # A heading is a first row without a number that names no answer; one that does is a mistake.
    heading = rows and _number(rows[0][-1]) is None and rows[0][0] not in answers
    body = rows[1:] if heading else rows
    if not all(len(row) == 2 for row in body):
        raise UnknownTruth("it must have two columns: the answer, and the share or count")
    return [(answer, written) for answer, written in body]


def _numbers(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, written in pairs:
        number = _number(written)
        if number is None or name in numbers:
            raise UnknownTruth(f"{name!r} must have exactly one number, which must not be negative")
        numbers[name] = number
    return numbers


def _number(written: str) -> float | None:
    """Return a number that is not negative; None for anything else."""
    text = written.strip()
    number = read_number(text.removesuffix("%").rstrip())
    if number is None or not 0 <= number <= _MOST:
        return None
    return float(number / 100 if text.endswith("%") else number)


def _listed(answers: Sequence[str]) -> str:
    firsts = ", ".join(answers[:5])
    return f"{firsts}, …" if len(answers) > 5 else firsts
