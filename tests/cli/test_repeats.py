"""Memoised and two-round surveys at the operator's, the auditor's and the analyst's terminal."""

import json
from pathlib import Path

import pytest

from deniable.budget import RangeCost, format_nano
from deniable.mechanisms import TwoRound
from deniable.mechanisms.subset import Subset
from deniable.messages import FRESH, InvalidManifest, Repeat, Specification, sign_manifest
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


def test_a_survey_is_fresh_unless_its_file_says_otherwise() -> None:
    for text in (SURVEY, changed(repeat='"fresh"')):
        assert SurveyFile.parse(text).repeat == FRESH
    survey = SurveyFile.parse(changed(**TWO_ROUND))
    assert survey.repeat == Repeat("memoised", 7)
    assert survey.specification == Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})


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


def test_a_two_round_survey_is_published_with_both_its_levels(place: Workplace) -> None:
    published = place.publish(**TWO_ROUND | {"epochs": "20"})
    survey = place.manifest()
    assert survey.mechanism == TwoRound(Subset(4, 1), "1", "2")
    for text in (published, shown(place)):
        assert "two rounds: the first kept for 7 epochs (1 week), the second" in text
        assert "epsilon 1 is that of one report, of both rounds" in text
        # eps_2 and ln E_2 of k = 4, E_1 = e, E_inf = e^2, rounded up: 1.678118…, 1.573172…
        flowing = " ".join(text.split())
        assert (
            "epsilon 1 by one report, at most 1.679 by two, 2 by the 7 of a range, and" in flowing
        )
        assert "changed up to epsilon 1.574 for each report" in text
        assert "    max_kept_epsilon='2',\n" in text
        assert max(map(len, without_places(text))) <= 80
    most = RangeCost.of(survey.mechanism).most(20, 7)
    assert f"epsilon {format_nano(most)} in all (20 epochs in ranges of 7" in published
    assert "with probability at least" not in shown(place)


def test_a_memoised_survey_may_last_where_a_fresh_one_is_warned_of(place: Workplace) -> None:
    assert "no device answers this unless its app" in place.publish()
    succeed("survey", "end", "tea", "--yes", "--dir", place.directory)
    published = place.publish(**MEMOISED | {"memoised_epochs": "30"})
    assert "epsilon 4.000 in all" in published
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


def test_figures_of_one_range_are_said_to_share_noise(place: Workplace) -> None:
    place.publish(**MEMOISED | {"epochs": "12"})
    for epoch in (3, 9):
        place.count([0, 1, 2, 3] * 3, epoch=epoch)
    for epoch, kept in ((3, [0, 6]), (9, [7, 11])):
        options = ("hist", "tea", "--dir", place.directory, "--epoch", str(epoch))
        assert json.loads(succeed(*options, "--json"))["kept_range"] == kept
        text = " ".join(succeed(*options).split())
        assert f"Devices keep responses for epochs {kept[0]} to {kept[1]}" in text
        assert "They are neither pooled nor compared here" in text


def test_figures_of_a_fresh_survey_share_nothing(place: Workplace) -> None:
    place.publish()
    place.count([0, 1, 2, 3])
    assert "keep responses" not in succeed("hist", "tea", "--dir", place.directory)
    body = json.loads(succeed("hist", "tea", "--dir", place.directory, "--json"))
    assert body["kept_range"] is None


def test_two_round_reports_are_debiased_with_both_rounds(place: Workplace) -> None:
    place.publish(**TWO_ROUND)
    place.count([0] * 40 + [1] * 30 + [2] * 20 + [3] * 10)
    body = json.loads(succeed("hist", "tea", "--dir", place.directory, "--json"))
    mechanism = TwoRound(Subset(4, 1), "1", "2")
    q, kappa = float(mechanism.miss), float(mechanism.hit - mechanism.miss)
    estimates = [category["estimate"] for category in body["categories"]]
    assert estimates == pytest.approx([(share - q) / kappa for share in (0.4, 0.3, 0.2, 0.1)])
    assert {category["method"] for category in body["categories"]} == {"wilson"}
    assert body["mechanism"] == "two-round"
    assert body["poisoning"]["influence"] == pytest.approx((1 - q) / kappa)


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
