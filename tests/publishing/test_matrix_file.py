"""A matrix from CSV: read exactly, with or without names; what is wrong is named by its row."""

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.mechanisms import MAX_DENSE
from deniable.publishing.survey_matrix import (
    MAX_FILE_BYTES,
    InvalidMatrixFile,
    NamedMatrix,
    read_matrix,
)
from tests.audit.matrices import entries, matrices
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

HALVES = SolutionMatrix.exact([["0.5", "0.5"], ["0.25", "0.75"]])


def read(text: str) -> NamedMatrix:
    return read_matrix(text.encode())


def refused(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InvalidMatrixFile) as caught:
        read_matrix(data)
    message = str(caught.value)
    assert len(message) < 500
    assert len(message.splitlines()) == 1
    return message


FORMS = [
    *["0.5,0.5\n0.25,0.75\n", "0.5,0.5\r\n0.25,0.75", "\ufeff0.5,0.5\n0.25,0.75\n"],
    *['\n"0.5", .5\n\n 25e-2 ,7.5E-1\n , \n', "1/2,1/2\n1/4, 3 / 4\n", "2,2\n1,3\n"],
    *["0.50,5e-01\n+0.25,0.75000000000000000000000000000\n", "50,50\n25,75\n"],
]


@pytest.mark.parametrize("text", FORMS)
def test_decimals_fractions_and_weights_are_the_same_matrix(text: str) -> None:
    named = read(text)
    assert named == NamedMatrix(HALVES, (), (), rounded=False)


NAMES = [
    ("a,b\n2,2\n1,3", "", "ab"),
    ("x,2,2\ny,1,3", "xy", ""),
    (",a,b\nx,2,2\ny,1,3", "xy", "ab"),
    ("answer,a,b\nx,2,2\ny,1,3", "xy", "ab"),
    (",0,1\n0,0.5,0.5\n1,0.25,0.75", "01", "01"),  # as pandas writes it
    ('"a, b",c\n2,2\n1,3', "", ("a, b", "c")),
    ("ä,β\n2,2\n1,3", "", "äβ"),
    ("nan,inf\n2,2\n1,3", "", ("nan", "inf")),
]


@pytest.mark.parametrize(("text", "categories", "responses"), NAMES)
def test_names_are_what_is_no_number(
    text: str, categories: Sequence[str], responses: Sequence[str]
) -> None:
    assert read(text) == NamedMatrix(HALVES, tuple(categories), tuple(responses))


def test_columns_of_the_same_names_are_put_into_the_order_of_the_rows() -> None:
    named = read(",b,a\na,2,2\nb,3,1")
    assert named == NamedMatrix(HALVES, ("a", "b"), ("a", "b"))
    assert entries(named.matrix)[1] == [Fraction(1, 4), Fraction(3, 4)]


@PROPERTY
@given(matrices(), st.booleans(), st.booleans())
def test_any_matrix_comes_back_as_it_was_written(
    matrix: SolutionMatrix, header: bool, names: bool
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream)
    rows: list[list[object]] = [list(row) for row in entries(matrix)]
    if names:
        rows = [[f"row {x}", *row] for x, row in enumerate(rows)]
    if header:
        writer.writerow([""] * names + [f"column {y}" for y in range(matrix.responses)])
    writer.writerows(rows)
    assert read(stream.getvalue()).matrix == matrix


def test_a_row_that_does_not_sum_to_one_is_named_and_scaled_if_it_nearly_does() -> None:
    assert "row 'y' does not sum to 1, but to 1 - 0.25" in refused("x,1/2,1/2\ny,1/2,1/4")
    assert "row '2' does not sum to 1, but to 1 + 0.1" in refused(".5,.5\n.5,.6")
    assert "row '2' does not sum to 1, but to 1 + 0.25" in refused("2,2\n3,2")
    named = read("0.333333333333,0.666666666666\n0.5,0.5")
    assert named.rounded
    for row, expected in zip(entries(named.matrix), [(1 / 3, 2 / 3), (0.5, 0.5)], strict=True):
        assert sum(row) == 1
        assert [float(entry) for entry in row] == pytest.approx(expected, abs=1e-12)
    # It takes no more than a billionth.
    assert read("0.5,0.500000001\n0.5,0.5").rounded
    assert "row '1'" in refused("0.5,0.5000000011\n0.5,0.5")


def test_rounding_takes_no_response_away_however_rare() -> None:
    # On a grid of 2^64 the first column would be all zeros: a matrix that seems to say nothing.
    rare = read("1e-21,0.5,0.5\n1e-30,0.5,0.5")
    odds = rare.matrix.privacy.odds
    assert odds == pytest.approx(10**9, rel=1e-12)
    assert read("1e-23,.5,.5\n0,.5,.5").matrix.privacy.odds is None


NO_MATRICES = [
    ("", "is empty"),
    (" , \n,", "is empty"),
    ("0.5,0.5", "fewer than two categories"),
    ("a,b\n0.5,0.5", "fewer than two categories"),
    ("1,2\n1", "row '2' has 1 entries, not 2"),
    ("a,b\n1,1\n1,1,1", "row '2' has 3 entries, not 2"),
    ("x,-1,2\ny,1,0", "row 'x' has a negative entry"),
    ("1,0\n1,nan", "row '2': 'nan' is not a decimal"),
    ("1,0\n0,1/0", "row '2': '1/0' is not a decimal"),
    ("1,0\n0,0x1", "row '2': '0x1' is not a decimal"),
    ("1,0\n0,", "row '2': '' is not a decimal"),
    ("1,0\n0," + "1" * 500, "row '2': '1111"),
    ("x,1,0\nx,0,1", "two categories called 'x'"),
    ("a,a\n1,0\n0,1", "two responses called 'a'"),
    ("\x1b[31m,b\n1,0\n0,1", "printable"),
    ("a" * 300 + ",b\n1,0\n0,1", "printable"),
    ('"a,b\n1,0\n0,1', "is not CSV"),
    ("0,0\n0,0", "row '1' does not sum to 1"),
    (b"\xff\xfe0,1", "is not UTF-8"),
    ("x\ny", "has fewer than two categories"),
    ("," * (MAX_DENSE + 1) + "a", "exceeds 4,096"),
    ("1\n" * (MAX_DENSE + 2), "exceeds 4,096"),
    ("1\n" * (MAX_DENSE + 1), "exceeds 4,096"),
    (b"1" * (MAX_FILE_BYTES + 1), "exceeds 64 MiB"),
    ("1e-999,2\n" + "1/" + "9" * 390 + ",1", "row '1' does not sum"),
    # A mistyped number is no header: else the row would be lost, and with it the worst pair.
    *[
        (f"0.5,0.4,{cell}\n0.5,0.25,0.25\n0.5,0.25,0.25", "row '1'")
        for cell in ("O.1", "nan", "1/0", "10%", "1e1000", "")
    ],
    ("0.5,0.5\nO.5,0.5\n0.25,0.75", "row '2'"),
]


@pytest.mark.parametrize(("text", "expected"), NO_MATRICES)
def test_what_is_no_matrix_is_refused_in_one_line(text: str | bytes, expected: str) -> None:
    assert expected in refused(text)


@PROPERTY
@given(st.one_of(st.text(max_size=60), st.text('0123456789.,/\n -+eE"ab', max_size=60)))
def test_any_text_is_a_matrix_or_refused(text: str) -> None:
    with suppress(InvalidMatrixFile):
        named = read(text)
        assert len(named.categories) in {0, named.matrix.categories}
        assert len(named.responses) in {0, named.matrix.responses}
        assert all(sum(row) == 1 for row in entries(named.matrix))
