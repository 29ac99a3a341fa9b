"""The bundle: all of it follows from what the authority signed, whatever kind of survey it is."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from deniable.client import Survey
from deniable.counterparts.signing import sign_gateway_keys, sign_manifest
from deniable.messages import Enrolment, Manifest, Repeat, Schedule, SigningKey, Specification
from deniable.messages.bundle import InvalidBundle, declaration_of, make_bundle, read_bundle
from deniable.messages.gateway import GatewayKeys
from deniable.oblivious_http import KeyConfiguration
from deniable.planning.calibration import calibrated
from tests.support.kinds import MATRIX
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, MANIFEST, QUESTION, START, manifest

KEY = AUTHORITY.public_key
TWO_ROUND = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})
KEPT = {"max_kept_epsilon": "2"}


KINDS: dict[str, tuple[Manifest, dict[str, Any]]] = {
    "plain": (MANIFEST, {}),
    "delta": (manifest(delta="0.001"), {"max_delta": "0.001"}),
    "hourly": (manifest(schedule=Schedule(START, 3600, 8, DAY)), {"min_epoch_seconds": 3600}),
    "slow": (manifest(schedule=Schedule(START, DAY, 8, 91 * DAY)), {"max_grace_seconds": 91 * DAY}),
    "memoised": (manifest(repeat=Repeat("memoised", 53)), {"max_kept_epsilon": "1"}),
    "long-kept": (
        manifest(repeat=Repeat("memoised", 54)),
        {"max_kept_epsilon": "1", "max_kept_epochs": 54},
    ),
    "two-round": (manifest(repeat=Repeat("memoised", 3), specification=TWO_ROUND), KEPT),
    "matrix": (MATRIX, {"mechanisms": ["matrix"]}),
    "certificate": (manifest(enrolment=Enrolment("certificate", (KEY,))), {}),
}


NUMERIC = manifest(categories=("-0.5", "0", "0.5", "1"), specification=calibrated("mean", 4, "1"))


def survey_of(declared: dict[str, Any]) -> Survey:
    return Survey.numeric(**declared) if "low" in declared else Survey(**declared)


@pytest.mark.parametrize(("survey", "terms"), KINDS.values(), ids=KINDS)
def test_a_declaration_says_what_the_survey_needs_and_no_more(
    survey: Manifest, terms: dict[str, Any]
) -> None:
    asked = {"name": survey.name, "question": QUESTION, "categories": list(CATEGORIES)}
    assert declaration_of(survey) == {**asked, "max_epsilon": "1", **terms}


def test_what_a_declaration_leaves_out_is_the_clients_default() -> None:
    defaults = {field.name: field.default for field in fields(Survey)}
    assumed = {"min_epoch_seconds": DAY, "max_grace_seconds": 90 * DAY, "max_kept_epochs": 53}
    assert all(defaults.get(name, value) == value for name, value in assumed.items())


def test_a_numeric_survey_is_declared_by_its_range() -> None:
    declared = declaration_of(NUMERIC)
    # Not all answers are alike: no app takes it unnamed.
    terms = {"low": "-0.5", "high": "1", "step": "0.5", "mechanisms": ["mean"]}
    asked = {"name": NUMERIC.name, "question": QUESTION, "max_epsilon": "1"}
    assert declared == asked | terms
    assert survey_of(declared).categories == NUMERIC.categories


@pytest.mark.parametrize("survey", [*(each for each, _ in KINDS.values()), NUMERIC])
def test_a_bundle_reads_as_it_was_written(survey: Manifest) -> None:
    bundle = make_bundle([sign_manifest(survey, AUTHORITY)], KEY)
    read = read_bundle(bundle.to_json())
    assert read == bundle
    assert (read.origin, read.authority) == (survey.origin, KEY)
    assert read.declaration == bundle.declaration


def test_gateway_keys_stand_beside_the_survey_they_are_for() -> None:
    signed = [sign_manifest(MANIFEST, AUTHORITY)]
    keys = GatewayKeys(MANIFEST.origin, 1, (KeyConfiguration(0, bytes(range(32))),))
    bundle = make_bundle(signed, KEY, sign_gateway_keys(keys, AUTHORITY))
    assert read_bundle(bundle.to_json()) == bundle
    assert bundle.gateway is not None
    for other in (
        sign_gateway_keys(keys, SigningKey(bytes(32))),
        sign_gateway_keys(replace(keys, origin="https://elsewhere.example"), AUTHORITY),
        bundle.gateway[:-1],
    ):
        with pytest.raises(InvalidBundle):
            make_bundle(signed, KEY, other)


LATER = sign_manifest(manifest(sequence=1, schedule=Schedule(START + DAY, DAY, 8, DAY)), AUTHORITY)
STRANGER = SigningKey(bytes(range(32)))
OTHERS: list[dict[str, Any]] = [
    *({"name": "another"}, {"question": "Another?"}, {"categories": CATEGORIES[::-1]}),
    {"origin": "https://elsewhere.example"},
]


@pytest.mark.parametrize(
    "envelopes",
    [
        *([], [sign_manifest(MANIFEST, STRANGER)], [LATER, sign_manifest(MANIFEST, STRANGER)]),
        [sign_manifest(MANIFEST, AUTHORITY)[:-1]],
        *([LATER, sign_manifest(replace(MANIFEST, **other), AUTHORITY)] for other in OTHERS),
    ],
)
def test_only_what_goes_together_and_is_signed_is_bundled(envelopes: list[bytes]) -> None:
    with pytest.raises(InvalidBundle):
        make_bundle(envelopes, KEY)


GOOD = json.loads(make_bundle([sign_manifest(MANIFEST, AUTHORITY)], KEY).to_json())
DECLARED: dict[str, Any] = GOOD["declaration"]


@pytest.mark.parametrize(
    "spoilt",
    [
        *(GOOD | {"format": "deniable-survey-2"}, GOOD | {"origin": "https://elsewhere.example"}),
        *(GOOD | {"authority": key} for key in (STRANGER.public_key.hex(), KEY.hex().upper(), 7)),
        *(GOOD | {"manifests": []}, GOOD | {"manifests": "text"}, GOOD | {"manifests": None}),
        GOOD | {"manifests": [GOOD["manifests"][0] + "\n"]},
        *(GOOD | {"gateway": None}, GOOD | {"gateway": "00"}, GOOD | {"more": 1}, list(GOOD)),
        GOOD | {"declaration": DECLARED | {"max_epsilon": "2"}},
        GOOD | {"declaration": DECLARED | {"question": "Another?"}},
        GOOD | {"declaration": DECLARED | {"categories": list(CATEGORIES[::-1])}},
        GOOD | {"declaration": DECLARED | {"max_kept_epsilon": "1"}},
        {key: GOOD[key] for key in GOOD if key != "declaration"},
    ],
)
def test_a_file_that_says_what_nobody_signed_is_refused(spoilt: Any) -> None:
    with pytest.raises(InvalidBundle, match="export"):
        read_bundle(json.dumps(spoilt).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"\x92\xc4"])
def test_a_file_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidBundle, match="survey export"):
        read_bundle(data)
