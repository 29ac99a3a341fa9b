"""Documents: numbers by their errors, texts in their column, programs and people see the same."""

import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from deniable.documents import Caution, Column, Document, Fact, Level, Table, number_text
from deniable.documents.json import document_json
from deniable.documents.terminal import facts_text, print_document

WORDS = st.lists(st.text("ab-", min_size=1, max_size=12), min_size=1, max_size=30).map(" ".join)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_a_number_ends_with_the_second_digit_of_its_intervals_width(
    number: float, width: float, share: bool
) -> None:
    text = number_text(number, width, kind="share" if share else "number")
    assert text.endswith("%") == share
    digits, scale = text.removesuffix("%").replace(",", ""), 100 if share else 1
    # Half a unit of that digit is at most a twentieth of the width, and a unit more than a
    # hundredth of it; a whole number is not rounded further.
    wrong = abs(float(digits) - scale * number)
    assert wrong <= 0.05 * scale * width * (1 + 1e-9) + 1e-9 * abs(scale * number)
    if "." in digits:
        unit = 10.0 ** -len(digits.partition(".")[2])
        assert unit > 0.01 * scale * width * (1 - 1e-9) or (share and unit == 0.1)


@pytest.mark.parametrize(
    ("number", "share", "text"),
    [(None, False, "-"), (12_345, False, "12,345"), (2 / 3, False, "0.666667"), (0.5, True, "50%")],
)
def test_a_number_without_an_interval(number: float | None, share: bool, text: str) -> None:
    assert number_text(number, kind="share" if share else "number") == text


@given(st.lists(st.tuples(st.text("xyz", max_size=8), WORDS), min_size=1), st.integers(20, 100))
def test_texts_stand_whole_in_one_column(facts: list[tuple[str, str]], width: int) -> None:
    shown = facts_text((Fact(label, text) for label, text in facts), width).splitlines()
    indent = max(len(label) for label, _ in facts) + 2
    assert all(len(line) <= width or " " not in line[indent:] for line in shown)
    assert " ".join(line[indent:] for line in shown) == " ".join(text for _, text in facts)
    assert {line[:indent].strip() for line in shown} <= {"", *(label for label, _ in facts)}


def test_programs_see_what_has_a_key_and_people_what_has_a_text() -> None:
    rows = [{"name": "mean", "value": 12.345, "by": 2.0, "kind": "number"}]
    rows += [{"name": "often", "value": 0.12345, "by": 0.02, "kind": "share"}]
    columns = [Column("name", "figure"), Column("value", "estimate", "number", "by")]
    document = Document(
        [Fact("label", "text", "known", math.inf, [("detail", "more")]), Fact(key="hidden")],
        [Table(columns, rows, "rows")],
        ["A note."],
        [Caution("a", Level.ALERT, "Not used."), Caution("b", Level.WARNING, "Misleading.")],
        "Heading",
        values={"value": 1},
    )
    keyed = {"known": None, "hidden": None, "value": 1, "rows": rows}
    assert json.loads(document_json(document)) == keyed
    screen = Console(file=io.StringIO(), width=80)
    print_document(document, screen)
    assert isinstance(screen.file, io.StringIO)
    shown = [line.rstrip() for line in screen.file.getvalue().splitlines()]
    assert shown == [
        *("!! Not used.", "", "Heading", "", "label     text", "  detail  more", ""),
        *("figure  estimate", "mean        12.3", "often      12.3%", ""),
        *("A note.", "! Misleading."),
    ]
