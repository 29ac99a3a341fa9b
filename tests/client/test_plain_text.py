"""Text for terminals: what is hostile is escaped, lines fit, what is stated holds."""

import unicodedata
from fractions import Fraction

import pytest

from deniable.mechanisms.exact import percent_text
from deniable.presenting.revealed import times_as_likely
from deniable.terms.sentences import duration
from deniable.terms.text import counted, printable, wrapped


def width(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


def test_what_a_terminal_obeys_is_escaped_and_nothing_else() -> None:
    for hostile, shown in (
        *(("\x1b[2J", "\\x1b[2J"), ("a\nb\rc\td", "a\\nb\\rc\\td"), ("\ud800", "\\ud800")),
        *(("\x00\x7f\x9b", "\\x00\\x7f\\x9b"), ("\u202egnp.exe", "\\u202egnp.exe")),
        ("a\u2028b\u200bc", "a\\u2028b\\u200bc"),
        *((same, same) for same in ("très bien 好 ✓", "می\u200cخواهید", "👨\u200d👩\u200d👧")),
    ):
        assert printable(hostile) == shown


@pytest.mark.parametrize("text", ["word " * 60, "x" * 500, "é" * 99, "a"])
def test_lines_fit_and_no_character_is_lost(text: str) -> None:
    lines = wrapped(text.strip(), first="  label  ")
    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith(" " * 9) for line in lines[1:])
    assert "".join(lines).replace(" ", "") == f"label{text.replace(' ', '')}"


def test_odds_are_rounded_up() -> None:
    for odds, shown in (
        *((Fraction(1), "1.00"), (Fraction(2718282, 10**6), "2.72"), (Fraction(271, 100), "2.71")),
        *((Fraction(27100001, 10**7), "2.72"), (Fraction(99999, 10000), "10.00")),
        *((Fraction(2001, 100), "20.1"), (Fraction(29809, 10), "2,981")),
        (Fraction(10**6 + 1), "more than a million"),
    ):
        assert times_as_likely(odds).endswith(f" {shown} times as likely")


def test_a_bound_is_rounded_to_its_own_side() -> None:
    for share in (Fraction(4046, 10000), Fraction(4044, 10000), Fraction(1, 65536)):
        low = float(percent_text(share, "least")[:-1])
        high = float(percent_text(share, "most")[:-1])
        assert low < 100 * share < high
    assert percent_text(Fraction(9995, 10000), "most") == "100%"
    assert percent_text(Fraction(9995, 10000), "least") == "99.9%"


def test_shares_are_told_from_never_and_always() -> None:
    assert percent_text(Fraction(4046, 10000), "most") == "40.5%"
    assert percent_text(Fraction(1, 65536), "least") == "0.0015%"
    assert percent_text(1 - Fraction(1, 10**9), "least") == "99.9%"
    ends = (percent_text(Fraction(0), "most"), percent_text(Fraction(1), "most"))
    assert ends == ("0.0%", "100.0%")


def test_lengths_are_in_their_largest_whole_unit() -> None:
    lengths = (0, 1, 90, 60, 7200, 86_400, 129_600, 604_800, 1_209_600)
    shown = [duration(seconds, str) for seconds in lengths]
    expected = (
        "0 seconds, 1 second, 90 seconds, 1 minute, 2 hours, 1 day, 36 hours, 1 week, 2 weeks"
    )
    assert shown == expected.split(", ")
    assert counted(1024, "byte") == "1,024 bytes"
