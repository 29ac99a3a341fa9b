"""Shares of single questions, and of one question's answers among those who answered another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.estimates.decoders import Counts, Floats, Model, decoder_of
from deniable.estimates.estimate import Estimate, query_of, share_within
from deniable.estimates.forms import Form, Sample, Unit
from deniable.estimates.frequencies import frequency_intervals, standard_errors
from deniable.estimates.influence import influences
from deniable.estimates.means import share_of_row
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest


@dataclass(frozen=True, slots=True)
class Margin:
    """One question of several: its answers' shares, from the n reports that tell of it.

    Where devices answer all questions at once they are sums of categories; else categories.
    """

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
            standard_errors(mechanism, tally, model),
            intervals.low,
            intervals.high,
            intervals.outside,
            influences(mechanism),
        )
    result = []
    for at in questions:
        name, *answers = manifest.dimensions[at]
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


def conditional(
    manifest: Manifest,
    counts: Counts,
    answer: tuple[str, str],
    given: tuple[str, str],
    level: float = 0.95,
) -> Estimate:
    """Return the share of an answer among those who gave another: pairs of question and answer.

    Only of surveys that ask all questions at once (ValueError). It is the ratio of two shares.
    """
    decoder = decoder_of(manifest.mechanism)
    if len(decoder.parts) > 1:
        raise ValueError("where each device answers one question, nothing tells of two together")
    if answer[0] == given[0]:
        raise ValueError("the two answers must be to different questions")
    sample = Sample(manifest.mechanism, decoder.tally(counts))
    below = holding(manifest, *_answer(manifest, given))
    above = below * holding(manifest, *_answer(manifest, answer))
    return share_within(Form({sample: above}), Form({sample: below}), level, answer[1], given[1])


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


def holding(manifest: Manifest, question: int, answer: int) -> Floats:
    """Return 1 for each combination with this answer, and 0 for the others."""
    table = np.zeros(sizes_of(manifest.dimensions))
    table[(slice(None),) * question + (answer,)] = 1
    return table.reshape(-1)
