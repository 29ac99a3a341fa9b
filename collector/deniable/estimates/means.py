"""Estimates from counts: sums, means, single questions' shares; and means of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from deniable.estimates.decoders import Counts, Decoder, Floats, Model, decoder_of
from deniable.estimates.estimate import Estimate, estimate_of, query_of
from deniable.estimates.forms import Form, Sample, Unit, decided_by_fakes
from deniable.estimates.frequencies import errors_of, intervals_of
from deniable.estimates.influences import influences
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest


def combined(estimates: Sequence[Estimate], *, disjoint: bool = False) -> Estimate:
    """Return the unbiased mean of estimates of one number, weighted by their precision.

    They come from groups of devices that are samples of the same population, at any epsilons. The
    weights are inverse variances according to mechanisms and numbers of reports, if all answers are
    equally frequent: estimated ones depend on the counts, and would bias the mean. Epochs and
    surveys of one name may have the same devices, for which the error allows, unless they are
    ``disjoint``.

    Raises:
        ValueError: if there are no estimates, or they come from the same reports, have no reports,
            or estimate different numbers.
    """
    forms = [estimate.linear for estimate in estimates]
    if not forms:
        raise ValueError("there is nothing to combine")
    if len({id(sample) for form in forms for sample in form.terms}) < len(forms):
        raise ValueError("estimates must be independent, that is, from different epochs or surveys")
    numbers = {
        (estimate.unit, estimate.unit is Unit.SHARE and estimate.label) for estimate in estimates
    }
    if len(numbers) > 1:
        labels = ", ".join(dict.fromkeys(estimate.label for estimate in estimates))
        raise ValueError(f"only estimates of the same quantity can be combined, not of {labels}")
    variances = [form.expected_variance for form in forms]
    if not all(variance > 0 for variance in variances):
        raise ValueError("an estimate without a variance cannot be weighted")
    total = sum(1 / variance for variance in variances)
    mean = Form({}, forms[0].model)
    for form, variance in zip(forms, variances, strict=True):
        mean = mean.plus(form, 1 / (variance * total))
    first = estimates[0]
    level = min(estimate.level for estimate in estimates)
    return estimate_of(replace(mean, disjoint=disjoint), level, first.label, first.unit)


def mean_of(
    sample: Sample, values: Sequence[Fraction], level: float = 0.95, model: Model = Model.SAMPLED
) -> Estimate:
    """Estimate the mean of a sample's numeric categories."""
    if len(values) != sample.mechanism.categories:
        raise ValueError(f"{sample.mechanism.categories} weights are expected, one per category")
    # Relative to the first value, as floats resolve steps better near 0.
    above = values_of(sample.decoder, values, values[0])
    form = Form({sample: above}, model, float(values[0]))
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


def margins(
    manifest: Manifest, counts: Counts, level: float = 0.95, model: Model = Model.SAMPLED
) -> tuple[Margin, ...]:
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
            errors_of(decoder, tally, model),
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
                query_of(
                    sample, holding(manifest, at, j), level, model, label=text, unit=Unit.SHARE
                )
                for j, text in enumerate(answers)
            ]
        result.append(Margin(name, n, tuple(answers), tuple(shares)))
    return tuple(result)


def holding(manifest: Manifest, question: int, answer: int) -> Floats:
    """Return 1 for each combination with this answer, and 0 for the others."""
    table = np.zeros(sizes_of(manifest.dimensions))
    table[(slice(None),) * question + (answer,)] = 1
    return table.reshape(-1)
