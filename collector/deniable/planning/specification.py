"""The mechanism of a survey: the mechanism that its operator names, or the best."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import takewhile
from math import ceil, exp, expm1, log, log1p
from typing import Any, Final, NamedTuple

from deniable.estimates.accuracy import checked_largest_share
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
)
from deniable.mechanisms.answering import Answering, Dimensions, combinations_of, sizes_of
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.levels import Widths
from deniable.mechanisms.two_round import MAX_POINTS, SINGLE
from deniable.messages import FRESH, RANDOMISED_RESPONSE, InvalidManifest, Repeat, Specification
from deniable.messages.schedule import MAX_MEMOISED_CATEGORIES
from deniable.planning.calibration import calibrated
from deniable.planning.candidates import (
    DESIGNS,
    PLAIN,
    Candidate,
    candidates,
    candidates_of_blocks,
    lower_bound,
)
from deniable.planning.choice import best

# A second round: one report of two rounds is again a design mechanism on the same blocks, so it
# costs as much as the design, whatever is kept. Larger blocks need a fresh round that reveals more
# about the kept response: reports that share one reveal more together, and a changed answer shows
# more.


_NEAR: Final = 1.02
"""Of designs that need at most 2 % more users than the best, the least revealing one."""

_FLOATS: Final = 700.0
"""Above this, e^x is not a float."""


def best_fresh(
    categories: int,
    epsilon: Number,
    kept: Number,
    reports: int,
    largest_share: float | None = None,
) -> Answering:
    """Return the design for a second round that needs the fewest users.

    It considers designs whose second round alone does not exceed the kept epsilon, so that a
    changed answer reveals no more in a report than the kept response would. It also considers sets
    of one category, which exist for any level. Among those within 2 % of the least variance, by the
    criterion of :func:`deniable.planning.best`, it chooses the one with the lowest charge for so
    many reports. This is the best of a search over all designs here, without proof.

    Raises InvalidPrivacyParameter if the levels are invalid, or the kept one is not the greater.
    """
    one, most = float(exact_epsilon(epsilon)), float(exact_epsilon(kept))
    if not 0 < one < most:
        raise InvalidPrivacyParameter("epsilon must be positive and below kept")
    pure, all_kept = expm1(one), expm1(most)

    # z = E_2 - 1 is (E_1 - 1)/(q b + kappa - E_1 q b), kappa = q (E_inf - 1); with q = 1/(E_inf - 1
    # + v) it is at most E_inf - 1 if and only if b is at most this.
    def largest(points: int) -> float:
        return all_kept / pure - (all_kept + points) / all_kept if points <= MAX_POINTS else 0.0

    largest_share = checked_largest_share(largest_share, categories)
    terms = one, 0.0, largest_share
    fitting = list(
        candidates_of_blocks(categories, one, 0.0, MAX_RESPONSES, largest, largest_share)
    )
    limit = _NEAR * min(candidate.cost(*terms) for candidate in fitting)

    def near(candidate: Candidate) -> bool:
        fits = candidate.kind == PLAIN or candidate.block <= largest(candidate.points)
        return fits and candidate.cost(*terms) <= limit

    chosen = min(
        (
            other
            for candidate in fitting
            for step in (-1, 1)
            for other in takewhile(near, _resized(candidate, step))
        ),
        key=lambda candidate: (
            round(_charge(candidate, pure, all_kept, reports), 9),
            candidate.responses,
        ),
    )
    return SINGLE if chosen.kind == PLAIN else chosen.answering


def _resized(candidate: Candidate, step: int) -> Iterator[Candidate]:
    """Yield a design, and those with smaller or larger blocks, in order of rising cost."""
    yield candidate
    for size in candidate.sizes(MAX_RESPONSES)[::step]:
        if (size - candidate.size) * step > 0:
            with suppress(ValueError):  # some sizes have too many sets
                yield candidate.of_size(size)


def _charge(candidate: Candidate, pure: float, kept: float, reports: int) -> float:
    """Return about the charge per report for this many: the greatest level of t, divided by t."""
    charge = 0.0
    for t in range(1, reports + 1):
        if log1p(kept) <= charge * t:  # at most the cost of the kept response is divided by t
            break
        charge = max(charge, _level(candidate, pure, kept, t) / t)
    return charge


def _level(candidate: Candidate, pure: float, kept: float, reports: int) -> float:
    """Return about the epsilon of this many reports of a constant answer."""
    points, block = candidate.points, candidate.block
    growth = reports * log1p(pure * (kept + points) / (kept - pure * block))
    if growth > _FLOATS:
        return log1p(kept)
    # As in TwoRound.constant_odds, with equal shares of the others' blocks.
    others = (points - 2) * exp(growth * (block - 1) / max(1, points - 2))
    total = exp(growth) + 1 + others
    return log(total + kept * exp(growth)) - log(total + kept)


# Trees: all whose nodes have up to 16 below them are compared, by the exact variance of a share of
# all answers up to one, averaged over these, if answers are equally frequent.


_MOST_BELOW: Final = 16
_MOST_LEVELS: Final = 12
_LEAST_EPSILON: Final = 0.01
"""Below this, trees are the same."""

_MANY: Final = 128
"""With more answers, a level's mechanism is the one with the fewest responses within 5 % of the
best; otherwise within 2 %. Each figure reads the responses of all levels, once for each answer."""


def best_tree(
    categories: int, epsilon: float, delta: float = 0.0, most_responses: int = MAX_RESPONSES
) -> dict[str, Any]:
    """Return the settings of the best tree with at most this many responses in all.

    Raises:
        ValueError: if epsilon and delta are both 0, or there are too few categories.
    """
    if categories < 2 or not epsilon + delta > 0:
        raise ValueError("there are no answers to distinguish, or epsilon and delta are 0")
    chosen = _widths(categories, epsilon)
    while True:
        parts = _parts(categories, chosen, epsilon, delta, most_responses)
        if sum(part.responses for part in parts) <= most_responses or len(chosen) == 1:
            return {"widths": chosen, "mechanisms": tuple(part.answering for part in parts)}
        chosen = chosen[1:]


def _parts(
    categories: int, widths: Widths, epsilon: float, delta: float, most_responses: int
) -> tuple[Candidate, ...]:
    within = 1.05 if categories > _MANY else 1.02
    return tuple(
        _answered(ceil(categories / width), epsilon, delta, most_responses, within)
        for width in widths
    )


def _answered(
    nodes: int, epsilon: float, delta: float, most_responses: int, within: float
) -> Candidate:
    """Return the mechanism with the fewest responses within a factor of the least cost."""
    those = candidates(nodes, epsilon, delta, most_responses)
    costs = {one: one.cost(epsilon, delta) for one in those}
    least = min(costs.values())
    near = (one for one, cost in costs.items() if cost <= within * least)
    return min(near, key=lambda one: one.responses)


def _node_variance(nodes: int, cost: float) -> float:
    """Return v, n times the variance of a node's share, for equally frequent nodes."""
    # All shares together have the cost, plus 1 - 1/nodes since devices are sampled; they sum to 1.
    return (cost + 1 - 1 / nodes) / (nodes - 1)


class _Below(NamedTuple):
    """The part of a network (``decoders/levels.py``) below a node that contains the end of a range.

    Answers up to the end have the potential 1, the others 0.

    Attributes:
        conductor: c, from above.
        energy: that of the heat inside, if the node is left alone, averaged over the ends.
        mean, square: of its potential.
    """

    conductor: float
    energy: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    def joined(self, count: int) -> "_Below":
        """Return this many nodes side by side, one of which contains the end of the range."""
        # l of them are before the end, l uniform on 0 … B - 1, and one has the potential p: the
        # heat is c (l + p^2 - (l + p)^2/B).
        ones, squares = (count - 1) / 2, (count - 1) * (2 * count - 1) / 6
        total = squares + 2 * ones * self.mean + self.square
        return _Below(
            self.conductor * count,
            self.energy + self.conductor * (ones + self.square - total / count),
            (ones + self.mean) / count,
            total / count**2,
        )

    def under(self, variance: float) -> "_Below":
        """Return the part with the branch up to the parent node."""
        conductor = variance * self.conductor / (variance + self.conductor)
        return self._replace(conductor=conductor)


def _widths(categories: int, epsilon: float) -> tuple[int, ...]:
    """Return the best widths, with the best possible mechanism at each level.

    Of partial trees with the same width and number of levels, the better is kept: the one with less
    heat, and half of its conductor, which determines the heat still to come.
    """

    @cache
    def variance(width: int) -> float:
        nodes = ceil(categories / width)
        return _node_variance(nodes, lower_bound(nodes, max(epsilon, _LEAST_EPSILON)))

    partial: dict[tuple[int, ...], _Below] = {(1,): _Below(variance(1))}
    best: dict[tuple[int, ...], float] = {(1,): partial[(1,)].joined(categories).energy}
    for count in range(2, _MOST_LEVELS + 1):
        kept: dict[int, tuple[float, tuple[int, ...], _Below]] = {}
        for widths, below in partial.items():
            for fan in range(2, _MOST_BELOW + 1):
                if (width := widths[0] * fan) >= categories:
                    break
                joined = below.joined(fan).under(variance(width))
                entry = joined.energy + joined.conductor / 2, (width, *widths), joined
                kept[width] = min(kept.get(width, entry), entry)
        partial = {widths: below for _, widths, below in kept.values()}
        for widths, below in partial.items():
            best[widths] = count * below.joined(ceil(categories / widths[0])).energy
    return min(best, key=best.__getitem__)


AUTO: Final = "auto"
LEVELS: Final = "levels"
TWO_ROUND: Final = "two-round"
MEANING: Final = (
    "the default: the most accurate of randomised response and the designs; with kept, this is "
    "for the second round"
)

_KEPT: Final = (
    "there must be few different kept responses, or equal ones would link a device's epochs"
)


def specified(
    mechanism: str,
    categories: int,
    epsilon: str,
    delta: str = "0",
    settings: Mapping[str, object] | None = None,
    repeat: Repeat = FRESH,
    questions: int = 1,
    largest_share: float | None = None,
) -> Specification:
    """Return a kind of mechanism with parameters calibrated from settings, or the best one.

    For ``auto``, the best of all is chosen. For a design or levels without settings, and for a
    second round that settings do not name, the best of its kind is chosen: for shares up to the
    largest, as in :func:`deniable.planning.best`. This many questions share the possible responses.

    Raises:
        InvalidManifest: naming the field at fault.
    """
    if mechanism == TWO_ROUND and repeat.epochs and settings and "fresh" not in settings:
        try:
            kept = str(settings.get("kept"))
            fresh = best_fresh(categories, epsilon, kept, repeat.epochs, largest_share)
        except ValueError:
            fresh = SINGLE  # the manifest reports the error
        settings = {**settings, "fresh": fresh}
    elif mechanism == LEVELS and not (settings and "mechanisms" in settings):
        settings = _best_levels(categories, epsilon, delta, repeat, settings or {})
    elif mechanism == AUTO or (mechanism in DESIGNS and not settings):
        try:
            candidate = best(
                categories,
                epsilon,
                delta=delta,
                kind=None if mechanism == AUTO else mechanism,
                most_responses=most_responses(repeat) // questions,
                largest_share=largest_share,
            ).candidate
        except InvalidManifest as error:
            why = "" if repeat == FRESH else f"; {_KEPT}"
            raise InvalidManifest(error.field, error.reason + why) from error
        except ValueError:
            # No survey has these categories, epsilon or delta; the manifest reports the error.
            return RANDOMISED_RESPONSE
        mechanism, settings = candidate.kind, candidate.parameters
    return calibrated(mechanism, categories, epsilon, settings, repeat)


def _best_levels(
    categories: int, epsilon: str, delta: str, repeat: Repeat, settings: Mapping[str, object]
) -> dict[str, Any]:
    """Return the settings of the best tree, or of given widths; the manifest checks them."""
    try:
        level, slack = float(exact_epsilon(epsilon)), float(exact_delta(delta))
        most = most_responses(repeat)
        if "widths" not in settings:
            return best_tree(categories, level, slack, most)
        widths: Any = settings["widths"]
        calibrated(LEVELS, categories, epsilon, settings)
        parts = _parts(categories, widths, level, slack, most)
        return {**settings, "mechanisms": tuple(part.answering for part in parts)}
    except ValueError:
        return {"widths": (1,), **settings}


def answered_best(
    kind: str,
    dimensions: Dimensions,
    epsilon: str,
    delta: str = "0",
    repeat: Repeat = FRESH,
    largest_share: float | None = None,
) -> dict[str, Any]:
    """Return the settings of a kind with several questions.

    The mechanism with the fewest users answers each question, or all combinations at once.
    Combinations are added up to the shares of each question, so by default all count together.
    """
    if kind == "joint" and largest_share is None:
        largest_share = 0.0

    def chosen(categories: int, questions: int = 1) -> Answering:
        one = specified(AUTO, categories, epsilon, delta, None, repeat, questions, largest_share)
        return (one.kind, *one.parameters.values())

    if kind == "joint":
        return {"dimensions": dimensions, "mechanism": chosen(combinations_of(dimensions))}
    sizes = sizes_of(dimensions)
    by_size = {size: chosen(size, len(sizes)) for size in set(sizes)}
    return {"dimensions": dimensions, "mechanisms": tuple(by_size[size] for size in sizes)}


def most_responses(repeat: Repeat) -> int:
    """Return the limit on a design's responses: kept ones link epochs, unless they are few."""
    return MAX_RESPONSES if repeat == FRESH else MAX_MEMOISED_CATEGORIES
