"""The matrix of a survey file: rows in it, or a CSV file beside it."""

from fractions import Fraction
from pathlib import Path

import pytest

from deniable.messages import InvalidManifest, Manifest
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import Workplace, succeed

HEAD = """\
name = "tea"
question = "How often do you drink tea?"
categories = ["never", "often"]
mechanism = "matrix"
epsilon = "1"
epoch = "1 day"
epochs = 3
"""
SQUARE = '[["0.6", "0.4"], ["0.4", "0.6"]]'
NAMED = ",never,often,no comment\noften,0.3,0.5,0.2\nnever,0.5,0.3,0.2\n"


def published(tail: str, folder: Path = Path()) -> Manifest:
    return next_manifest(SurveyFile.parse(HEAD + tail, folder), [], "https://c.ex", bytes(16), 0)


@pytest.mark.parametrize(
    ("tail", "responses"),
    [
        (f"matrix = {SQUARE}", ("never", "often")),
        ("matrix = [[0.6, 0.4], [0.4, 0.6]]", ("never", "often")),
        ("matrix = [[6, 4], [4, 6]]", ("never", "often")),
        (f'matrix = {SQUARE}\nresponses = ["a", "b"]', ("a", "b")),
        (
            'matrix = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]]\nresponses = ["1", "2", "3"]',
            ("1", "2", "3"),
        ),
    ],
)
def test_rows_are_read_exactly_and_certified(tail: str, responses: tuple[str, ...]) -> None:
    survey = published(tail)
    assert survey.responses == responses
    assert survey.mechanism.privacy.satisfies("1", "0")
    likelier = survey.mechanism.probability(0, 0)
    assert abs(likelier - (Fraction(1, 2) if len(responses) == 3 else Fraction(3, 5))) < 2**-60


def test_a_files_names_order_its_rows_and_columns(tmp_path: Path) -> None:
    (tmp_path / "tea.csv").write_text(NAMED, "utf-8")
    (tmp_path / "tea.toml").write_text(HEAD + 'matrix = "tea.csv"\n', "utf-8")
    survey = next_manifest(SurveyFile.load(tmp_path / "tea.toml"), [], "https://c.ex", bytes(16), 0)
    assert survey.responses == ("never", "often", "no comment")
    assert survey.mechanism.truth is None
    assert [round(float(w) / 2**64, 6) for w in survey.mechanism.row(0)] == [0.5, 0.3, 0.2]
    assert [round(float(w) / 2**64, 6) for w in survey.mechanism.row(1)] == [0.3, 0.5, 0.2]
    (tmp_path / "tea.csv").write_text(",often,never\noften,0.6,0.4\nnever,0.4,0.6\n", "utf-8")
    square = published('matrix = "tea.csv"', tmp_path)
    assert square.responses == square.categories
    assert square.mechanism.truth == square.mechanism.probability(1, 1)
    with pytest.raises(OSError, match="missing"):
        published('matrix = "missing.csv"', tmp_path)


def test_what_is_published_shows_what_the_responses_are_called(place: Workplace) -> None:
    (place.directory / "tea.csv").write_text(NAMED, "utf-8")
    (place.directory / "tea.toml").write_text(HEAD + 'matrix = "tea.csv"\n', "utf-8")
    succeed("survey", "publish", place.directory / "tea.toml", "--dir", place.directory)
    shown = succeed("survey", "show", "tea", "--dir", place.directory)
    assert "\nresponses never, often, no comment\n" in shown


@pytest.mark.parametrize("order", [("1", "2", "3"), ("3", "2", "1"), ("b", "1", "a")])
def test_rows_in_the_survey_file_are_in_the_order_of_its_categories(order: tuple[str, ...]) -> None:
    rows = '[["0.6", "0.3", "0.1"], ["0.3", "0.4", "0.3"], ["0.2", "0.2", "0.6"]]'
    head = HEAD.replace('["never", "often"]', str(list(order)).replace("'", '"'))
    survey = SurveyFile.parse(head.replace('"1"\nepoch', '"2"\nepoch') + f"matrix = {rows}\n")
    weights = survey.specification.parameters["weights"]
    assert [[round(w / 2**64, 1) for w in row] for row in weights] == [
        [0.6, 0.3, 0.1],
        [0.3, 0.4, 0.3],
        [0.2, 0.2, 0.6],
    ]


@pytest.mark.parametrize("labels", ['["never", "often"]', '["x", "y"]'])
def test_columns_that_a_csv_file_names_are_not_named_otherwise(tmp_path: Path, labels: str) -> None:
    (tmp_path / "tea.csv").write_text(",often,never\noften,0.6,0.4\nnever,0.4,0.6\n", "utf-8")
    tail = 'matrix = "tea.csv"\nresponses = {}'
    with pytest.raises(InvalidManifest, match="named otherwise"):
        published(tail.format(labels), tmp_path)
    assert published(tail.format('["often", "never"]'), tmp_path).mechanism.truth is not None


@pytest.mark.parametrize(
    ("tail", "field", "words"),
    [
        ("", "matrix", "is missing"),
        ("matrix = 1", "matrix", "CSV file, or a list of rows"),
        ("matrix = [[0.6, 0.4]]", "matrix", "fewer than two categories"),
        ("matrix = [[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]]", "matrix", "row for each category"),
        ("matrix = [[0.6, 0.5], [0.4, 0.6]]", "matrix", "sum to 1"),
        ('matrix = [["0.6,0.4"], ["0.4,0.6"]]', "matrix", "is no decimal"),
        ("matrix = [[0.5, 0.5], [0.5, 0.5]]", "matrix", "cannot be inverted"),
        ("matrix = [[0.6, 0.4, 0], [0.4, 0.6, 0]]", "matrix", "0 or 1"),
        ("matrix = [[1, 0], [0.4, 0.6]]", "matrix", "0 or 1"),
        ("matrix = [[0.8, 0.2], [0.2, 0.8]]", "epsilon", "not private.* own epsilon is 1.386294"),
        ("matrix = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]", "responses", "3 columns for 2 categ"),
        (f'matrix = {SQUARE}\nresponses = ["a"]', "matrix", "a name each"),
        (f'matrix = {SQUARE}\nresponses = ["a", "A"]', "mechanism", "look the same"),
        (f"matrix = {SQUARE}\nresponses = [1, 2]", "responses", "list of strings"),
        (f"matrix = {SQUARE}\nd = 2", "d", "belongs to"),
    ],
)
def test_what_is_no_matrix_is_refused_by_its_field(tail: str, field: str, words: str) -> None:
    with pytest.raises(InvalidManifest, match=words) as refused:
        published(tail)
    assert refused.value.field == field
