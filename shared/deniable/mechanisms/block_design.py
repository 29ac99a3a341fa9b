"""Block designs: each response supports a set of categories, its block.

Of the K blocks of a 2-design, r support a given category and t support any given two. The blocks of
the answer are sent e^epsilon times as often as the others (docs/mathematics.md, section 17),

    P(x, y) = e^epsilon / Z  if y supports x,    1 / Z  if not,    Z = r e^epsilon + K - r.

Randomised response is the design of single points.

The designs here are *turned*: the categories are placed on the positions of a group, usually a
circle, of which a base block supports s. The device draws one of all blocks as the base,
independently of the answer. It also draws a position: one that the block supports with the weight
``inside``, one that it does not with the weight ``outside``. Then it turns the block until that
position is at the answer. Without these weights, a block that supports the answer and one that does
not are equally likely. So epsilon depends on two integers only. Words left over from division by s,
fewer than s of 2^64, send the base.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from fractions import Fraction
from itertools import islice
from math import ceil
from typing import ClassVar, Final

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
    exp_enclosure,
    odds_floor,
)
from deniable.mechanisms.kind import Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import Compared, Draw, Rounds, category_index, os_random_word
from deniable.mechanisms.privacy import TwoValuedPrivacy
from deniable.mechanisms.randomised_response import check_size

MAX_RESPONSES: Final = 1 << 20
"""The most blocks of a design."""

_WORD: Final = 64
_GRID: Final = 1 << _WORD
_SHOWN: Final = 5


class Design(Compared, ABC):
    """A 2-design that is turned: the categories that each response supports.

    Attributes:
        identity: the number of categories, and the parameters that identify the design.
        categories: how many of the design's points are used.
        responses: K, the number of blocks, at most 2^20.
        replication: r, the number of blocks that support a category.
        together: t, the number of blocks that support any two categories.
        positions: the number of positions on the circle.
        size: s, the number of positions that a base block supports.
        points: v; the categories are the first of them. A block has s v / positions points.
    """

    def __init__(
        self,
        identity: tuple[int, ...],
        *,
        responses: int,
        replication: int,
        together: int,
        positions: int,
        size: int,
        points: int,
    ) -> None:
        check_size(identity[0], _WORD)
        if responses > MAX_RESPONSES:
            raise ValueError(f"a design must have at most {MAX_RESPONSES:,} responses")
        self.identity, self.categories = identity, identity[0]
        self.responses, self.replication, self.together = responses, replication, together
        self.positions, self.size, self.points = positions, size, points

    @abstractmethod
    def supports(self, response: int, category: int) -> bool:
        """Return whether the response supports the category."""

    def supported(self, response: int) -> Iterable[int]:
        """Return the categories that the response supports, in order."""
        return (x for x in range(self.categories) if self.supports(response, x))

    @property
    def extent(self) -> str:
        """Return how many of the categories a response supports: "4 of 16", "about 33 of 120"."""
        mean = self.categories * self.size / self.positions
        about = "" if self.positions == self.categories else "about "
        return f"{about}{mean:{'.2g' if mean < 10 else '.0f'}} of {self.categories:,}"

    @property
    def block(self) -> int:
        """Return b, the number of points that a response supports."""
        return self.size * self.points // self.positions

    def complete(self) -> "Design":
        """Return the design of all points."""
        design = copy(self)
        design.identity, design.categories = (self.points, *self.identity[1:]), self.points
        return design

    def check_bounded(self, delta: Fraction) -> None:
        """Check that a response's odds have a limit at this delta."""
        if delta * self.replication >= self.replication - self.together:
            least = 1 - self.together / self.replication
            raise InvalidPrivacyParameter(
                f"a delta of {least:.3g} or more allows any response of this design; lower delta"
            )

    @abstractmethod
    def turned(self, base: int, position: int, category: int) -> int:
        """Return the base block with this index, turned until the position is at the category.

        Positions below s are those that the block supports.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.identity}"


class BlockMechanism(Compared, ABC):
    """Send all responses that support the answer equally often, and all others less often.

    ``supporting`` is the weight, over the grid, of a response that supports the answer; ``other``
    is that of any other response.
    """

    def __init__(self, design: Design, grid: int, *, supporting: int, other: int) -> None:
        self.design, self.grid = design, grid
        self.categories, self.responses = design.categories, design.responses
        self.supporting, self.other = supporting, other
        self.identity = design, other

    @property
    def rounds(self) -> Rounds | None:
        """Return the mechanism's two rounds, if it has two."""
        return None

    @property
    def truth(self) -> Fraction | None:
        """Return the probability of sending the answer itself if a block is one answer."""
        return None

    @property
    def privacy(self) -> TwoValuedPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return TwoValuedPrivacy(*self._probabilities, self._separating)

    @property
    def hit(self) -> Fraction:
        """Return the probability that the response supports the answer."""
        return self.design.replication * self._probabilities[0]

    @property
    def miss(self) -> Fraction:
        """Return the probability that the response supports another given category."""
        inside, outside = self._probabilities
        return self.design.together * inside + self._separating * outside

    def row(self, category: int) -> Sequence[int]:
        """Return one row's integer weights over the grid, K of them."""
        category, weights = self._index(category), (self.other, self.supporting)
        return [weights[self.design.supports(y, category)] for y in range(self.responses)]

    @abstractmethod
    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""

    @property
    def _separating(self) -> int:
        return self.design.replication - self.design.together

    @property
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of a response that supports the answer, and of another."""
        return Fraction(self.supporting, self.grid), Fraction(self.other, self.grid)

    def _index(self, value: int) -> int:
        return category_index(value, self.categories)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.design})"


class TurnedDesign(BlockMechanism):
    """A base block drawn independently of the answer, and turned towards it or away.

    Args:
        design: the design.
        outside: the weight, over 2^64, of a position that the base block does not support.

    ``inside`` is the weight of a supported position, as large as the grid allows.

    Raises GridTooCoarse if 2^64 cannot separate the weights.
    """

    def __init__(self, design: Design, outside: int) -> None:
        n, s = design.positions, design.size
        self.outside = outside
        self.inside, self._blank = divmod(_GRID - (n - s) * outside, s)
        if self.inside <= outside:
            raise GridTooCoarse("units of 2^-64 are too coarse for this design; raise epsilon")
        # A response is a turn of n base blocks, or an unturned base; each has probability 1/K.
        super().__init__(
            design,
            design.responses * _GRID,
            supporting=n * self.inside + self._blank,
            other=n * outside + self._blank,
        )

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``, using three words."""
        answer, n, s = self._index(answer), self.design.positions, self.design.size
        # Words below (n - s) outside are unsupported positions, s to n - 1. The next s inside words
        # are supported positions, 0 to s - 1. The rest are blank. All are computed and one is
        # selected: the timing of a branch would reveal what a public response hides.
        word, first = draw(), (n - s) * self.outside
        missed, supported = s + word // self.outside, (word - first) // self.inside
        base = (draw() << _WORD | draw()) * self.responses >> 2 * _WORD
        turned = self.design.turned(base, (missed, supported)[word >= first], answer)
        return (turned, base)[word >= _GRID - self._blank]


class DesignMechanism(TurnedDesign):
    """Send a block that supports the answer e^epsilon times as often as one that does not.

    Raises:
        InvalidPrivacyParameter: if epsilon and delta are both 0, or delta allows any response.
        GridTooCoarse: if 2^64 does not separate the weights.

    Source: docs/mathematics.md, section 17.
    """

    def __init__(self, design: Design, epsilon: Number, delta: Number = "0") -> None:
        level, slack = exact_epsilon(epsilon), exact_delta(delta)
        design.check_bounded(slack)
        # A base block is drawn with 128 random bits: none exceeds 1/K by a factor above 1 +
        # K/2^128. That is the same for all answers, so it affects only delta.
        slack /= 1 + Fraction(design.responses, 1 << 2 * _WORD)
        super().__init__(design, _least_outside(design, level, slack))
        # A bug above must stop here, before it affects an answer.
        guarantee = self.privacy
        allowed = odds_floor(level)
        if guarantee.odds > allowed and guarantee.delta_at_odds(allowed) > slack:
            raise AssertionError("the privacy certificate failed; please report this as a bug")


class BlockLabels(Sequence[str]):
    """The labels of a design's responses: the number and the first few categories."""

    def __init__(self, design: Design, categories: Sequence[str]) -> None:
        self._design, self._categories = design, categories

    def __len__(self) -> int:
        return self._design.responses

    def __getitem__(self, response: int) -> str:  # type: ignore[override]
        response = range(len(self))[response]
        names = [self._categories[x] for x in islice(self._design.supported(response), _SHOWN + 1)]
        listed = ", ".join(names[:_SHOWN]) + ", …" * (len(names) > _SHOWN)
        return f"set {response:,} of {len(self):,}, {self._design.extent} answers: {listed}"


class DesignKind(Kind):
    """The base class of kinds that are designs; subclasses have the parameters.

    ``form`` is the class of the design, and ``check_form`` checks the parameters, in their order.
    """

    form: ClassVar[Callable[..., Design]]
    check_form: ClassVar[Callable[..., None]]

    def check(self, parameters: Parameters) -> None:
        """Check the types and domains of the parameters."""
        with at_fault("mechanism", (ValueError, TypeError)):
            self.check_form(*(parameters[name] for name in self.fields))

    def design(self, parameters: Parameters, categories: int) -> Design:
        """Return the design for this many categories; ValueError if no design exists."""
        return self.form(categories, *(parameters[name] for name in self.fields))

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> DesignMechanism:
        """Return the design with weights as private as stated."""
        design = self._made(parameters, categories)
        with at_fault("delta"):
            design.check_bounded(exact_delta(delta))
        with at_fault("epsilon"):
            return DesignMechanism(design, epsilon, delta)

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        """Return the label of each response, created on demand."""
        return BlockLabels(self._made(parameters, len(categories)), categories)

    def _made(self, parameters: Parameters, categories: int) -> Design:
        with at_fault("categories"):
            return self.design(parameters, categories)


def _least_outside(design: Design, epsilon: Fraction, delta: Fraction) -> int:
    """Return the least private weight outside."""
    if epsilon == 0 and delta == 0:
        raise InvalidPrivacyParameter(
            "if epsilon and delta are 0, responses carry no information; raise epsilon"
        )
    r, t = design.replication, design.together

    # Two answers are distinguished by r - t blocks each, so delta = (r - t)(E' - e^epsilon)/Z at
    # the odds E' of inside to outside (Theorem 4 for designs): E' = ((r - t) e^epsilon + delta (K -
    # r)) / ((r - t) - delta r).
    def odds(pure: Fraction) -> Fraction:
        return ((r - t) * pure + delta * (design.responses - r)) / ((r - t) - delta * r)

    return least_outside(design, epsilon, odds)


def least_outside(design: Design, epsilon: Fraction, odds: Callable[[Fraction], Fraction]) -> int:
    """Return the least weight outside, over 2^64, at which a response has at most given odds.

    ``odds`` computes them from e^epsilon; they increase with it.
    """
    # s inside + (n - s) outside <= N, so outside = N/(s E' + n - s), rounded *up*, towards privacy.
    # The remainder modulo s is equally likely for all answers, and only lowers the odds.
    n, s, bits = design.positions, design.size, 192
    while True:
        ends = (odds(Fraction(end, 1 << bits)) for end in exp_enclosure(epsilon, bits))
        outside, other = (ceil(_GRID / (s * end + n - s)) for end in ends)
        if outside == other:
            return outside
        bits *= 2
