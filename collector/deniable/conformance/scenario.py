"""Scenarios: what a hostile collector does to a device, and which observations convict it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from deniable.conformance.stage import Stage

RULES: Final = {
    "works": "takes an honest survey, and reports it once",
    "D1": "the app's declaration decides what is asked, and no answer whether a report is made",
    "D2": "manifests are refused that the declaration, the signature or the order forbid",
    "D3": "one response a name and epoch, whatever clocks and manifests say, within a lifetime",
    "D4": "no refusal and no change of consent makes an epoch undecided",
    "D5": "what is decided outlives a kill; copies, backups and lost states decide nothing again",
    "D6": "a call of report makes no request",
    "D7": "requests share nothing that tells devices apart, and never come at a launch",
    "D8": "only recognised answers count; a report is sent six times at most",
    "D9": "what is delivered and past its grace is erased from disk",
    "D10": "no answer makes a device fetch more often",
    "D12": "consent covers what was shown, and no more",
    "D13": "a relay is never gone round",
    "blind": "an epoch has one of several blind surveys, which is drawn before any answer",
    "log": "a device that pins witnesses follows no manifest that too few of them saw",
    "report": "reports are canonical, signed, in their domain, under keys of their own",
    "noise": "responses follow the survey's matrix",
}
"""The rules that are judged, in the order of the report."""


class Conviction(NamedTuple):
    """A rule that was broken, and what was seen."""

    rule: str
    seen: str


Play = Callable[[Stage], Iterator[Conviction]]
Missing = Callable[[Mapping[str, Any]], str]
"""Given what a device offers, returns what it lacks for a scenario; "" if nothing."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario.

    Attributes:
        rules: that it judges; a second draw breaks the first of them.
        title: what happens to the device.
        steady: whether its clocks run evenly, so that days between requests can be told.
    """

    rules: tuple[str, ...]
    title: str
    play: Play
    missing: Missing
    steady: bool


SCENARIOS: Final[list[Scenario]] = []
"""All scenarios, in the order in which their modules list them."""


def scenario(
    *rules: str, title: str, needs: tuple[str, ...] = (), steady: bool = True
) -> Callable[[Play], Play]:
    """Make a scenario of a function; ``needs`` are keys of a device's offers, or key:value."""

    def offered(offers: Mapping[str, Any], need: str) -> bool:
        key, _, value = need.partition(":")
        return value in offers.get(key, ()) if value else bool(offers.get(key))

    def missing(offers: Mapping[str, Any]) -> str:
        return ", ".join(need for need in needs if not offered(offers, need))

    def enlisted(play: Play) -> Play:
        SCENARIOS.append(Scenario(rules, title, play, missing, steady))
        return play

    return enlisted
