"""The page of questions: what it offers, what it lacks, and its answers for programs."""

import csv
import json
from pathlib import Path

import pytest

from deniable.documents.terminal import document_text
from deniable.estimates import estimate_histogram
from deniable.mechanisms.answering import combination_labels
from deniable.messages import Specification
from tests.cli.commands import Workplace, run, succeed
from tests.cli.serving import serving
from tests.support.surveys import manifest

START = "2026-01-05T00:00:00Z"


def test_a_survey_is_offered_the_questions_that_it_can_answer(tmp_path: Path) -> None:
    succeed("init", tmp_path / "collector")
    place = Workplace(tmp_path / "collector")
    both = '{ plan = ["free", "paid"], feature = ["export", "share", "neither"] }'
    place.publish(start=START, name='"usage"', categories="", dimensions=both, mechanism='"joint"')
    place.publish(start=START, name='"one"', categories="", dimensions=both)
    numbers = {"low": "0", "high": "4", "step": "1", "mechanism": '"numeric"'}
    place.publish(start=START, name='"cups"', categories="", **numbers)
    place.publish(start=START)
    for name in ("usage", "one", "cups", "tea"):
        place.count([0, 1, 1, 2, 3] * 40, name=name)
    token = run("token", "new", "--dir", place.directory).stdout.strip()
    headers = {"Authorization": f"Bearer {token}"}
    with serving(place) as server:

        def get(path: str) -> tuple[int, str]:
            status, body = server.request("GET", f"/surveys/{path}", headers=headers)
            return status, body.decode()

        for name, kinds in (
            ("usage", {"table", "group", "leaders", "ahead"}),
            ("one", {"leaders", "ahead"}),
            ("tea", {"leaders", "ahead"}),
            ("cups", {"range"}),
        ):
            status, body = get(f"{name}/ask")
            offered = {kind for kind in _ALL if f"?ask={kind}" in body}
            assert (status, offered) == (200, kinds)
        assert "Choose two answers." in get("tea/ask?ask=ahead")[1]
        assert "Choose an answer, and the group" in get("usage/ask?ask=group")[1]
        for path, reason in (
            ("usage/ask?rows=plan&columns=plan", "name two of the questions: plan, feature"),
            ("tea/ask?leaders=4", "of 4 answers the 1 to 3 most frequent"),
            ("tea/ask?leaders=x", "must be one such as 3"),
            ("tea/ask?ask=ahead&answer=never&other=coffee", "there is no answer"),
        ):
            status, body = get(path)
            assert (status, reason in body) == (400, True)
        assert "name two" in get("tea/ask?ask=ahead&answer=never&other=never")[1]
        for form in ("json", "csv"):
            status, body = get(f"tea/ask.{form}?ask=ahead")
            assert (status, json.loads(body)["title"]) == (400, "bad query")
        for path in ("cups/ask", "usage/ask"):
            query = "ask=range&answer=1&last=3" if "cups" in path else _GROUP
            (share,) = csv.DictReader(get(f"{path}.csv?{query}")[1].splitlines())
            told = json.loads(get(f"{path}.json?{query}")[1])
            (row,) = told["rows"]
            known = row["estimate"] is not None  # of a small group it may be unknown
            assert share["estimate"] == (str(row["estimate"]) if known else "")
            assert told["sentence"] == share["sentence"]
        header = get("tea/ask.csv?ask=leaders")[1].partition("\n")[0].split(",")
        assert len(header) == len({*header})
        table = json.loads(get("usage/ask.json?of=all")[1])
        assert [cell["row"] for cell in table["cells"]] == ["free"] * 3 + ["paid"] * 3
        lines = get("usage/ask.csv?of=all")[1].splitlines()
        assert len(lines) == 7
        shown = get(f"usage/ask?{_GROUP}")[1]
        assert "of the devices that answered plan: paid" in shown


_GROUP = "ask=group&answer=feature:+export&given=plan:+paid"
_ALL = ("table", "group", "leaders", "ahead", "range")


@pytest.mark.parametrize("columns", [2, 7])
def test_wide_tables_are_lists(columns: int) -> None:
    dimensions = (("plan", "free", "paid"), ("feature", *(f"f{at}" for at in range(columns))))
    joint = {"dimensions": dimensions, "mechanism": ("randomised-response",)}
    labels = combination_labels(dimensions)
    asked = manifest(categories=labels, specification=Specification("joint", joint))
    found = estimate_histogram(asked, 0, dict.fromkeys(range(2 * columns), 500))
    text = document_text(found.cross("plan", "feature").document(), 80)
    assert ("plan: paid" in text) == (columns == 7)
    assert all(f"f{at}" in text for at in range(columns))
    assert max(map(len, text.splitlines())) <= 80
