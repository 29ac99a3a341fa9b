"""Draws: responses must follow the matrix, and nothing else in a report may reveal its answer.

Answers are dealt to reports at random, in equal numbers. For a correct device, the classes of
reports do not depend on the deal. So the number of reports in a class with a given answer follows a
hypergeometric distribution, exactly. Each class and answer is one test, and the tests share the
false-alarm probability evenly, however many there are.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from random import SystemRandom
from typing import Any, Final, NamedTuple

from scipy.stats import binom, hypergeom, rankdata

from deniable.conformance.hostile_collector import declared
from deniable.conformance.observations import Conviction, Sent
from deniable.conformance.stage import Play, Stage, Unjudgeable, scenario
from deniable.mechanisms import Mechanism
from deniable.messages import Specification
from deniable.planning.calibration import calibrated

Traits = Mapping[str, Sequence[Hashable]]
"""The values of a trait, one per report, by its name."""


class RevealingClass(NamedTuple):
    """A class of reports that reveals an answer, which ``having`` of them have."""

    trait: str
    having: int
    size: int
    tail: float


def traits(
    reports: Sequence[Sequence[Sent]], answers: int, *, sizes: bool
) -> dict[str, Sequence[Hashable]]:
    """Return the traits of each report, given all its sends in order.

    Args:
        reports: those of one call each, or of calls at one time of day.
        answers: their number, which is also that of equal parts of all times.
        sizes: whether the length of a body reveals nothing about its response.
    """
    firsts = [sends[0] if sends else None for sends in reports]
    times = [-1.0 if sent is None else sent.request.now for sent in firsts]
    ranks = rankdata(times, method="ordinal").tolist()
    seen: dict[str, Sequence[Hashable]] = {
        "number of sends": [len(sends) for sends in reports],
        "part of all times": [(rank - 1) * answers // len(ranks) for rank in ranks],
        "head": [None if sent is None else _head(sent) for sent in firsts],
    }
    if sizes:
        seen["size"] = [-1 if sent is None else len(sent.request.body) for sent in firsts]
    return seen


def _head(sent: Sent) -> tuple[str, ...]:
    request = sent.request
    fields = (f"{name}: {value}" for name, value in request.headers if name != "content-length")
    return request.method, request.path, *fields


def telling(seen: Traits, dealt: Sequence[int], false_alarm: float) -> Iterator[RevealingClass]:
    """Yield the class, if any, that reveals an answer with the greatest certainty.

    Args:
        seen: the traits that split the reports into classes.
        dealt: the answer of each report, dealt at random.
        false_alarm: the greatest probability of convicting a correct device.
    """
    many = Counter(dealt)
    tests = []
    for trait, values in seen.items():
        classes: dict[Hashable, Counter[int]] = defaultdict(Counter)
        for value, answer in zip(values, dealt, strict=True):
            classes[value][answer] += 1
        for counts in classes.values() if len(classes) > 1 else ():
            size = counts.total()
            for answer, share in many.items():
                chance = tail(hypergeom, counts[answer], len(dealt), share, size)
                tests.append(RevealingClass(trait, counts[answer], size, chance))
    surest = min(tests, key=lambda one: one.tail, default=None)
    if surest is not None and surest.tail < false_alarm / len(tests):
        yield surest


def tail(law: Any, count: int, *parameters: float) -> float:
    """Return an upper bound of the probability of a count this extreme, on either side.

    The law is a discrete one of :mod:`scipy.stats`, with these parameters.
    """
    return min(1.0, 2 * float(min(law.cdf(count, *parameters), law.sf(count - 1, *parameters))))


FALSE_ALARM: Final = 1e-6
"""The greatest probability of convicting a correct device by its noise; and again by a trait."""
SURVEYS: Final = 20
"""The most for one device."""
_BYTE: Final = 128
"""Responses below it have the same length in a report."""

_ROW: Final = tuple(share << 59 for share in (11, 8, 8, 5))
_UNEQUAL: Final = tuple(_ROW[-x:] + _ROW[:-x] for x in range(4))
_ENDS: Final = ((14 << 60, 2 << 60), (2 << 60, 14 << 60))
"""Of three numbers the one between has neither row, but draws one of them."""


class Draws(NamedTuple):
    """A survey with many draws.

    Attributes:
        reports: the number for each answer; for each end, if there are more answers than reports.
        others: the number of reports with random answers between the ends.
    """

    kind: str
    settings: dict[str, Any]
    size: int
    epsilon: str
    reports: int
    others: int = 0

    @property
    def specification(self) -> Specification:
        """Return the mechanism; a mean's is no best one, but one that few reports judge."""
        if self.kind == "mean":
            return Specification(self.kind, self.settings)
        return calibrated(self.kind, self.size, self.epsilon, settings=self.settings)

    def dealt(self) -> list[int]:
        """Return an answer for each report, in random order."""
        random = SystemRandom()
        answers = (0, self.size - 1) if self.others else range(self.size)
        dealt = [answer for answer in answers for _ in range(self.reports)]
        dealt += random.sample(range(1, self.size - 1), self.others)
        random.shuffle(dealt)
        return dealt


DRAWS: Final = {
    "randomised-response": Draws("randomised-response", {}, 3, "1", 80),
    "subset": Draws("subset", {"d": 2}, 6, "0.25", 22),
    "affine": Draws("affine", {"q": 3, "m": 2, "s": 1}, 5, "0.25", 22),
    "affine and a thousand answers": Draws("affine", {"q": 11, "m": 3, "s": 2}, 1000, "1", 20, 20),
    "matrix": Draws("matrix", {"matrix": _UNEQUAL}, 4, "1", 20),
    "mean": Draws("mean", {"weights": _ENDS}, 3, "2", 90),
}
"""The surveys for draws, by title."""


def _judged(what: Draws) -> Play:
    def draws(stage: Stage) -> Iterator[Conviction]:
        dealt = what.dealt()
        specification = what.specification
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
        seen["outcome"] = outcomes
        for one in telling(seen, groups, FALSE_ALARM / len(DRAWS)):
            share = f"{one.having} of {one.size} reports with the same {one.trait}"
            yield Conviction(
                "D1", f"how a report is sent reveals its answer: {share} have the same answer"
            )
        if not all(sends):
            came = sum(map(bool, sends))
            raise Unjudgeable(f"only {came} of {len(dealt)} reports arrived in four hours")
        responses = [of_report[0].signed.report.response for of_report in sends]
        yield from _convicted(mechanism, dealt, groups, responses)

    return draws


def _group(what: Draws, answer: int) -> int:
    """Return the number of a group judged together: an answer, or all between the ends."""
    return answer if not what.others else (answer > 0) + (answer == what.size - 1)


def _reported(
    stage: Stage, what: Draws, specification: Specification, dealt: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Have each answer reported in a separate survey; return the outcomes and the names."""
    form = "{}" if what.kind == "mean" else "answer-{}"
    categories = tuple(map(form.format, range(what.size)))
    more: dict[str, Any] = {"max_epsilon": what.epsilon}
    if what.kind in {"matrix", "mean"}:
        more["mechanisms"] = [what.kind]
    names = [f"drawn-{number}" for number in range(len(dealt))]
    answers = dict(zip(names, dealt, strict=True))
    outcomes = []
    for number, start in enumerate(range(0, len(names), SURVEYS)):
        of_device = names[start : start + SURVEYS]
        for name in of_device:
            stage.publish(
                stage.manifest(
                    name, categories=categories, specification=specification, epsilon=what.epsilon
                )
            )
        stage.now = stage.midnight + 9 * 3600
        declarations = [declared(name, categories=[*categories], **more) for name in of_device]
        stage.open(declarations, f"device-{number}")
        stage.consent()
        stage.run(120)
        outcomes += [stage.report(name, categories[answers[name]]) for name in of_device]
        stage.run(4 * 3600)
    return outcomes, names


_Counts = dict[tuple[str, float], list[int]]


def _convicted(
    mechanism: Mechanism, dealt: Sequence[int], groups: Sequence[int], responses: Sequence[int]
) -> Iterator[Conviction]:
    """Judge each response to an answer, and those of equal weight: for an answer, and for all."""
    laws = {
        answer: [weight / mechanism.grid for weight in mechanism.row(answer)] for answer in {*dealt}
    }
    like = {answer: Counter(law) for answer, law in laws.items()}
    often = Counter(dealt)
    # By counted event and probability: its occurrences, and the number of trials.
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
            if share < 1 and tail(binom, count, draws, share) < level:
                expected = f"{draws * share:.0f} were expected"
                yield Conviction("noise", f"{what} occurred {count} times in {draws}; {expected}")


def _count(counts: _Counts, what: str, chance: float, *, came: bool) -> None:
    count = counts[what, chance]
    count[0] += came
    count[1] += 1


for _title, _draws in DRAWS.items():
    scenario(
        "noise", "D1", title=f"many answers of kind {_title}", needs=(f"kinds:{_draws.kind}",)
    )(_judged(_draws))
