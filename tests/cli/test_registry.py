"""``deniable registry``: what a manifest tells is told, what only its operator knows is marked."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.messages import Manifest, Repeat, Specification
from deniable.publishing.deployment_entry import TODO, deployment_entry, entry_yaml, open_fields
from tests.cli.commands import Workplace, fail, succeed
from tests.support.kinds import EXAMPLES
from tests.support.surveys import manifest


def of_every_kind() -> list[Manifest]:
    surveys = [
        manifest(
            categories=categories,
            specification=Specification.calibrated(kind, len(categories), "1", settings=settings),
            repeat=Repeat("memoised", 4) if kind == "two-round" else Repeat(),
        )
        for kind, examples in EXAMPLES.items()
        for settings, categories in examples
    ]
    return [*surveys, manifest(question='"Why": #|>- no?', categories=("yes: {", "- no", "null"))]


def leaves(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: leaves(value) for key, value in entry.items()}
    return " ".join(entry.split()) if isinstance(entry, str) else entry


@pytest.mark.parametrize("survey", of_every_kind(), ids=lambda survey: str(survey.kind.name))
def test_the_yaml_says_what_the_entry_does(survey: Manifest) -> None:
    entry = deployment_entry(survey)
    assert leaves(yaml.safe_load(entry_yaml(entry))) == leaves(entry)


def test_an_entry_tells_of_privacy_what_the_manifest_says() -> None:
    fresh = deployment_entry(manifest(epsilon="0.5", delta="0.001"))["deployment"]
    assert fresh["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5, "delta": 0.001}
    assert fresh["dp_variant"]["variant_name"] == "Approximate DP"
    pure = deployment_entry(manifest())["deployment"]
    assert pure["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert pure["dp_variant"]["variant_name"] == "Pure DP"
    details = pure["privacy_loss"]["privacy_parameters_details"]
    assert "by a factor of 2.72 at most" in details
    # Eight epochs of epsilon 1.
    assert "at most epsilon 8.000." in details
    kept = deployment_entry(of_every_kind()[2])["deployment"]
    assert "kept for 4 epochs" in kept["privacy_loss"]["privacy_parameters_details"]
    assert "if the answer changes between such times only" in kept["accounting"]["composition"]


def test_it_is_printed_or_written_with_what_is_left_to_fill(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish()
    there = ("registry", "tea", "--dir", place.directory)
    entry = json.loads(succeed(*there, "--json"))
    assert entry == deployment_entry(place.manifest())
    assert leaves(yaml.safe_load(succeed(*there))) == leaves(entry)
    said = succeed(*there, "--out", tmp_path / "tea.yaml").splitlines()
    assert (tmp_path / "tea.yaml").read_text("utf-8") == succeed(*there)
    assert [line.strip() for line in said[1:]] == [*open_fields(entry)]
    assert json.dumps(entry).count(TODO) == len(said) - 1
    assert "no survey 'coffee'" in fail("registry", "coffee", "--dir", place.directory)
