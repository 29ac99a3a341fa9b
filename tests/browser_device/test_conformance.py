"""The kit's hostile collector takes the package through all rules, in Node and in a page."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from deniable.conformance import RULES
from tests.browser.watched import chromium
from tests.browser_device.places import node


def adapter(place: str, profiles: Path) -> str:
    if place == "node":
        return f"{node()} tests/browser_device/conformance_device.mjs"
    chromium()
    return f"{sys.executable} -m tests.browser_device.conformance_page {profiles}"


@pytest.mark.parametrize(
    ("place", "rules"),
    [
        ("node", ["works"]),
        pytest.param("node", [*RULES][1:], marks=pytest.mark.long),
        pytest.param("chromium", [*RULES], marks=pytest.mark.long),
    ],
)
def test_each_rule_holds_or_is_not_offered(
    place: str, rules: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    chosen = [word for rule in rules for word in ("--rule", rule)]
    command = ["conformance", "--device", adapter(place, tmp_path), *chosen, "--json"]
    done = CliRunner().invoke(deniable, command)
    absent = {"D9"} if place == "chromium" else set()  # the browser's own files
    verdicts = {row["rule"]: row["verdict"] for row in json.loads(done.output)["rules"]}
    assert verdicts == {r: "not offered" if r in absent else "holds" for r in rules}, done.output
    assert done.exit_code == 0
