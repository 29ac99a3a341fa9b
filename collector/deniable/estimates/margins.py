"""Shares of single questions, and of one question's answers among those who answered another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.estimates.binomial import normal_quantile
from deniable.estimates.decoders import Counts, Floats, Model, decoder_of
from deniable.estimates.frequencies import frequency_intervals
from deniable.estimates.queries import Estimate, linear_query, query_values, within
from deniable.mechanisms.dimensions import sizes_of
from deniable.messages import Manifest


@dataclass(frozen=True, slots=True)
class Margin:
    """One question of several: its answers' shares, from the n reports that tell of it."""

    question: str
    n: int
    answers: tuple[str, ...]
    shares: tuple[Estimate, ...]


def margin(
    manifest: Manifest,
    counts: Counts,
    question: str,
    level: float = 0.95,
    model: Model = Model.SAMPLED,
) -> Margin:
    """Return the shares of a question's answers; ValueError if none has this name.

    Where devices answer one question, from the reports about it, by their own intervals. Where they
    answer all at once, by sums of kernels: with exact variances, and normal intervals.
    """
    return _margins(manifest, [_place(manifest, question)], counts, level, model)[0]


def margins(
    manifest: Manifest, counts: Counts, level: float = 0.95, model: Model = Model.SAMPLED
) -> tuple[Margin, ...]:
    """Return the margins of all questions; none of a survey of one."""
    return _margins(manifest, range(len(manifest.dimensions)), counts, level, model)


def _margins(
    manifest: Manifest, questions: Sequence[int], counts: Counts, level: float, model: Model
) -> tuple[Margin, ...]:
    mechanism = manifest.mechanism
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts)
    if len(decoder.parts) > 1:
        intervals = frequency_intervals(mechanism, tally, level)
        columns = (
            decoder.frequencies(tally),
            decoder.standard_errors(tally, model),
            intervals.low,
            intervals.high,
            intervals.outside,
        )
    found = []
    for at in questions:
        name, *answers = manifest.dimensions[at]
        if len(decoder.parts) > 1:
            part = decoder.parts[at]
            n = part.tally(tally).n
            shares = [
                Estimate(value, error, low, high, level, bool(outside))
                for value, error, low, high, outside in zip(
                    *(column[part.categories].tolist() for column in columns), strict=True
                )
            ]
        else:
            n = tally.n
            shares = [
                linear_query(mechanism, tally, _holding(manifest, at, j).tolist(), level, model)
                for j in range(len(answers))
            ]
        found.append(Margin(name, n, tuple(answers), tuple(shares)))
    return tuple(found)


def conditional(
    manifest: Manifest,
    counts: Counts,
    answer: tuple[str, str],
    given: tuple[str, str],
    level: float = 0.95,
) -> Estimate:
    """Return the share of an answer among those who gave another: pairs of question and answer.

    Only of surveys that ask all questions at once (ValueError). It is the ratio of two shares, a/b,
    whose interval is Fieller's: all r for which a - r b is not too far from 0. The standard error
    is the linear one, that of a - (a/b) b by b. Of few reports b may be as good as 0: then the
    interval is [0, 1], and the value may be anything.

    Source: Fieller 1954; docs/mathematics.md, section 18.
    """
    decoder = decoder_of(manifest.mechanism)
    if len(decoder.parts) > 1:
        raise ValueError("where each device answers one question, nothing tells of two together")
    if answer[0] == given[0]:
        raise ValueError("the two answers must be to different questions")
    tally = decoder.tally(counts)
    below = _holding(manifest, *_answer(manifest, given))
    above = below * _holding(manifest, *_answer(manifest, answer))
    (a, b), errors = query_values(decoder, tally, np.stack([above, below]), Model.SAMPLED)
    # The sum's error gives the covariance.
    _, together = query_values(decoder, tally, above + below, Model.SAMPLED)
    va, vb = errors**2
    vab = (float(together) ** 2 - va - vb) / 2
    ratio = float(a / b) if b else math.nan
    spread = math.sqrt(max(va - 2 * ratio * vab + ratio**2 * vb, 0.0)) / abs(b) if b else math.nan
    z2 = normal_quantile(level) ** 2
    # (a - r b)^2 <= z^2 (va - 2 r vab + r^2 vb), a quadratic in r; if b is within its own interval
    # of 0, it holds beyond its roots.
    first, second, third = b * b - z2 * vb, a * b - z2 * vab, a * a - z2 * va
    inside = second * second - first * third
    if not first > 0 or not inside >= 0:
        return Estimate(ratio, spread, 0.0, 1.0, level)
    half = math.sqrt(inside)
    ends = Estimate(
        ratio, spread, float((second - half) / first), float((second + half) / first), level
    )
    return within(ends, 0.0, 1.0)


def _place(manifest: Manifest, question: str) -> int:
    names = [name for name, *_ in manifest.dimensions]
    if question not in names:
        raise ValueError(f"{manifest.name} has no question {question!r}")
    return names.index(question)


def _answer(manifest: Manifest, named: tuple[str, str]) -> tuple[int, int]:
    """Return the numbers of a question and of an answer to it."""
    at = _place(manifest, named[0])
    _, *answers = manifest.dimensions[at]
    if named[1] not in answers:
        raise ValueError(f"{named[0]!r} has no answer {named[1]!r}")
    return at, answers.index(named[1])


def _holding(manifest: Manifest, question: int, answer: int) -> Floats:
    """Return 1 for each combination with this answer, and 0 for the others."""
    table = np.zeros(sizes_of(manifest.dimensions))
    table[(slice(None),) * question + (answer,)] = 1
    return table.reshape(-1)
