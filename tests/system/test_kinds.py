"""Surveys of every kind, from the operator's file over devices to the analyst's histogram."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable.client import Survey
from deniable.client.client import engine_of
from deniable.messages import SignedReport
from tests.support.collector import CollectorProcess
from tests.support.processes import DENIABLE, run

DEVICES = 160
THEMES = ("light", "dark", "system")
PAGES = tuple(f"page {number}" for number in range(20))
WAITS = ("none", "minutes", "an hour", "hours", "a day", "days", "weeks")
QUESTIONS = {"plan": ("free", "paid"), "theme": tuple("ABCDEFGH")}
ROWS = ", ".join(f"{key} = {json.dumps(each)}" for key, each in QUESTIONS.items())
FILES = {
    "minutes": 'tells = "mean"\nlow = -10\nhigh = 10\nstep = "2.5"',
    "theme": f'repeat = "memoised"\nmemoised_epochs = 5\ncategories = {json.dumps(THEMES)}',
    "page": 'mechanism = "two-round"\nkept = "6"\nrepeat = "memoised"\n'
    f"memoised_epochs = 5\ncategories = {json.dumps(PAGES)}",
    "smokes": 'mechanism = "matrix"\nmatrix = "smokes.csv"\ncategories = ["no", "yes"]',
    "crossed": f'mechanism = "joint"\ndimensions = {{ {ROWS} }}',
    "waiting": f'tells = "distribution"\ncategories = {json.dumps(WAITS)}',
}
MATRIX = ",yes,no,rather not say\nyes,0.6,0.1,0.3\nno,0.1,0.6,0.3\n"
RESPONSES = ["yes", "no", "rather not say"]
KEPT = ("theme", "page")
DECLARED = (
    Survey.numeric("minutes", "minutes?", low=-10, high=10, step="2.5", max_epsilon="4"),
    Survey("theme", "theme?", THEMES, max_epsilon="4", max_kept_epsilon="4"),
    Survey("page", "page?", PAGES, max_epsilon="4", max_kept_epsilon="8"),
    Survey("smokes", "smokes?", ("no", "yes"), max_epsilon="4", mechanisms=["matrix"]),
    Survey.several("crossed", "crossed?", dimensions=QUESTIONS, max_epsilon="4"),
    Survey("waiting", "waiting?", WAITS, max_epsilon="4"),
)


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    (tmp_path / "smokes.csv").write_text(MATRIX, "utf-8")
    with CollectorProcess(tmp_path / "collector") as collector:
        collector.publish({name: f'epsilon = "4"\n{lines}' for name, lines in FILES.items()})
        collector.start()
        yield collector


def answers(device: int) -> dict[str, Any]:
    """Return what a device answers: most say 5 and dark."""
    common = device % 4
    return {
        "minutes": "5" if common else DECLARED[0].categories[device % 9],
        "theme": "dark" if common else THEMES[device % 3],
        "page": PAGES[7] if common else PAGES[device % 20],
        "smokes": "no" if common else "yes",
        "crossed": {"plan": "free" if common else "paid", "theme": "ABCDEFGH"[device % 8]},
        "waiting": WAITS[1] if common else WAITS[device % 7],
    }


def report(collector: CollectorProcess, device: int) -> list[tuple[bytes, int]]:
    """Be a device; return (survey id, response) of each report that it holds as delivered."""
    # Reproducible words: nobody's answer is at stake, and the test has no false alarms.
    draw = partial(random.Random(device).getrandbits, 64)
    with collector.device(DECLARED, lifetime_epsilon="24", unsafe_draw=draw) as client:
        assert client.refresh().errors == {}
        for name, answer in answers(device).items():
            assert client.report(name, answer, strict=True).ok
        deadline = time.monotonic() + 60
        while client.flush(1.0).pending and time.monotonic() < deadline:
            pass
        with engine_of(client).state.transaction(time.time()) as connection:
            rows = connection.execute(
                "SELECT envelope FROM decisions WHERE status = 'delivered'"
            ).fetchall()
    reports = [SignedReport.from_envelope(envelope).report for (envelope,) in rows]
    return [(each.survey_id, each.response) for each in reports]


def hist(collector: CollectorProcess, name: str, *options: str) -> str:
    return str(run([*DENIABLE, "hist", name, "--dir", collector.directory, *options]).stdout)


def histogram(collector: CollectorProcess, name: str, *options: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(hist(collector, name, "--json", *options))
    return read


@pytest.mark.long
def test_every_kind_is_published_counted_and_estimated(collector: CollectorProcess) -> None:
    with ThreadPoolExecutor(8) as pool:
        devices = [*pool.map(partial(report, collector), range(DEVICES))]
    held = Counter(each for device in devices for each in device)
    truth = {
        name: Counter(str(answers(device)[name]) for device in range(DEVICES)) for name in FILES
    }
    for name in FILES:
        shown = histogram(collector, name)
        survey_id = bytes.fromhex(shown["survey_id"])
        raw = [row["raw"] for row in shown.get("responses", shown["categories"])]
        counted = [held[key] for key in sorted(held) if key[0] == survey_id]
        assert [count for count in raw if count] == counted
        assert shown["n"] == sum(raw) == DEVICES
        if name == "minutes":
            continue  # of which there is the mean, below
        assert sum(row["estimate"] for row in shown["categories"]) == pytest.approx(1)
        assert shown["kept_range"] == ([0, 0] if name in KEPT else None)
        methods = {row["method"] for row in shown["categories"]}
        if name in (*KEPT, "crossed"):
            # Words of kept responses come from keys of the devices' own: only counts are certain.
            assert methods <= {"wilson", "clopper-pearson"}
            continue
        assert methods == {"normal"}
        # Within five standard errors each; the words are fixed, so this is no matter of chance.
        for row in shown["categories"]:
            error = abs(row["estimate"] - truth[name][row["category"]] / DEVICES)
            assert error < 5 * row["standard_error"]
    # What follows from these is computed again in tests/estimates; here it is shown.
    assert histogram(collector, "crossed")["margins"]
    assert "plan: free" in hist(collector, "crossed")
    assert histogram(collector, "waiting")["distribution"]["curve"]
    assert "lower quartile" in hist(collector, "waiting")
    mean = histogram(collector, "minutes")["numeric"]["mean"]
    said = sum(float(value) * count for value, count in truth["minutes"].items()) / DEVICES
    assert mean["low"] <= said <= mean["high"]
    smokes = histogram(collector, "smokes")
    assert [row["response"] for row in smokes["responses"]] == RESPONSES
    assert all(row["raw"] is None for row in smokes["categories"])
    assert "Traceback" not in collector.complaints
