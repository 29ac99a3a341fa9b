"""Several questions in a survey file, and what publishing and auditing say of them."""

from pathlib import Path

import pytest

from deniable.messages import InvalidManifest, Manifest, sign_manifest
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import Workplace, fail, succeed
from tests.vectors.scene import AUTHORITY

FILE = """\
name = "usage"
question = "Which plan, theme and language?"
epsilon = "1"
epoch = "1 week"
epochs = 2
minimum_reports = 1
"""
FILE += (
    'dimensions = { plan = ["free", "paid"], theme = ["A", "B", "C"], '
    'language = ["a", "b", "c", "d", "e", "f", "g", "h"] }\n'
)


def read(text: str) -> Manifest:
    return next_manifest(SurveyFile.parse(text), [], "http://127.0.0.1:8377", bytes(16), 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ('categories = ["no", "yes"]', "categories"),
        ('mechanism = "randomised-response"', "dimensions"),
        ('mechanism = "auto"', "dimensions"),
        ('mechanism = "numeric"', "dimensions"),
        ("mechanisms = []", "mechanisms"),
        ("d = 2", "d"),
        ('delta = "1"', "delta"),
    ],
)
def test_what_does_not_go_with_several_questions_is_named(change: str, field: str) -> None:
    with pytest.raises(InvalidManifest) as refused:
        read(f"{FILE}{change}")
    assert refused.value.field == field


@pytest.mark.parametrize(
    "dimensions",
    [
        '["plan", "theme"]',
        "{}",
        '{ plan = ["free", "paid"] }',
        '{ plan = ["free", "paid"], theme = "A" }',
        '{ plan = ["free", "paid"], theme = ["A"] }',
        '{ plan = ["free", "paid"], theme = ["A", 2] }',
        '{ plan = ["free", "paid"], theme = { A = 1 } }',
    ],
)
def test_questions_that_are_none_are_named(dimensions: str) -> None:
    lines = [line for line in FILE.splitlines() if not line.startswith("dimensions")]
    for mechanism in ("one-question", "joint"):
        with pytest.raises(InvalidManifest) as refused:
            read("\n".join([*lines, f"dimensions = {dimensions}", f'mechanism = "{mechanism}"']))
        assert refused.value.field == "dimensions"


def test_texts_that_look_alike_are_named() -> None:
    for same in ('{ plan = ["a", "A"], theme = ["x", "y"] }', '{ a = ["x", "y"], A = ["v", "w"] }'):
        lines = [line for line in FILE.splitlines() if not line.startswith("dimensions")]
        with pytest.raises(InvalidManifest, match="look the same"):
            read("\n".join([*lines, f"dimensions = {same}"]))


def test_too_many_combinations_are_answered_one_by_one_only() -> None:
    letters = [chr(97 + i) for i in range(26)]
    rows = ", ".join(f"q{i} = {letters}" for i in range(4)).replace("'", '"')
    lines = [line for line in FILE.splitlines() if not line.startswith("dimensions")]
    text = "\n".join([*lines, f"dimensions = {{ {rows} }}"])
    assert read(text).mechanism.categories == 26**4
    with pytest.raises(InvalidManifest, match="combinations"):
        read(f'{text}\nmechanism = "joint"')


def test_publishing_says_what_either_kind_needs(place: Workplace) -> None:
    shown = " ".join(place.publish(FILE).split())
    assert "each share of each question by itself within ± 5 percentage points" in shown
    assert "17,330 reports; by joint 68,145" in shown
    assert "one of 3 questions: 2 by randomised-response, 1 by subset (d = 2)" in shown
    assert "Survey.several(" in shown
    shown = " ".join(place.publish(f'{FILE}mechanism = "joint"').split())
    assert "each share of a single question 68,145; by one-question 17,330" in shown
    assert "older" not in shown  # apps declare the same for both
    listed = succeed("survey", "show", "usage", "--dir", place.directory)
    assert "language: h" in listed


def test_an_audit_names_combinations(tmp_path: Path) -> None:
    file = tmp_path / "usage.manifest"
    file.write_bytes(sign_manifest(read(FILE), AUTHORITY))
    shown = " ".join(succeed("privacy", "audit", file).split())
    assert "48 categories × 33 responses" in shown
    assert 'worst set S "plan: free"' in shown
    many = FILE.replace("epochs = 2", "epochs = 1").partition("dimensions")[0]
    rows = ", ".join(f'q{i} = ["no", "yes"]' for i in range(70))
    file.write_bytes(sign_manifest(read(f"{many}dimensions = {{ {rows} }}"), AUTHORITY))
    assert "more combinations of answers" in fail("privacy", "audit", file)
