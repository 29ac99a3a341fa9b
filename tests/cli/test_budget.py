"""``deniable privacy budget``: the check values, printed; no epsilon and no delta too small."""

import json
import re
from decimal import Decimal

import pytest

from tests.cli.commands import fail, succeed


def composed(*options: str) -> dict[str, Decimal]:
    shown = json.loads(succeed("privacy budget --json", *options))
    return {row["name"]: Decimal(row["epsilon"]) for row in shown["compositions"]}


def test_the_check_values_are_shown_rounded_up() -> None:
    times = ("--times", "100", "--epsilon", "0.1", "--slack", "0.000001")
    # 10 / 4.77456759 / 2.07071978
    assert composed(*times, "--categories", "10") == {
        "basic": Decimal("10.000000"),
        "optimal": Decimal("4.774568"),
        "exact": Decimal("2.070720"),
        "exact, auto": Decimal("3.467315"),  # subset (d = 5)
    }
    several = composed("--times", "3", "--epsilon", "0.1", "--slack", "0.000001")
    assert several["exact"] == several["optimal"]


def test_three_reports_of_a_hundredth_need_the_delta_that_is_printed() -> None:
    # 1 - .99^3 = .029701, and 3 * .01 without the product.
    options = ("--epsilon", "1", "--delta", "0.01", "--times", "3", "--slack", "0")
    needed = {"basic": "0.03", "optimal": "0.029701", "exact": "0.029701"}
    table = [line.split() for line in succeed("privacy budget", *options).splitlines()]
    assert {line[0]: line[2] for line in table if line and line[0] in needed} == needed


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", "41", "--times", "2"),
        ("--epsilon", "-1", "--times", "2"),
        ("--epsilon", "0", "--times", "2"),
        ("--epsilon", "1", "--times", "2", "--slack", "1"),
        ("--epsilon", "1", "--times", "2", "--delta", "2"),
        ("--epsilon", "1", "--times", "100", "--delta", "0.5"),
        ("--epsilon", "1", "--times", "2", "--slack", "1e-9"),
        ("--epsilon", "40", "--times", "10000"),
        ("--epsilon", "9999", "--times", "10000"),
    ],
)
def test_parameters_outside_their_domain_are_one_line(options: tuple[str, ...]) -> None:
    assert fail("privacy budget", *options)


def test_who_shares_out_a_total_reads_what_one_report_may_have() -> None:
    shown = succeed("privacy budget --total 10 --times 13 --categories 5")
    assert "13 reports of epsilon 10 in all, each randomised afresh" in shown
    assert "epsilon each" in shown
    # 10/13 = .7692307…
    assert ["basic", "0.769230"] in [line.split()[:2] for line in shown.splitlines()]
    assert "use the one with the largest epsilon" in " ".join(shown.split())
    assert re.search(r"^exact, auto +[\d.]+ +0\.000001 +subset \(d = 2\)", shown, re.MULTILINE)
    few = succeed("privacy budget --total 10 --times 2 --categories 3")
    assert "auto" not in few


@pytest.mark.parametrize("options", [(), ("--epsilon", "1", "--total", "2"), ("--total", "9999")])
def test_a_total_or_the_epsilon_of_one_report_is_given(options: tuple[str, ...]) -> None:
    assert fail("privacy budget --times 2", *options)
