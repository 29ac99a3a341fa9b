"""Estimates from counts: means, and the shares of single questions' answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.estimates.decoders import Counts, Decoder, Floats, decoder_of
from deniable.estimates.estimate import Estimate, estimate_of, query_of
from deniable.estimates.forms import Form, Sample, Unit, decided_by_fakes
from deniable.estimates.frequencies import errors_of, intervals_of
from deniable.estimates.influences import influences
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest


def mean_of(sample: Sample, values: Sequence[Fraction], level: float = 0.95) -> Estimate:
    """Estimate the mean of a sample's numeric categories."""
    if len(values) != sample.mechanism.categories:
        raise ValueError(f"{sample.mechanism.categories} weights are expected, one per category")
    # Relative to the first value, as floats resolve steps better near 0.
    above = values_of(sample.decoder, values, values[0])
    form = Form({sample: above}, float(values[0]))
    return estimate_of(form, level, "mean", Unit.NUMBER)


def values_of(decoder: Decoder, values: Sequence[Fraction], zero: Fraction) -> Floats:
    """Return how far the values of a decoder's categories, in equal steps, are above zero."""
    if decoder.tells_shares:
        return np.array([float(value - zero) for value in values])
    return np.linspace(float(values[0] - zero), float(values[-1] - zero), decoder.categories)


def share_of_row(
    figures: tuple[float, float, float, float, bool, float],
    level: float,
    label: str = "",
    samples: tuple[Sample, ...] = (),
    *,
    at_once: bool = False,
) -> Estimate:
    """Return a category's share from its row of a histogram, without a linear form.

    The figures are estimate, standard error, both ends of its interval, whether that was outside
    the possible range, and influence.
    """
    value, error, low, high, outside, influence = figures
    decided = decided_by_fakes(influence)
    return Estimate(
        *(value, error, low, high, level, bool(outside), influence, decided),
        *(label, Unit.SHARE, samples),
        at_once=at_once,
    )


@dataclass(frozen=True, slots=True)
class Margin:
    """One question of several: its answers' shares, from the n reports about it.

    If devices answer all questions at once, the shares are sums of categories; otherwise they are
    categories.
    """

    question: str
    n: int
    answers: tuple[str, ...]
    shares: tuple[Estimate, ...]


def margins(manifest: Manifest, counts: Counts, level: float = 0.95) -> tuple[Margin, ...]:
    """Return the shares of each question's answers; none for a survey with one question.

    If devices answer one question, they come from the reports about it, with their own intervals.
    If devices answer all at once, they are sums of kernels, with exact variances and normal
    intervals.
    """
    mechanism = manifest.mechanism
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    if len(decoder.parts) > 1:
        intervals = intervals_of(decoder, tally, level)
        columns = (
            decoder.frequencies(tally),
            errors_of(decoder, tally),
            intervals.low,
            intervals.high,
            intervals.outside,
            influences(mechanism),
        )
    result = []
    for at, (name, *answers) in enumerate(manifest.dimensions):
        if len(decoder.parts) > 1:
            part = decoder.parts[at]
            n = part.tally(tally).n
            shares = [
                share_of_row(figures, level)
                for figures in zip(
                    *(column[part.categories].tolist() for column in columns), strict=True
                )
            ]
        else:
            n = tally.n
            sample = Sample(mechanism, tally)
            shares = [
                query_of(sample, holding(manifest, at, j), level, label=text, unit=Unit.SHARE)
                for j, text in enumerate(answers)
            ]
        result.append(Margin(name, n, tuple(answers), tuple(shares)))
    return tuple(result)


def holding(manifest: Manifest, question: int, answer: int) -> Floats:
    """Return 1 for each combination with this answer, and 0 for the others."""
    table = np.zeros(sizes_of(manifest.dimensions))
    table[(slice(None),) * question + (answer,)] = 1
    return table.reshape(-1)
