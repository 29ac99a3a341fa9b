"""This SDK's own device passes, and the tester says so; one that answers nonsense does not."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from deniable.conformance import RULES

ROOT = Path(__file__).parents[2]
OURS = f"{sys.executable} {ROOT}/examples/conformance_device.py"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(deniable, ["conformance", *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "rules", [("works", "D6"), pytest.param((), marks=pytest.mark.long, id="all")]
)
def test_our_own_device_passes(rules: tuple[str, ...]) -> None:
    chosen = [word for rule in rules for word in ("--rule", rule)]
    status, output = run("--device", OURS, *chosen, "--json")
    found = {row["rule"]: (row["verdict"], row["seen"]) for row in json.loads(output)["rules"]}
    assert found == {rule: ("holds", []) for rule in rules or RULES}
    assert status == 0


def test_a_rule_that_a_device_does_not_offer_is_never_passed(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "from examples import conformance_device as device\n"
        "for key in ('erases', 'covers'):\n    device.OFFERS[key] = False\n"
        "device.main(device.ConformanceDevice())\n"
    )
    device = f"{sys.executable} {script}"
    status, output = run("--device", device, "--rule", "D9", "--rule", "D12", "--json")
    verdicts = {row["rule"]: row["verdict"] for row in json.loads(output)["rules"]}
    assert (status, verdicts) == (0, {"D9": "not offered", "D12": "not offered"})


@pytest.mark.parametrize(
    ("program", "why"),
    [
        # Each reads what it is asked, or the kit may find the pipe closed.
        ("input(); print('[]')", "not a JSON object"),
        ("import sys; input(); sys.exit('no such thing')", "no such thing"),
        ("import json; input(); print(json.dumps(dict(error='not today')))", "not today"),
    ],
)
def test_a_device_that_does_not_answer_is_an_error_of_one_line(program: str, why: str) -> None:
    status, output = run("--device", f'{sys.executable} -c "{program}"')
    assert status == 1
    assert why in output.splitlines()[-1]


def test_a_device_that_breaks_off_is_not_judged_and_fails(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    hello = json.loads(line)['do'] == 'hello'\n"
        "    print(json.dumps({'device': 'x', 'offers': {}} if hello else {'error': 'lost'}))\n"
        "    sys.stdout.flush()\n"
    )
    status, output = run("--device", f"{sys.executable} {script}", "--rule", "works")
    assert status == 1
    assert "not judged" in output
    assert "lost" in output


def test_only_rules_that_there_are_can_be_chosen() -> None:
    status, output = run("--device", OURS, "--rule", "D99")
    assert status == 2
    assert "D99 is not one of works, D1" in output
