"""``deniable privacy audit``: the guarantee with its proof."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.messages import Manifest
from tests.cli.commands import fail, run, succeed
from tests.support.kinds import KINDS
from tests.support.surveys import MANIFEST

NAMED = ",low,mid,high\nlow,0.6,0.3,0.1\nmid,0.2,0.5,0.3\nhigh,0.25,0.25,0.5\n"
TRUTH = "1,0\n0,1\n"


def written(directory: Path, text: str | bytes, name: str = "matrix.csv") -> Path:
    file = directory / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def lines(shown: str) -> dict[str, list[str]]:
    """Return what stands behind each label, in order."""
    found: dict[str, list[str]] = {}
    for line in shown.splitlines():
        label, _, text = line.strip().partition("  ")
        found.setdefault(label, []).append(text.strip())
    return found


def as_json(*arguments: str | Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        succeed("privacy audit", *arguments, "--json"),
        parse_constant=lambda word: pytest.fail(word),
    )
    return loaded


def test_every_number_is_told_exactly_and_as_a_decimal_rounded_up(tmp_path: Path) -> None:
    asked = (written(tmp_path, NAMED), "--delta", "0.05", "--epsilon", "1")
    shown = lines(succeed("privacy audit", *asked))
    assert shown["with delta 0.05"] == ["epsilon 1.504077396777, odds 9/2 = 4.5"]
    # (5 - e)/10 = 0.22817181715409547…, rounded up.
    assert shown["with epsilon 1"] == ["delta ≤ 0.228171817155"]
    assert len(shown["worst set S"]) == 3
    found = as_json(*asked)
    assert (found["categories"], found["responses"], found["grid"]) == (3, 3, "20")
    assert found["pure"]["epsilon"] == "1.609437912435"
    assert found["at_delta"] == {
        "epsilon": "1.504077396777",
        "odds": {"exact": "9/2", "decimal": "4.5"},
        "delta": {"exact": "1/20", "decimal": "0.05"},
        "witness": {
            "category": "high",
            "other": "low",
            "responses": ["high"],
            "probability": {"exact": "1/2", "decimal": "0.5"},
            "other_probability": {"exact": "1/10", "decimal": "0.1"},
        },
    }
    at = found["at_epsilon"]
    assert Fraction(at["delta"]["exact"]) == (5 - Fraction(at["odds"]["exact"])) / 10
    for number in (at["delta"], at["odds"]):
        assert 0 <= Fraction(Decimal(number["decimal"])) - Fraction(number["exact"]) < 1e-11


def test_no_finite_epsilon_is_said_in_words(tmp_path: Path) -> None:
    file = written(tmp_path, TRUTH)
    shown = lines(succeed("privacy audit", file, "--delta", "0.5"))
    assert shown["pure guarantee"] == ["none: no finite epsilon holds"]
    assert shown["with delta 0.5"] == ["none: no finite epsilon holds"]
    assert shown["P(S | 2)"] == ["0", "0"]
    found = as_json(file, "--epsilon", "40")
    assert found["pure"]["epsilon"] is None
    assert found["pure"]["odds"] is None
    assert found["at_epsilon"]["delta"]["exact"] == "1"


def test_long_witnesses_are_cut_in_the_text_and_whole_in_json(tmp_path: Path) -> None:
    rows = [",".join(["2"] * 40 + ["1"] * 40), ",".join(["1"] * 40 + ["2"] * 40)]
    file = written(tmp_path, "\n".join(rows))
    assert "and 28 more" in succeed("privacy audit --epsilon 0.1", file)
    assert len(as_json(file, "--epsilon", "0.1")["at_epsilon"]["witness"]["responses"]) == 40


def test_a_file_that_holds_no_matrix_is_named_and_near_sums_are_told(tmp_path: Path) -> None:
    assert "No such file" in fail("privacy audit", tmp_path / "none.csv")
    assert run("privacy audit", tmp_path).exit_code == 2
    for text, expected in (
        (b"\xff", "is not UTF-8"),
        ("no,0.33,0.66\nyes,0.5,0.5\n", "row 'no'"),
    ):
        file = written(tmp_path, text)
        message = fail("privacy audit", file)
        assert str(file) in message
        assert expected in message
    file = written(tmp_path, "no,0.333333333333,0.666666666666\nyes,0.5,0.5\n")
    assert "rows scaled to sum to exactly 1" in succeed("privacy audit", file)
    assert as_json(file)["note"] is not None


@pytest.mark.parametrize("survey", [MANIFEST, *KINDS.values()], ids=lambda survey: survey.name)
def test_the_matrix_of_a_survey_has_the_guarantee_that_its_mechanism_states(
    survey: Manifest, tmp_path: Path
) -> None:
    rows = map(survey.mechanism.row, range(len(survey.categories)))
    found = as_json(written(tmp_path, "\n".join(",".join(map(str, row)) for row in rows)))
    privacy = survey.mechanism.privacy
    assert found["pure"]["epsilon"] == str(privacy.epsilon)
    assert found["pure"]["odds"]["exact"] == str(privacy.odds)


def test_a_wrong_use_exits_with_2(tmp_path: Path) -> None:
    result = run("privacy audit", written(tmp_path, NAMED), "--authority", "00" * 32)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith("Error: ")
