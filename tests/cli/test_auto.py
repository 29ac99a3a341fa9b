"""The mechanism of a survey file that names none, and what is told about it."""

import pytest

from deniable.messages import RANDOMISED_RESPONSE, InvalidManifest, Specification
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY, Workplace, succeed, without_places

KEPT = {"repeat": '"memoised"', "memoised_epochs": "10"}


def written(count: int, epsilon: str = "1", **changes: str) -> str:
    listed = ", ".join(f'"c{number}"' for number in range(count))
    changes = {"categories": f"[{listed}]", "epsilon": f'"{epsilon}"', **changes}
    lines = [line for line in SURVEY.splitlines() if line.partition(" =")[0] not in changes]
    return "\n".join(lines + [f"{field} = {value}" for field, value in changes.items()])


def specification(text: str) -> Specification:
    """Return the mechanism of the manifest that a file makes."""
    return next_manifest(SurveyFile.parse(text), [], "http://[::1]", bytes(16), 0).specification


def test_kept_responses_are_few() -> None:
    assert specification(written(6, "0.3")) == Specification("subset", {"d": 3})
    kept = specification(written(6, "0.3", **KEPT))
    assert kept == Specification("subset", {"d": 2})  # 15 responses, not 20
    kept = specification(written(16, "1", **KEPT))
    assert kept == Specification("difference-set", {"v": 16})
    assert specification(written(16, "2", **KEPT)) == RANDOMISED_RESPONSE
    with pytest.raises(InvalidManifest, match="repeat: may be memoised with at most 16"):
        specification(written(17, **KEPT))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (written(16, mechanism='"affine"', q="17"), "m"),
        (written(16, mechanism='"affine"', q="16", m="1", s="2"), "q"),
        (written(16, mechanism='"affine"', q="5000", m="1", s="2"), "q"),
        (written(16, mechanism='"affine"', q="0", m="1", s="2"), "mechanism"),
        (written(16, mechanism='"affine"', q="17", m="1", s="17"), "s"),
        (written(12, mechanism='"subset"', d="12"), "d"),
        (written(14, mechanism='"difference-set"', v="13"), "v"),
        (written(14, mechanism='"difference-set"', v="12"), "mechanism"),
        (written(17, mechanism='"difference-set"'), "mechanism"),
        (written(120, mechanism='"subset"', d="60"), "d"),
        (written(16, mechanism='"affine"', q="13", m="1", s="2"), "m"),
        (written(16, mechanism='"subset"', d='"2"'), "mechanism"),
        (written(105, mechanism='"subset"'), "mechanism"),
        (written(10, mechanism='"subset"', **KEPT), "mechanism"),
        (written(16, "0", mechanism='"affine"'), "epsilon"),
        (written(16, mechanism='"affine"', delta='"1"'), "delta"),
        (written(1, mechanism='"affine"'), "categories"),
        (written(16, q="17"), "q"),
        (written(16, mechanism='"subset"', s="17"), "s"),
    ],
)
def test_a_design_that_cannot_be_is_refused_by_its_field(text: str, field: str) -> None:
    with pytest.raises(InvalidManifest) as refused:
        specification(text)
    assert refused.value.field == field


def test_publishing_and_showing_explain_the_choice(place: Workplace) -> None:
    shown = place.publish(written(105, "0.5", epochs="52"))
    for text in (shown, succeed("survey", "show", "tea", "--dir", place.directory)):
        told = " ".join(text.split())
        for part in (
            "mechanism affine (q = 113, m = 1, s = 43), a design of 904 responses; each supports "
            "about 40 of 105 answers",
            "users all shares together: within 0.2 % of the fewest possible in the "
            "worst case; randomised response would take 16.26 times as",
            "adds up 52 reports of a device favour its answers over any one alternative by at most "
            "epsilon 15.000, except with a chance of 1 in 1,000,000 (randomised response: 3.500, "
            "with 16.26 times as many users); devices charge the plain sum, 26.000",
            "guarantee: epsilon 0.5 exactly",
        ):
            assert part in told
    told = " ".join(shown.split())
    assert (
        'no device answers this unless its app sets lifetime_epsilon = "26": it costs 26.000, and '
        "devices spend 20 at most. It fits with 40 epochs, with epsilon 0.38, or with fewer, longer"
    ) in told
    assert "whatever the share; within ± 0.5, as many small shares need, " in told
    assert 'in your app, with Client(lifetime_epsilon="26"), or bundle' in told
    terms = without_places(shown.partition("costs")[0])
    assert max(map(len, terms)) <= 80


def test_a_large_delta_is_warned_of(place: Workplace) -> None:
    shown = " ".join(place.publish(written(16, delta='"0.5"', epochs="3")).split())
    assert "warning delta 0.5 lets a report be worth more than epsilon 1; devices charge " in shown
    assert "warning" not in place.publish(written(16, delta='"0.001"', epochs="3"))
