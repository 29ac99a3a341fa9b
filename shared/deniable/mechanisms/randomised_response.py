"""Randomised response: the optimal parent mechanism of Holohan, Leith and Mason (2016).

Its solution matrix has ``d`` on and ``q`` off the diagonal. Theorem 10: among all
(epsilon, delta)-private mechanisms on k = m + 1 categories,

    q = (1 - delta) / (e^epsilon + m),        d = 1 - m q

lies least often, whichever category is true.

In integers over N = 2^bits (docs/mathematics.md, section 2): a = ceil(N q), so that lies are
rounded *up*, towards privacy. e^epsilon enters as a certified enclosure, refined until both of its
ends give the same a; a is therefore the best integer on the grid, and one inequality between
integers proves it private.
"""

from typing import Final

from deniable.mechanisms.exact import InvalidPrivacyParameter, Number, exact_delta, exact_epsilon
from deniable.mechanisms.exponential import ceil_div, exp_enclosure
from deniable.mechanisms.kind import Kind, Parameters, at_fault
from deniable.mechanisms.two_valued import TwoValuedMechanism, check_size


class RandomisedResponse(TwoValuedMechanism):
    """Tell the truth with probability d, else name each other category with probability q.

    Args:
        categories: how many there are, 2 to 65,536.
        epsilon: in [0, 40].
        delta: in [0, 1); not both may be 0. The default is the one to use: delta buys nothing
            unless it is of the order of e^epsilon / categories.
        bits: the grid is 2^bits, 1 to 64. Surveys use 64; smaller grids are for exhaustive tests.

    Raises GridTooCoarse if 2^bits does not separate truth from lie at this epsilon.

    Source: Theorems 8 and 10 of the paper; docs/mathematics.md, sections 1 and 2.
    """

    __slots__ = ("delta", "epsilon")

    def __init__(
        self, categories: int, epsilon: Number, delta: Number = "0", *, bits: int = 64
    ) -> None:
        check_size(categories, bits, self.most)
        self.epsilon: Final = exact_epsilon(epsilon)
        self.delta: Final = exact_delta(delta)
        if self.epsilon == 0 and self.delta == 0:
            raise InvalidPrivacyParameter(
                "epsilon and delta are both 0: the responses would say nothing; raise epsilon"
            )
        super().__init__(categories, self._certified_lies(categories, 1 << bits), bits=bits)

    def _certified_lies(self, categories: int, n: int) -> int:
        m = categories - 1
        s, t = self.delta.as_integer_ratio()
        precision = 128
        while True:
            low, high = exp_enclosure(self.epsilon, precision)
            v = 1 << precision
            # a = ceil(N q) = ceil( N (t-s)/t / (u/v + m) ) with u/v an end of the enclosure.
            # N q is no integer (e^epsilon is transcendental for rational epsilon != 0, and exact
            # at 0), so the loop ends.
            a = ceil_div(n * (t - s) * v, t * (low + m * v))
            if a == ceil_div(n * (t - s) * v, t * (high + m * v)):
                break
            precision *= 2
        # The certificate, d <= e^epsilon q + delta, as v t (N - m a) <= u t a + v s N with
        # u/v <= e^epsilon. A bug above must end here, not in somebody's answer.
        if v * t * (n - m * a) > low * t * a + v * s * n:
            raise AssertionError("the privacy certificate failed; please report this as a bug")
        return a

    def __repr__(self) -> str:
        return f"RandomisedResponse({self.categories}, epsilon={self.epsilon}, delta={self.delta})"


class _Kind(Kind):
    name = "randomised-response"
    summary = "for few categories: the answer, or by chance another"
    symmetric = True

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> RandomisedResponse:
        with at_fault("epsilon"):
            return RandomisedResponse(categories, epsilon, delta)


KIND: Final = _Kind()
