"""``deniable privacy budget``: the check values, printed; no epsilon and no delta too small."""

import json
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
    assert "exact, auto" not in several  # it is randomised response


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
