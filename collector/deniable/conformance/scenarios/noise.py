"""Draws: whether responses follow the matrix, and nothing else of a report tells its answer."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from random import SystemRandom
from typing import Any, Final, NamedTuple

from deniable.conformance.hostile_collector import CUT
from deniable.conformance.hostile_operator import accepted, declared
from deniable.conformance.independence import telling, traits
from deniable.conformance.scenario import Conviction, Play, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.mechanisms import Mechanism
from deniable.messages import Specification

FALSE_ALARM: Final = 1e-6
"""The probability at most that a right device is convicted of its noise; and again of a trait."""
SURVEYS: Final = 20
"""Of a device, at most."""
_BYTE: Final = 128
"""Responses below it are as long as each other in a report."""

_ROW: Final = tuple(share << 59 for share in (11, 8, 8, 5))
_UNEQUAL: Final = tuple(_ROW[-x:] + _ROW[:-x] for x in range(4))


class Draws(NamedTuple):
    """A survey that is drawn often.

    Attributes:
        reports: of each answer; of each end, if there are more answers than reports.
        others: reports of random answers between the ends.
        cut: of how many reports first sends have no answer, so that there are second ones.
    """

    kind: str
    settings: dict[str, Any]
    size: int
    epsilon: str
    reports: int
    others: int = 0
    cut: int = 0

    def dealt(self) -> list[int]:
        """Return an answer for each report, in random order."""
        random = SystemRandom()
        answers = (0, self.size - 1) if self.others else range(self.size)
        dealt = [answer for answer in answers for _ in range(self.reports)]
        dealt += random.sample(range(1, self.size - 1), self.others)
        random.shuffle(dealt)
        return dealt


DRAWS: Final = {
    "randomised-response": Draws("randomised-response", {}, 3, "1", 80, cut=120),
    "subset": Draws("subset", {"d": 2}, 6, "0.25", 22),
    "affine": Draws("affine", {"q": 3, "m": 2, "s": 1}, 5, "0.25", 22),
    "affine and a thousand answers": Draws("affine", {"q": 11, "m": 3, "s": 2}, 1000, "1", 20, 20),
    "matrix": Draws("matrix", {"matrix": _UNEQUAL}, 4, "1", 20),
}
"""By title, what is drawn."""


def tail(count: int, draws: int, chance: float) -> float:
    """Return the probability at most of a count so far out, on either side, of a binomial."""
    below = _at_most(count, draws, chance)
    above = _at_most(draws - count, draws, 1 - chance)
    return min(1.0, 2 * min(below, above))


def _at_most(count: int, draws: int, chance: float) -> float:
    return math.fsum(
        math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(count + 1)
    )


def _judged(what: Draws) -> Play:
    def draws(stage: Stage) -> Iterator[Conviction]:
        dealt = what.dealt()
        specification = Specification.calibrated(
            what.kind, what.size, what.epsilon, settings=what.settings
        )
        outcomes, names = _reported(stage, what, specification, dealt)
        if not any(outcome == "recorded" for outcome in outcomes):
            raise Unjudgeable("nothing was recorded")
        groups = [_group(what, answer) for answer in dealt]
        of_name = defaultdict(list)
        for sent in stage.log.sent():
            of_name[sent.manifest.name].append(sent)
        sends = [of_name[name] for name in names]
        mechanism = specification.mechanism(what.size, what.epsilon, "0")
        seen = traits(sends, len({*groups}), sizes=mechanism.responses <= _BYTE)
        seen["outcome"] = [sorted({*outcomes}).index(outcome) for outcome in outcomes]
        for one in telling(seen, groups, FALSE_ALARM / len(DRAWS)):
            share = f"{one.having} of {one.size} reports of one {one.trait}"
            yield Conviction("D1", f"an answer is told by how a report is sent: {share} have it")
        if not all(sends):
            came = sum(map(bool, sends))
            raise Unjudgeable(f"{came} of {len(dealt)} reports came in four hours")
        responses = [of_report[0].signed.report.response for of_report in sends]
        yield from _convicted(mechanism, dealt, groups, responses)

    return draws


def _group(what: Draws, answer: int) -> int:
    """Return the number of what is judged together: an answer, or all between the ends."""
    return answer if not what.others else (answer > 0) + (answer == what.size - 1)


def _reported(
    stage: Stage, what: Draws, specification: Specification, dealt: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Have each answer reported in a survey of its own; return the outcomes and the names."""
    categories = tuple(f"answer-{number}" for number in range(what.size))
    more: dict[str, Any] = {"max_epsilon": what.epsilon}
    if what.kind == "matrix":
        more["mechanisms"] = [what.kind]
    names = [f"drawn-{number}" for number in range(len(dealt))]
    answers = dict(zip(names, dealt, strict=True))
    outcomes = []
    for number, start in enumerate(range(0, len(names), SURVEYS)):
        of_device = names[start : start + SURVEYS]
        cut = start < what.cut
        for name in of_device:
            stage.publish(
                stage.manifest(
                    name, categories=categories, specification=specification, epsilon=what.epsilon
                )
            )
            if cut:
                stage.uploads[name] = lambda n: CUT if n == 1 else accepted()
        stage.now = stage.midnight + 9 * 3600
        declarations = [declared(name, categories=[*categories], **more) for name in of_device]
        stage.open(declarations, f"device-{number}")
        stage.consent()
        stage.run(120)
        outcomes += [stage.report(name, categories[answers[name]]) for name in of_device]
        stage.run((12 if cut else 4) * 3600)
    return outcomes, names


_Counts = dict[tuple[str, float], list[int]]


def _convicted(
    mechanism: Mechanism, dealt: Sequence[int], groups: Sequence[int], responses: Sequence[int]
) -> Iterator[Conviction]:
    """Judge each response to an answer, and those of one weight: of an answer, and of all."""
    laws = {answer: _law(mechanism, answer) for answer in {*dealt}}
    like = {answer: Counter(law) for answer, law in laws.items()}
    often = Counter(dealt)
    # By what is counted and its chance: how often it came, and of how many.
    alike: _Counts = defaultdict(lambda: [0, 0])
    single: _Counts = defaultdict(lambda: [0, 0])
    for answer, group, response in zip(dealt, groups, responses, strict=True):
        law = laws[answer]
        for chance, many in like[answer].items():
            for where in (f"answers of group {group}", "all answers"):
                _count(
                    alike,
                    f"{many} like responses to {where}",
                    chance * many,
                    came=law[response] == chance,
                )
        for other, chance in enumerate(law if often[answer] > 1 else ()):
            _count(single, f"response {other} to answer {answer}", chance, came=other == response)
    for counts in (alike, single):
        level = FALSE_ALARM / len(DRAWS) / 2 / len(counts)
        for (what, share), (count, draws) in counts.items():
            if share < 1 and tail(count, draws, share) < level:
                expected = f"of {draws * share:.0f} expected"
                yield Conviction("noise", f"{what} came {count} times of {draws}; {expected}")


def _count(counts: _Counts, what: str, chance: float, *, came: bool) -> None:
    count = counts[what, chance]
    count[0] += came
    count[1] += 1


def _law(mechanism: Mechanism, answer: int) -> list[float]:
    return [float(mechanism.probability(answer, x)) for x in range(mechanism.responses)]


for _title, _draws in DRAWS.items():
    scenario(
        "noise", "D1", title=f"many answers of kind {_title}", needs=(f"kinds:{_draws.kind}",)
    )(_judged(_draws))
