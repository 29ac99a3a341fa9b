"""Budget: exact composition of randomised response, against Google's dp-accounting."""

import math
from collections.abc import Callable
from typing import Final

from dp_accounting.pld import privacy_loss_distribution

from benchmarks.rounds import interleave, seconds_each
from benchmarks.table import Row, show
from deniable.accounting import PrivacyLoss
from deniable.mechanisms import RandomisedResponse

_CASES: Final = ((2, "0.1", 100), (10, "0.1", 100), (5, "1", 365))
_DELTA: Final = "0.000001"


def run() -> None:
    """Measure and print."""
    for categories, epsilon, times in _CASES:
        _show(categories, epsilon, times)


def _show(categories: int, epsilon: str, times: int) -> None:
    works: dict[str, Callable[[], float]] = {
        "ours": lambda: _ours(categories, epsilon, times),
        "peer": lambda: _peer(categories, epsilon, times),
    }
    found = interleave({name: seconds_each(work, 1) for name, work in works.items()})
    ours, peer = works["ours"](), works["peer"]()
    show(
        f"{times} reports of epsilon {epsilon}, {categories} categories: epsilon at delta {_DELTA}",
        [
            Row("ours, exact or certified above", found["ours"].scaled(1e3), "ms"),
            Row("dp-accounting, pessimistic", found["peer"].scaled(1e3), "ms"),
            Row("ours ÷ dp-accounting", found["ours"] / found["peer"]),
        ],
    )
    print(f"  epsilon: ours {ours:.9f}, dp-accounting {peer:.9f} ({peer / ours - 1:+.2%})")


def _ours(categories: int, epsilon: str, times: int) -> float:
    loss = PrivacyLoss.of_mechanism(RandomisedResponse(categories, epsilon)).repeat(times)
    return float(loss.epsilon_at(_DELTA))


def _peer(categories: int, epsilon: str, times: int) -> float:
    # Its noise parameter is the probability of a uniform draw, the truth included: k q.
    noise = categories / (math.exp(float(epsilon)) + categories - 1)
    loss = privacy_loss_distribution.from_randomized_response(noise, categories)
    return float(loss.self_compose(times).get_epsilon_for_delta(float(_DELTA)))
