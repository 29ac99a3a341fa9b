"""Noise: whether responses follow the survey's matrix, as far as so many can show."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from deniable.conformance.hostile_operator import declared
from deniable.conformance.scenario import Conviction, Play, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.mechanisms import Mechanism
from deniable.messages import Specification

FALSE_ALARM: Final = 1e-6
"""The probability at most that a device that draws rightly is convicted."""
SURVEYS: Final = 12
"""Of each fresh device, all with the same answer."""

KINDS: Final[dict[str, tuple[dict[str, Any], int, int]]] = {
    "randomised-response": ({}, 3, 20),
    "subset": ({"d": 2}, 6, 10),
    "affine": ({"q": 3, "m": 2, "s": 1}, 7, 10),
    "ordinal": ({"distance": "absolute"}, 4, 10),
}
"""By kind the settings and categories of a survey that is drawn often, and by how many devices."""


def tail(count: int, draws: int, chance: float) -> float:
    """Return the probability at most of a count so far out, on either side, of a binomial."""
    below = _at_most(count, draws, chance)
    above = _at_most(draws - count, draws, 1 - chance)
    return min(1.0, 2 * min(below, above))


def _at_most(count: int, draws: int, chance: float) -> float:
    return math.fsum(
        math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(count + 1)
    )


def _judged(kind: str) -> Play:
    def draws(stage: Stage) -> Iterator[Conviction]:
        settings, size, devices = KINDS[kind]
        categories = tuple(f"answer-{number}" for number in range(size))
        names = [f"drawn-{number}" for number in range(SURVEYS)]
        specification = Specification.calibrated(kind, size, "1", settings=settings)
        for name in names:
            stage.publish(stage.manifest(name, categories=categories, specification=specification))
        others = {"mechanisms": [kind]} if kind == "ordinal" else {}
        declarations = [declared(name, categories=[*categories], **others) for name in names]
        answer = size // 2
        for number in range(devices):
            stage.now = stage.midnight + 9 * 3600
            stage.open(declarations, f"device-{number}")
            stage.consent()
            stage.run(120)
            for name in names:
                stage.must_report(name, categories[answer])
            stage.run(4 * 3600)
        reports = {one.identity: one.signed.report.response for one in stage.log.sent()}
        if len(reports) != devices * SURVEYS:
            raise Unjudgeable(f"{len(reports)} of {devices * SURVEYS} reports came in four hours")
        mechanism = specification.mechanism(size, "1", "0")
        yield from _convicted(Counter(reports.values()), mechanism, answer)

    return draws


def _convicted(counts: Counter[int], mechanism: Mechanism, answer: int) -> Iterator[Conviction]:
    """Judge each response by itself, and those of one weight together."""
    draws = counts.total()
    chances = {r: mechanism.probability(answer, r) for r in range(mechanism.responses)}
    together: dict[Any, list[int]] = defaultdict(list)
    for response, chance in chances.items():
        together[chance].append(response)
    groups = [[response] for response in chances] + [*together.values()]
    for group in groups:
        share = float(sum(chances[response] for response in group))
        count = sum(counts[response] for response in group)
        if share < 1 and tail(count, draws, share) < FALSE_ALARM / len(groups) / len(KINDS):
            what = f"response {group[0]}" if len(group) == 1 else f"{len(group)} like responses"
            yield Conviction(
                "noise", f"{what} came {count} times of {draws}; of {draws * share:.0f} expected"
            )


for _kind in KINDS:
    scenario("noise", title=f"many responses of kind {_kind}", needs=(f"kinds:{_kind}",))(
        _judged(_kind)
    )
