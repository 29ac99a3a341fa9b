"""Documents: numbers by their errors, texts in their column, programs and people see the same."""

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from deniable.documents import (
    Caution,
    Column,
    Document,
    Fact,
    Level,
    Table,
    level_text,
    number_text,
    read_number,
)
from deniable.documents.html import table_html
from deniable.documents.programs import document_json, table_csv, table_json
from deniable.documents.terminal import facts_text, print_document, table_width

WORDS = st.lists(st.text("ab-", min_size=1, max_size=12), min_size=1, max_size=30).map(" ".join)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_a_number_ends_with_the_second_digit_of_its_intervals_width(
    number: float, width: float, share: bool
) -> None:
    text = number_text(number, width, kind="unbiased" if share else "number")
    assert text.endswith("%") == share
    digits, scale = text.removesuffix("%").replace(",", "").replace("−", "-"), 100 if share else 1
    # Half a unit of that digit is at most a twentieth of the width, and a unit more than a
    # hundredth of it; a whole number is not rounded further.
    wrong = abs(float(digits) - scale * number)
    assert wrong <= 0.05 * scale * width * (1 + 1e-9) + 1e-9 * abs(scale * number)
    if "." in digits:
        unit = 10.0 ** -len(digits.partition(".")[2])
        assert unit > 0.01 * scale * width * (1 - 1e-9) or (share and unit == 0.1)


@pytest.mark.parametrize(
    ("number", "share", "text"),
    [
        (None, False, "-"),
        (12_345, False, "12,345"),
        (2 / 3, False, "0.666667"),
        (0.5, True, "50.0%"),
        (-0.027, True, "0.0%"),
        (1.002, True, "100.0%"),
    ],
)
def test_a_number_without_an_interval(number: float | None, share: bool, text: str) -> None:
    # Shares beyond what is possible are shown as its end.
    assert number_text(number, kind="share" if share else "number") == text


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (0.95, "95 %"),
        (1 - 0.05 / 3, "98.3333333333 %"),
        (0.99999999999999, "99.999999999999 %"),
        (math.nextafter(1, 0), "99.99999999999999 %"),
        (1e-20, "1e-18 %"),
        (1.0, "100 %"),
    ],
)
def test_no_level_is_said_to_be_certain_or_none_unless_it_is(level: float, text: str) -> None:
    assert level_text(level) == text


@given(st.text("0123456789.eE+-_ \u0663\u0967nainf", max_size=8) | st.floats().map(repr))
def test_a_number_that_is_read_is_that_of_ascii_decimals(text: str) -> None:
    number = read_number(text)
    decimal = set(text) <= set("0123456789.eE+-")
    try:
        value = float(text) if decimal else math.inf
    except ValueError:
        value = math.inf
    assert value == (math.inf if number is None else float(number)) or abs(value) > 1e300


@given(st.lists(st.tuples(st.text("xyz", max_size=8), WORDS), min_size=1), st.integers(20, 100))
def test_texts_stand_whole_in_one_column(facts: list[tuple[str, str]], width: int) -> None:
    shown = facts_text((Fact(label, text) for label, text in facts), width).splitlines()
    indent = max(len(label) for label, _ in facts) + 2
    assert all(len(line) <= width or " " not in line[indent:] for line in shown)
    assert " ".join(line[indent:] for line in shown) == " ".join(text for _, text in facts)
    assert {line[:indent].strip() for line in shown} <= {"", *(label for label, _ in facts)}


def printed(document: Document, width: int) -> list[str]:
    """Return the lines of a document on a terminal."""
    file = io.StringIO()
    print_document(document, Console(file=file, width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_programs_see_what_has_a_key_and_people_what_has_a_text() -> None:
    rows = [{"name": "mean", "value": 12.345, "by": 2.0, "kind": "number"}]
    rows += [{"name": "often", "value": 0.12345, "by": 0.02, "kind": "share"}]
    columns = [Column("name", "figure"), Column("value", "estimate", "number", "by")]
    columns += [Column("by"), Column("kind"), Column("", "of it", cell=lambda row: row["name"][:2])]
    document = Document(
        [Fact("label", "text", "known", math.inf, [("detail", "more")]), Fact(key="hidden")],
        [Table(columns, rows, "rows")],
        ["A note."],
        [Caution("a", Level.ALERT, "Not used."), Caution("b", Level.WARNING, "Misleading.")],
        "Heading",
        values={"value": 1},
    )
    keyed = {"known": None, "hidden": None, "value": 1, "rows": rows}
    keyed["cautions"] = [{"code": "a", "text": "Not used."}, {"code": "b", "text": "Misleading."}]
    assert json.loads(document_json(document)) == keyed
    data = 'data-name="mean" data-value="12.345" data-by="2.0" data-kind="number"'
    first = f'<tr {data}><th scope="row" class="text">mean</th>'
    assert f'{first}<td>12.3</td><td class="text">me</td></tr>' in table_html(document.tables[0])
    assert printed(document, 80) == [
        *("!! Not used.", "", "Heading", "", "label     text", "  detail  more", ""),
        *("figure  estimate  of it", "mean        12.3  me", "often      12.3%  of", ""),
        *("A note.", "! Misleading."),
    ]


def test_a_table_that_is_too_wide_for_its_names_and_numbers_is_a_list() -> None:
    columns = [Column("id", "id", "name"), Column("n", "reports", "number"), Column("why", "why")]
    rows = [{"id": "a-long-name", "n": 12_345, "why": "for one reason " * 3, "secret": 1}]
    table = Table([*columns, Column("more")], rows)
    document = Document(tables=[table])
    needed = len("a-long-name  reports  ") + 12
    assert table_width(table) == needed - 12 + len("for one reason " * 3)
    head, *_ = printed(document, needed)
    assert head == "id           reports  why"
    assert printed(document, needed - 1) == [
        "a-long-name",
        "  reports 12,345, why for one",
        "  reason for one reason for one",
        "  reason",
    ]
    assert json.loads(table_json(table)) == [{key: rows[0][key] for key in ("id", "n", "why")}]
    assert printed(Document(tables=[Table(columns, [])], notes=["None."]), 80) == ["None."]


@pytest.mark.parametrize(("width", "bar"), [(80, 30), (40, 21), (27, 8), (26, 0)])
def test_a_bar_is_as_wide_as_there_is_room_and_never_cut(width: int, bar: int) -> None:
    columns = [Column("name", "name", "name"), Column("n", "n", "share")]
    columns.append(Column("n", "", "share", shape="bar"))
    rows = [{"name": "all of it", "n": 1.0, "low": 1.0, "high": 1.0}]
    _, line, *_ = printed(Document(tables=[Table(columns, rows)]), width)
    assert line == f"all of it  100.0%  {'█' * bar}".rstrip()


@given(st.lists(st.text(max_size=5).filter(lambda text: "\r" not in text), min_size=1))
def test_csv_is_read_as_it_was_written_but_no_spreadsheet_runs_it(texts: list[str]) -> None:
    table = Table([Column("text"), Column("", "for people")], [{"text": text} for text in texts])
    [head], *cells = csv.reader(io.StringIO(table_csv(table, {}), newline=""), strict=True)
    assert head == "text"
    for text, cell in zip(texts, (cell for [cell] in cells), strict=True):
        assert cell == ("'" if text.startswith(("=", "+", "-", "@", "\t")) else "") + text


def test_a_cell_of_csv_is_the_rows_or_shared_or_empty() -> None:
    columns = [Column(key) for key in ("a", "b", "c", "d", "e", "f")]
    row = {"a": -1, "b": None, "c": math.nan, "d": True, "e": '=1,"'}
    assert table_csv(Table(columns, [row]), {"a": 0, "f": "x,y"}).splitlines() == [
        "a,b,c,d,e,f",
        """-1,,,1,"'=1,""\",\"x,y\"""",
    ]
