"""The kit's hostile collector takes the module through the rules, in Node and in a page."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from deniable.conformance import RULES
from tests.browser.watched import chromium
from tests.browser_device.places import node

NOT_OFFERED = {
    "node": {"D13", "blind", "log"},  # a relay, an issuer, and pinned witnesses
    "chromium": {"D9", "D13", "blind", "log"},  # IndexedDB's own files are the browser's
}
SOON = {("node", "works"), ("node", "D8"), ("chromium", "works")}
CASES = [
    (place, rule)
    for place in sorted(NOT_OFFERED)
    for rule in RULES
    # It takes hundreds of browsers: test_vectors has the law of noise in a page.
    if (place, rule) != ("chromium", "noise")
]


def adapter(place: str, profiles: Path) -> str:
    if place == "node":
        return f"{node()} tests/browser_device/conformance_device.mjs"
    chromium()
    return f"{sys.executable} -m tests.browser_device.conformance_page {profiles}"


@pytest.mark.parametrize(
    ("place", "rule"),
    [case if case in SOON else pytest.param(*case, marks=pytest.mark.long) for case in CASES],
)
def test_a_rule_holds_or_is_not_offered(
    place: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    command = ["conformance", "--device", adapter(place, tmp_path), "--rule", rule, "--json"]
    done = CliRunner().invoke(deniable, command)
    (row,) = json.loads(done.output)["rules"]
    assert row["verdict"] == ("not offered" if rule in NOT_OFFERED[place] else "holds"), row
    assert done.exit_code == 0
