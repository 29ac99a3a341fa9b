"""Several questions, from the operator's file over devices to the analyst's histogram."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable.client import Survey
from tests.support.collector import CollectorProcess
from tests.support.processes import DENIABLE, run

DEVICES = 80
QUESTIONS = {"plan": ("free", "paid"), "theme": tuple("ABCDEFGH")}
ROWS = ", ".join(f"{key} = {json.dumps(each)}" for key, each in QUESTIONS.items())
ASKED = f'epsilon = "3"\ndimensions = {{ {ROWS} }}\n'
FILES = {"usage": ASKED, "crossed": f'{ASKED}mechanism = "joint"'}
DECLARED = tuple(
    Survey.several(name, f"{name}?", dimensions=QUESTIONS, max_epsilon="3") for name in FILES
)


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    with CollectorProcess(tmp_path / "collector") as collector:
        collector.publish(FILES)
        collector.start()
        yield collector


def answers(device: int) -> dict[str, str]:
    return {
        "plan": "paid" if device % 4 == 0 else "free",
        "theme": "B" if device % 3 else QUESTIONS["theme"][device % 8],
    }


def report(collector: CollectorProcess, device: int) -> None:
    words = random.Random(device)  # the words are fixed: the test has no false alarms
    draw = partial(words.getrandbits, 64)
    with collector.device(DECLARED, delivery_seconds=0, unsafe_draw=draw) as client:
        assert client.refresh().errors == {}
        for name in FILES:
            assert client.report(name, answers(device), strict=True).ok
        assert client.flush(60.0).delivered == len(FILES)


def hist(collector: CollectorProcess, name: str, *options: str) -> str:
    return str(run([*DENIABLE, "hist", name, "--dir", collector.directory, *options]).stdout)


@pytest.mark.long
def test_both_kinds_go_from_a_file_to_a_histogram(collector: CollectorProcess) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(report, collector), range(DEVICES)))
    truth = Counter(each for device in range(DEVICES) for each in answers(device).items())
    shown: dict[str, Any] = {
        name: json.loads(hist(collector, name, "--json", "--level", "0.999999")) for name in FILES
    }
    for histogram in shown.values():
        assert histogram["n"] == DEVICES
        for margin in histogram["margins"]:
            rows = margin["answers"]
            assert [row["answer"] for row in rows] == [*QUESTIONS[margin["question"]]]
            assert sum(row["estimate"] for row in rows) == pytest.approx(1)
            for row in rows:
                share = truth[margin["question"], row["answer"]] / DEVICES
                assert row["low"] <= share <= row["high"]
    one, joint = shown["usage"], shown["crossed"]
    assert (one["mechanism"], joint["mechanism"]) == ("one-question", "joint")
    assert sum(margin["n"] for margin in one["margins"]) == DEVICES
    assert [row["category"] for row in one["categories"]][:3] == [
        "plan: free",
        "plan: paid",
        "theme: A",
    ]
    assert len(joint["categories"]) == 16
    assert sum(row["estimate"] for row in joint["categories"]) == pytest.approx(1)
    for name, rows in (("usage", 10), ("crossed", 16 + 10)):
        assert len(list(csv.DictReader(io.StringIO(hist(collector, name, "--csv"))))) == rows
    assert "answers one of the questions" in " ".join(hist(collector, "usage").split())
    assert "plan: free" in hist(collector, "crossed")
    assert "Traceback" not in collector.complaints
