"""Surveys of a bundle: declared, verified and answered without asking anybody."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import IN_MEMORY, Client, Survey
from deniable.client.testing import FakeCollector
from deniable.messages import Repeat, SigningKey, sign_manifest
from deniable.messages.bundle import InvalidBundle, make_bundle
from tests.support.clock import FakeClock
from tests.support.surveys import AUTHORITY, DECLARED, MANIFEST, ORIGIN, START

BUNDLE = make_bundle([sign_manifest(MANIFEST, AUTHORITY)], AUTHORITY.public_key)
FILE = BUNDLE.to_json()


def client(survey: Survey, collector: str = ORIGIN, **changes: Any) -> Client:
    arguments: dict[str, Any] = {
        "authority": AUTHORITY.public_key,
        "state": IN_MEMORY,
        "consent": "on",
        "background": False,
        "clock": FakeClock(START),
        "environment": {},
        **changes,
    }
    return Client(collector, surveys=[survey], **arguments)


def test_a_survey_is_declared_by_the_files_bytes_or_its_path(tmp_path: Path) -> None:
    file = tmp_path / "survey.json"
    file.write_bytes(FILE)
    for given in (FILE, file, str(file)):
        survey = Survey.bundled(given)
        assert survey == DECLARED
        assert survey.bundle == BUNDLE
        assert "bundle" not in repr(survey)
    with pytest.raises(InvalidBundle):
        Survey.bundled(FILE[:-9])
    with pytest.raises(FileNotFoundError):
        Survey.bundled(tmp_path / "missing.json")


def test_an_app_may_accept_less_or_more_than_the_file_says() -> None:
    survey = Survey.bundled(FILE, max_epsilon="0.5", max_total_epsilon=4)
    assert survey == replace(DECLARED, max_epsilon="0.5", max_total_epsilon=4)
    with client(survey) as device:
        assert "0.5" in str(device.report(survey.name, "good").error)
    for given in ({"name": "other"}, {"categories": ("a", "b")}, {"low": 0}, {"nonsense": 1}):
        with pytest.raises(TypeError, match="declares what is asked"):
            Survey.bundled(FILE, **given)


def test_a_bundle_is_answered_before_anything_was_fetched() -> None:
    with client(Survey.bundled(FILE)) as device:
        assert device.report("rating-of-marriage", "good", strict=True).ok


def test_before_consent_the_terms_are_told() -> None:
    with client(Survey.bundled(FILE), consent="unset") as device:
        (explained,) = device.explain().surveys
    assert explained.terms is not None


def test_a_bundle_for_another_collector_or_of_another_authority_is_refused() -> None:
    survey = Survey.bundled(FILE)
    with pytest.raises(ValueError, match=f"is for {ORIGIN}, not for http://127.0.0.1:1"):
        client(survey, "http://127.0.0.1:1")
    other = SigningKey(bytes(range(32))).public_key
    with pytest.raises(ValueError, match="not the authority that this client was given"):
        client(survey, authority=other)
    client(replace(survey, bundle=None), "http://127.0.0.1:1", authority=other).close()


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"repeat": Repeat("memoised", 3)},
        {"repeat": Repeat("memoised", 3), "kind": "two-round", "kept": "2"},
        {"kind": "numeric"},
        {"kind": "ordinal", "distance": "absolute"},
        {"epoch_seconds": 3600},
    ],
    ids=["plain", "memoised", "two-round", "numeric", "ordinal", "hourly"],
)
def test_a_survey_of_any_kind_is_bundled_and_answered_offline(terms: dict[str, Any]) -> None:
    asked = Survey.numeric("cups", "How many cups?", low=0, high=8, max_epsilon="1")
    with FakeCollector() as collector:
        key = bytes.fromhex(collector.authority)
        bundle = make_bundle([collector.publish(asked, **terms)], key)
        survey = Survey.bundled(bundle.to_json())
        device = client(survey, collector.origin, authority=key, clock=None)
        with device:
            assert device.report("cups", 3, strict=True).ok
            assert collector.requests == ()
            assert device.flush().delivered == 1
