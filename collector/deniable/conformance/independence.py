"""Independence: whether anything that a collector sees of a report tells the answer behind it.

Answers are dealt to reports at random, so many of each. Whatever splits the reports of a right
device into classes was then settled without the deal: how many reports of a class have one answer
follows a hypergeometric law, exactly. Each class and answer is one test, and the tests share the
false-alarm probability evenly, however many there are.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from deniable.conformance.observations import Sent

_MODULI: Final = (2, 3, 4, 5, 7, 10, 60)
_UNITS: Final = (("minute", 1 / 60), ("second", 1), ("millisecond", 1000))
_WATCHED: Final = 2
"""The first and second sends of a report are looked at; of later ones there is the number."""

Traits = Mapping[str, Sequence[Hashable]]
"""By the name of what is seen, its value of each report."""


class Told(NamedTuple):
    """A class of reports by which their answers can be one."""

    trait: str
    answer: int
    having: int
    size: int
    tail: float


def traits(reports: Sequence[Sequence[Sent]], answers: int, *, sizes: bool) -> dict[str, list[int]]:
    """Return the traits of each report, given all its sends in order; -1 stands for none.

    Args:
        reports: of one call each, or of calls at one time of day.
        answers: how many there are: numbers are taken modulo that, too.
        sizes: whether the length of a body says nothing of the response in it.
    """
    seen: dict[str, list[int]] = {"number of sends": [len(sends) for sends in reports]}
    for place in range(_WATCHED):
        sends = [list_[place] if len(list_) > place else None for list_ in reports]
        which = f"of send {place + 1}"
        times = [-1.0 if sent is None else sent.request.now for sent in sends]
        seen |= {f"{name} {which}": values for name, values in _times(times, answers)}
        heads = [() if sent is None else _head(sent) for sent in sends]
        seen[f"head {which}"] = _numbered(heads)
        seen[f"length of the head {which}"] = [len("".join(chain(*head))) for head in heads]
        if sizes:
            seen[f"size {which}"] = [
                -1 if sent is None else len(sent.request.body) for sent in sends
            ]
        order = _order(sends)
        for modulus in {*_MODULI, answers}:
            seen[f"place in the order modulo {modulus} {which}"] = [
                rank % modulus if rank >= 0 else -1 for rank in order
            ]
        seen[f"part of the order {which}"] = _parts(order, answers)
    gaps = [
        sends[1].request.now - sends[0].request.now if len(sends) > 1 else -1.0 for sends in reports
    ]
    seen |= {f"{name} between two sends": values for name, values in _times(gaps, answers)}
    keys = [sends[0].signed.public_key if sends else b"" for sends in reports]
    signatures = [sends[0].signed.signature if sends else b"" for sends in reports]
    for name, written in (("key", keys), ("signature", signatures)):
        seen[f"length of the {name}"] = [len(one) for one in written]
        for place in range(max(map(len, written), default=0)):
            octets = [one[place] if len(one) > place else -1 for one in written]
            seen[f"byte {place} of the {name} modulo {answers}"] = [
                octet % answers if octet >= 0 else -1 for octet in octets
            ]
            for bit in range(8):
                seen[f"bit {bit} of byte {place} of the {name}"] = [
                    octet >> bit & 1 if octet >= 0 else -1 for octet in octets
                ]
    return seen


def _times(times: Sequence[float], answers: int) -> Iterator[tuple[str, list[int]]]:
    for unit, many in _UNITS:
        for modulus in sorted({*_MODULI, answers}):
            whole = [math.floor(time * many) % modulus if time >= 0 else -1 for time in times]
            yield f"{unit} modulo {modulus}", whole
    yield "part of all times", _parts(times, answers)


def _parts(values: Sequence[float], parts: int) -> list[int]:
    """Return which of so many equal parts, from the lowest up, each value is in."""
    ranked = sorted(range(len(values)), key=values.__getitem__)
    part = {index: rank * parts // len(ranked) for rank, index in enumerate(ranked)}
    return [part[index] for index in range(len(values))]


def _order(sends: Sequence[Sent | None]) -> list[int]:
    """Return each report's place in the order in which those of its device left."""
    of_device: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for index, sent in enumerate(sends):
        if sent is not None:
            of_device[sent.request.device].append((sent.request.now, index))
    order = [-1] * len(sends)
    for leaving in of_device.values():
        for rank, (_, index) in enumerate(sorted(leaving)):
            order[index] = rank
    return order


def _head(sent: Sent) -> tuple[str, ...]:
    request = sent.request
    fields = (f"{name}: {value}" for name, value in request.headers if name != "content-length")
    return request.method, request.path, *fields


def _numbered(values: Sequence[Hashable]) -> list[int]:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return [numbers[value] for value in values]


def telling(seen: Traits, dealt: Sequence[int], false_alarm: float) -> Iterator[Told]:
    """Yield the class, if any, by which an answer is told most surely.

    Args:
        seen: what splits the reports into classes.
        dealt: the answer of each report, dealt at random.
        false_alarm: the probability at most that a right device is convicted.
    """
    many = Counter(dealt)
    classes = [
        (trait, members)
        for trait, values in seen.items()
        for members in _classes(values)
        if len(members) < len(dealt)
    ]
    tests = [
        Told(trait, answer, count, len(members), tail(count, len(members), share, len(dealt)))
        for trait, members in classes
        for counts in [Counter(dealt[index] for index in members)]
        for answer, share in many.items()
        for count in [counts[answer]]
    ]
    surest = min(tests, key=lambda one: one.tail, default=None)
    if surest is not None and surest.tail < false_alarm / len(tests):
        yield surest


def _classes(values: Sequence[Hashable]) -> list[list[int]]:
    classes: dict[Hashable, list[int]] = defaultdict(list)
    for index, value in enumerate(values):
        classes[value].append(index)
    return [*classes.values()]


@cache
def tail(count: int, size: int, share: int, dealt: int) -> float:
    """Return the probability at most of a count so far out, on either side, in a class.

    Args:
        count: how many of the class have an answer.
        size: of the class.
        share: how many of all have the answer.
        dealt: how many there are in all.
    """
    ways = [math.comb(share, k) * math.comb(dealt - share, size - k) for k in range(size + 1)]
    least = min(sum(ways[: count + 1]), sum(ways[count:]))
    return min(1.0, 2 * least / math.comb(dealt, size))
