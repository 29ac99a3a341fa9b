"""Memoised and two-round surveys at the operator's, the auditor's and the analyst's terminal."""

import json
from pathlib import Path

import pytest

from deniable.messages import InvalidManifest, Repeat, sign_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY, Workplace, fail, succeed, without_places
from tests.support.surveys import AUTHORITY, manifest

MEMOISED = {"repeat": '"memoised"', "memoised_epochs": "7"}
TWO_ROUND = MEMOISED | {"mechanism": '"two-round"', "kept": '"2"'}


def changed(**changes: str) -> str:
    lines = [line for line in SURVEY.splitlines() if line.partition(" =")[0] not in changes]
    return "\n".join(lines + [f"{field} = {value}" for field, value in changes.items()])


def shown(place: Workplace) -> str:
    return succeed("survey", "show", "tea", "--dir", place.directory)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"repeat": '"daily"'}, "repeat"),
        ({"repeat": "7"}, "repeat"),
        ({"memoised_epochs": "7"}, "memoised_epochs"),
        ({"repeat": '"memoised"'}, "memoised_epochs"),
        (MEMOISED | {"memoised_epochs": '"7"'}, "memoised_epochs"),
        (MEMOISED | {"memoised_epochs": "1"}, "memoised_epochs"),
        (MEMOISED | {"memoised_epochs": "10001"}, "memoised_epochs"),
        (MEMOISED | {"memoised_epochs": "-7"}, "memoised_epochs"),
        (MEMOISED | {"categories": str([f"cup {n}" for n in range(17)])}, "repeat"),
        ({"mechanism": '"subset"', "kept": '"2"'}, "kept"),
        (TWO_ROUND | {"fresh": '["numeric", 1]'}, "fresh"),
        (TWO_ROUND | {"fresh": '["randomised-response"]'}, "fresh"),
        ({"mechanism": '"two-round"', "kept": '"2"'}, "repeat"),
        (MEMOISED | {"mechanism": '"two-round"'}, "kept"),
        (TWO_ROUND | {"kept": "2"}, "kept"),
        (TWO_ROUND | {"kept": '"2.0"'}, "kept"),
        (TWO_ROUND | {"kept": '"41"'}, "kept"),
        (TWO_ROUND | {"kept": '"1"'}, "epsilon"),
        (TWO_ROUND | {"delta": '"0.1"'}, "delta"),
        (TWO_ROUND | {"d": "2"}, "d"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_field(
    place: Workplace, changes: dict[str, str], field: str
) -> None:
    file = place.written(**changes)
    assert fail("survey", "publish", file, "--dir", place.directory).startswith(
        f"{file}: {field}: "
    )


def test_a_memoised_survey_is_published_with_what_keeping_does(place: Workplace) -> None:
    published = place.publish(**MEMOISED)
    survey = place.manifest()
    assert survey.repeat == Repeat("memoised", 7)
    for text in (published, shown(place)):
        assert "memoised: one response an answer, for 7 epochs (1 week)" in text
        assert "constant  answers reveal epsilon 1 in that time, however many reports" in text
        assert "changing  answers show that they changed: no epsilon covers that" in text
        assert "linking   equal responses link a device's epochs" in text
        assert "    max_kept_epsilon='1',\n" in text  # without it, devices would refuse it
        assert max(map(len, without_places(text))) <= 80
    # 30 epochs are four ranges of 7, with 4 answers at most, and 2 epochs more.
    assert "costs     a device at most epsilon 18.000 in all (30 epochs in ranges of 7" in published
    assert "warning" not in published


def test_a_repeat_that_changes_is_something_new_to_publish(place: Workplace) -> None:
    place.publish()
    assert "sequence 1" in place.publish(**MEMOISED)
    again = place.written(**MEMOISED)
    assert "nothing has changed" in fail("survey", "publish", again, "--dir", place.directory)
    assert "sequence 2" in place.publish(**MEMOISED | {"memoised_epochs": "8"})
    assert "sequence 3" in place.publish(**TWO_ROUND)
    assert "sequence 4" in place.publish(**TWO_ROUND | {"kept": '"2.5"'})


def test_the_list_tells_how_each_survey_repeats(place: Workplace) -> None:
    for name, changes in (("one", {}), ("two", MEMOISED), ("three", TWO_ROUND)):
        place.publish(name=f'"{name}"', **changes)
    listed = succeed("survey", "list", "--dir", place.directory)
    rows = {line.split()[0]: line for line in listed.splitlines()[1:] if line.strip()}
    assert "fresh" in rows["one"]
    assert "memoised, 7" in rows["two"]
    assert "two-round, 7" in rows["three"]


@pytest.mark.parametrize("kind", ["memoised", "two-round"])
def test_an_audit_says_that_it_judges_one_report_and_what_several_do(
    kind: str, tmp_path: Path
) -> None:
    survey = manifest(repeat=Repeat("memoised", 30))
    if kind == "two-round":
        specification = SurveyFile.parse(changed(**TWO_ROUND))
        survey = manifest(
            repeat=specification.repeat,
            specification=specification.specification,
            categories=tuple(f"category {number}" for number in range(300)),
        )
    file = tmp_path / "manifest"
    file.write_bytes(sign_manifest(survey, AUTHORITY))
    text = succeed("privacy", "audit", file)
    assert "that of one report" in " ".join(text.split())
    assert "constant" in text
    assert "changing" in text
    found = json.loads(succeed("privacy", "audit", file, "--json", "--epsilon", "0.5"))
    assert found["pure"]["odds"]["exact"] == str(survey.mechanism.privacy.odds)
    assert found["at_epsilon"]["delta"]["exact"] == str(survey.mechanism.privacy.delta_at("0.5"))
    assert found["pure"]["epsilon"] == str(survey.mechanism.privacy.epsilon) <= "1.000000000000"


def test_a_kept_of_no_use_is_refused_where_it_is_written() -> None:
    with pytest.raises(InvalidManifest, match="kept: is missing"):
        SurveyFile.parse(changed(**{k: v for k, v in TWO_ROUND.items() if k != "kept"}))
