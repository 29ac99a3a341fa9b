"""What changed between two manifests of a name, in words: every field has some."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import msgpack
import pytest

from deniable.messages import RANDOMISED_RESPONSE, Manifest
from deniable.publishing.changes import changes
from tests.messages.test_manifest_fields import TAKEN
from tests.support.effort import some
from tests.support.kinds import SURVEYS, calibrated, example_survey
from tests.support.surveys import DAY, manifest
from tests.vectors.scene import BLIND_SURVEY, ISSUER, NEXT_ISSUER, OPEN_SURVEY, manifest_fields

FIELDS = [field for field in manifest_fields() if field != "version"]
VALUES = {
    field: [value for value in TAKEN[field] if not isinstance(value, list) or len(value) < 1_000]
    for field in FIELDS
}


def of(**fields: Any) -> Manifest:
    return Manifest.from_payload(msgpack.packb(manifest_fields(**fields)))


MANIFESTS = [
    *(OPEN_SURVEY, BLIND_SURVEY, *SURVEYS),
    *(of(**{field: value}) for field in FIELDS for value in VALUES[field]),
]


def test_two_manifests_differ_if_and_only_if_a_change_is_told() -> None:
    for before, after in some(some([*product(MANIFESTS, repeat=2)])):
        told = changes(before, after)
        assert bool(told) is (before != after), (before, after)
        # What weakens privacy comes first, and nothing is said twice.
        assert not any(two.weakens and not one.weakens for one, two in pairwise(told))
        assert len({change.text for change in told}) == len(told)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_differs_is_told_of(field: str) -> None:
    for value in VALUES[field]:
        after = of(**{field: value})
        told = changes(OPEN_SURVEY, after)
        assert {change.field for change in told} == ({field} if after != OPEN_SURVEY else set())
        assert all(change.text.isprintable() for change in told)


def changed(field: str, before: Any, after: Any, **fields: Any) -> list[str]:
    told = changes(of(**{field: before}, **fields), of(**{field: after}, **fields))
    return [str(change) for change in told]


CERTIFICATE = {"mode": "certificate", "issuers": [ISSUER.public_key]}
OTHER_ISSUER = {"mode": "certificate", "issuers": [NEXT_ISSUER.public_key]}
KEPT = [{"kind": "memoised", "epochs": epochs} for epochs in (2, 4)]


@pytest.mark.parametrize(
    ("field", "less", "more", "lower", "raised"),
    [
        (
            *("epsilon", "1", "2"),
            "epsilon was lowered from 2 to 1: answers are harder to guess; a response is at most "
            "2.72 times as likely with one answer as with another; previously, at most 7.39 times "
            "as likely",
            "epsilon was raised from 1 to 2: answers are easier to guess; a response is at most "
            "7.39 times as likely with one answer as with another; previously, at most 2.72 times "
            "as likely",
        ),
        (
            *("delta", "0", "0.01"),
            "delta was lowered from 0.01 to 0: delta may be added to each probability that "
            "epsilon limits",
            "delta was raised from 0 to 0.01: delta may be added to each probability that "
            "epsilon limits",
        ),
        (
            *("epoch_seconds", 7 * DAY, DAY),
            "answers are reported less often: every week instead of every day",
            "answers are reported more often: every day instead of every week",
        ),
        (
            *("epochs", 8, 16),
            "a device may report 8 times in total instead of 16",
            "a device may report 16 times in total instead of 8",
        ),
        (
            *("minimum_reports", 100, 1),
            "figures appear after more reports: 100 instead of 1",
            "figures appear after fewer reports: 1 instead of 100",
        ),
        (
            *("repeat", KEPT[1], KEPT[0]),
            "responses are kept for 4 epochs instead of 2",
            "responses are kept for 2 epochs instead of 4: taken together, all reports reveal more",
        ),
        (
            *("repeat", KEPT[0], {"kind": "fresh"}),
            "responses are kept for 2 epochs instead of being drawn afresh: repeating an answer "
            "reveals little more, but kept responses can show that an answer changed, and can "
            "link reports",
            "responses are drawn afresh for each report and no longer kept: taken together, all "
            "reports of an answer reveal more",
        ),
        (
            *("enrolment", {"mode": "open"}, CERTIFICATE),
            "enrolment changed from certificate to open: nobody vouches that each report comes "
            "from a different device",
            "enrolment changed from open to certificate: an issuer vouches for devices, and can "
            "link an account to its report's key",
        ),
    ],
)
def test_what_weakens_privacy_is_marked_and_its_reverse_is_not(
    field: str, less: object, more: object, lower: str, raised: str
) -> None:
    assert changed(field, less, more) == [f"! {raised}"]
    assert changed(field, more, less) == [lower]


def test_answers_are_listed_and_parties_named() -> None:
    assert changed("categories", ["no", "yes"], ["no", "yes", "maybe"]) == [
        "an answer was added: “maybe”"
    ]
    assert changed("categories", ["a", "no", *"bcdefg"], ["a", "yes"]) == [
        "an answer was added: “yes”",
        "7 answers were removed: “no”, “b”, “c”, “d”, “e” and 2 more",
    ]
    assert changed("categories", ["no", "yes"], ["yes", "no"]) == [
        "the answers are in a different order"
    ]
    assert changed("question", "How?", "Why?") == [
        "the question changed from “How?” to “Why?”",
    ]
    assert changed("origin", "https://a.example", "https://b.example") == [
        "! reports go to another collector: https://b.example instead of https://a.example"
    ]
    assert changed("enrolment", CERTIFICATE, OTHER_ISSUER) == [
        f"! another issuer vouches for devices: {NEXT_ISSUER.public_key.hex()}",
        f"an issuer no longer vouches for devices: {ISSUER.public_key.hex()}",
    ]
    assert changed("sequence", 1, 2, nonce=bytes(16)) == [
        "only the number changed: the survey was published again"
    ]


def test_a_mechanism_that_tells_more_at_the_same_epsilon_is_marked() -> None:
    def kept(epsilon: str) -> Manifest:
        return example_survey("two-round", {"kept": epsilon}, ("never", "sometimes", "always"))

    told = [str(change) for change in changes(kept("2"), kept("3"))]
    assert told[0] == "! the epsilon of a kept response was raised from 2 to 3"
    assert told[1].startswith("answers are randomised by two-round (kept = 3")
    lowered = [str(change) for change in changes(kept("3"), kept("2"))]
    assert lowered[-1] == "the epsilon of a kept response was lowered from 3 to 2"
    # The line of epsilon has the odds, and that of the mechanism does not repeat them.
    stronger = [str(one) for one in changes(kept("3"), replace(kept("4"), epsilon="2"))]
    assert sum(" times as likely" in one for one in stronger) == 1
    assert any(one.endswith("(kept = 3, fresh = subset (d = 1))") for one in stronger)
    # The pure level of this matrix is ln 2, though the survey promises 2.
    thirds = ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3)))
    settings = {"matrix": thirds}
    private = calibrated("matrix", 2, "2", settings)
    before = manifest(epsilon="2", categories=("yes", "no"), specification=private)
    (change,) = changes(before, replace(before, specification=RANDOMISED_RESPONSE))
    assert str(change) == (
        "! answers are randomised by randomised-response instead of matrix: a response is at most "
        "7.39 times as likely with one answer as with another; previously, at most 2.01 times as "
        "likely"
    )
