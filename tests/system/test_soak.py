"""A short soak: overload, invalid traffic, kills. The long one is ``python -m benchmarks.soak``."""

import sys
from dataclasses import replace

import pytest

from benchmarks.soak.checking import Outcome
from benchmarks.soak.plan import Plan
from benchmarks.soak.summary import Summary
from benchmarks.soak.tally import Tally
from tests.support.processes import ROOT, run

RELIABILITY = (ROOT / "docs" / "reliability.md").read_text("utf-8")
GOOD = Outcome(sent=9, acknowledged=9, counted=9, lost=0, doubled=0, never_sent=0, faults=())


def summary(outcome: Outcome, tally: Tally, unfinished: int = 0) -> Summary:
    return Summary(Plan(), "SQLite", 1_800.0, 1_000.0, 1_500.0, tally, outcome, unfinished)


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_a_soak_of_some_seconds_breaks_no_promise(store: str) -> None:
    command = [sys.executable, "-m", "benchmarks.soak", "--minutes", "0.15", "--workers", "2"]
    told = run([*command, "--store", store], seconds=400.0)
    cells = dict(line.strip("|").split("|") for line in told.stdout.splitlines())
    numbers = {label.strip(): value.strip(" *").replace(",", "") for label, value in cells.items()}
    sent = numbers["reports sent by honest devices"]
    assert int(sent) > 0
    assert (numbers["acknowledged"], numbers["counted"]) == (sent, sent)
    assert numbers["kills and restarts"] != "none"
    assert "200:" in numbers["requests by status"]


def test_what_is_not_counted_once_wrong_answers_and_boundless_memory_break_promises() -> None:
    assert summary(GOOD, Tally()).broken() == []
    for fault in (
        replace(GOOD, lost=1),
        replace(GOOD, doubled=1),
        replace(GOOD, never_sent=1),
        replace(GOOD, acknowledged=8),
        replace(GOOD, faults=("receipts and counts differ",)),
    ):
        (broken,) = summary(fault, Tally()).broken()
        assert broken.startswith("1 ")
    tally = Tally()
    tally.peaks["worker"] = 600 * 1024
    tally.peaks["load generator"] = 900 * 1024  # is not the collector's
    tally.broken["forged was taken"] = 2
    assert len(summary(GOOD, tally, unfinished=3).broken()) == 3


def test_the_document_explains_every_row_of_the_table() -> None:
    rows = [line.split("|")[1].strip() for line in summary(GOOD, Tally()).table().splitlines()[2:]]
    words = {"acknowledged": "acknowledged, counted", "counted": "acknowledged, counted"}
    shown = [words.get(row, row.partition(", in invalid")[0]) for row in rows]
    assert [row for row in shown if f"\n| {row} | " not in RELIABILITY] == []
