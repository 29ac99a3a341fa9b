"""Execution of the scenarios, and the verdict on each rule: as an object, and as a document."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from deniable.conformance.adapter import Adapter, AdapterBroke
from deniable.conformance.observations import Conviction, convictions
from deniable.conformance.stage import RULES, SCENARIOS, Scenario, Stage, Unjudgeable
from deniable.documents import Column, Document, Fact, Table

AT_ONCE: Final = max(2, os.cpu_count() or 2)


class Verdict(StrEnum):
    """The verdict on a rule."""

    HOLDS = "holds"
    FAILS = "fails"
    UNJUDGED = "not judged"  # the device did not meet the precondition for a verdict
    NOT_OFFERED = "not offered"


@dataclass(frozen=True, slots=True)
class Played:
    """The result of one scenario.

    Attributes:
        missing: the unmet needs that prevented the scenario.
        broken: the reason why it could not be judged.
    """

    scenario: Scenario
    convictions: Sequence[Conviction] = ()
    missing: str = ""
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one rule, with the observations or what was missing."""

    rule: str
    verdict: Verdict
    seen: Sequence[str]
    played: int  # number of scenarios


def hello(command: str) -> Mapping[str, Any]:
    """Return a device's name and offers, as it states them.

    Raises:
        AdapterBroke: if it does not answer.
    """
    with closing(Adapter(command)) as adapter:
        said = adapter.command("hello", now=0.0, version=1)
    if not isinstance(said.get("offers"), dict):
        raise AdapterBroke("hello: the answer has no offers")
    return said


def scenarios_of(rules: Iterable[str]) -> list[Scenario]:
    """Return the scenarios that judge any of these rules."""
    from deniable.conformance import scenarios  # noqa: F401 - enlists them

    return [one for one in SCENARIOS if {*one.rules} & {*rules}]


def play_all(
    command: str,
    offers: Mapping[str, Any],
    rules: Iterable[str] = RULES,
    done: Callable[[], object] = lambda: None,
) -> list[Played]:
    """Play the scenarios that judge any of these rules."""
    # A process plays many scenarios, since starting one takes as long as playing some.
    adapters = [Adapter(command) for _ in range(AT_ONCE)]
    idle = [*adapters]

    def play(scenario: Scenario) -> Played:
        adapter = idle.pop()
        played = play_one(adapter, offers, scenario)
        idle.append(adapter)
        done()
        return played

    longest_first = sorted(scenarios_of(rules), key=lambda one: "noise" not in one.rules)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(play, longest_first))
    finally:
        for adapter in adapters:
            adapter.close()


def play_one(adapter: Adapter, offers: Mapping[str, Any], scenario: Scenario) -> Played:
    """Play one scenario."""
    if missing := scenario.missing(offers):
        return Played(scenario, missing=missing)
    with TemporaryDirectory(prefix="conformance-") as folder, ExitStack() as ending:
        stage = Stage(adapter, offers, Path(folder))
        ending.callback(stage.end)
        seen: list[Conviction] = []
        broken = []
        judged = convictions(stage.log, scenario.rules[0], steady=scenario.steady)
        for part in (scenario.play(stage), judged):
            try:
                seen.extend(part)
            except (AdapterBroke, Unjudgeable) as error:
                broken.append(str(error))
            except Exception as error:  # noqa: BLE001 - the other rules are judged all the same
                broken.append(f"internal error: {type(error).__name__}: {error}")
    if broken:
        adapter.kill()
    return Played(scenario, list(dict.fromkeys(seen)), broken="; ".join(broken))


def judge(played: Sequence[Played], rules: Iterable[str] = RULES) -> list[Judgement]:
    """Return the verdict on each of these rules."""
    return [_judge(rule, played) for rule in rules]


def _judge(rule: str, played: Sequence[Played]) -> Judgement:
    of_rule = [one for one in played if rule in one.scenario.rules]
    seen = [
        f"{conviction.seen} ({one.scenario.title})"
        for one in played
        for conviction in one.convictions
        if conviction.rule == rule
    ]
    broken = [f"{one.scenario.title}: {one.broken}" for one in of_rule if one.broken]
    missing = [f"{one.scenario.title}: needs {one.missing}" for one in of_rule if one.missing]
    went = len(of_rule) - len(missing)
    if seen:
        return Judgement(rule, Verdict.FAILS, [*seen, *broken], went)
    if broken:
        return Judgement(rule, Verdict.UNJUDGED, broken, went)
    if not went:
        return Judgement(rule, Verdict.NOT_OFFERED, missing, went)
    return Judgement(rule, Verdict.HOLDS, [f"not offered: {one}" for one in missing], went)


_COLUMNS = (
    Column("rule", "Rule"),
    Column("verdict", "Verdict"),
    Column("what", "What it says"),
    Column("seen", "What was seen", cell=lambda row: "; ".join(row["seen"]) or "-"),
)


def verdicts_document(said: Mapping[str, Any], judgements: Sequence[Judgement]) -> Document:
    """Return the report on a device with these offers."""
    rows = [
        {
            "rule": judgement.rule,
            "verdict": judgement.verdict.value,
            "what": RULES[judgement.rule],
            "seen": list(judgement.seen),
            "scenarios": judgement.played,
        }
        for judgement in judgements
    ]
    device = str(said.get("device", "of no name"))
    count = {verdict: sum(j.verdict is verdict for j in judgements) for verdict in Verdict}
    summary = ", ".join(f"{number} {verdict.value}" for verdict, number in count.items() if number)
    return Document(
        facts=[Fact("Device", device, "device", device), Fact("Rules", summary)],
        tables=[Table((*_COLUMNS, Column("scenarios")), rows, "rules")],
        notes=[
            "“Holds” means that a rule was not broken in these scenarios; no test can prove more. "
            "D11, about the information shown to people, cannot be tested from outside.",
        ],
    )
