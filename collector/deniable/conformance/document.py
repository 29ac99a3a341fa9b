"""The report: which rules hold, and what was seen of those that do not."""

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.conformance.running import Judgement, Verdict
from deniable.conformance.scenario import RULES
from deniable.documents import Column, Document, Fact, Table

_COLUMNS = (
    Column("rule", "Rule"),
    Column("verdict", "Verdict"),
    Column("what", "What it says"),
    Column("seen", "What was seen", cell=lambda row: "; ".join(row["seen"]) or "-"),
)


def verdicts_document(said: Mapping[str, Any], judgements: Sequence[Judgement]) -> Document:
    """Return the report on a device that said this of itself."""
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
            "A rule that holds was not broken in what was played: no test can show more. D11, what "
            "a person is shown, cannot be seen from outside.",
        ],
    )
