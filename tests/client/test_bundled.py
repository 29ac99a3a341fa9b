"""Surveys of a bundle: declared, verified and answered without asking anybody."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.client import Survey
from deniable.fakes import FakeCollector
from deniable.messages import Repeat, SigningKey, sign_manifest
from deniable.messages.bundle import InvalidBundle, make_bundle
from tests.support.devices import Bench
from tests.support.fakes import device
from tests.support.surveys import AUTHORITY, DECLARED, MANIFEST, ORIGIN

BUNDLE = make_bundle([sign_manifest(MANIFEST, AUTHORITY)], AUTHORITY.public_key)
FILE = BUNDLE.to_json()


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


def test_an_app_may_accept_less_or_more_than_the_file_says(bench: Bench) -> None:
    survey = Survey.bundled(FILE, max_epsilon="0.5", max_total_epsilon=4)
    assert survey == replace(DECLARED, max_epsilon="0.5", max_total_epsilon=4)
    assert "0.5" in str(bench.client(surveys=[survey]).report(survey, "good").error)
    for given in ({"name": "other"}, {"categories": ("a", "b")}, {"low": 0}, {"nonsense": 1}):
        with pytest.raises(TypeError, match="declares what is asked"):
            Survey.bundled(FILE, **given)


def test_a_bundle_for_another_collector_or_of_another_authority_is_refused(bench: Bench) -> None:
    bench.surveys = [Survey.bundled(FILE)]
    with pytest.raises(ValueError, match=f"is for {ORIGIN}, not for http://127.0.0.1:1"):
        bench.client(collector="http://127.0.0.1:1")
    other = SigningKey(bytes(range(32))).public_key
    with pytest.raises(ValueError, match="not the authority that this client was given"):
        bench.client(authority=other)
    bench.surveys = [replace(bench.surveys[0], bundle=None)]
    bench.client(collector="http://127.0.0.1:1", authority=other)


KEPT = {"repeat": Repeat("memoised", 3)}
TWO_ROUND = {**KEPT, "kind": "two-round", "settings": {"kept": "2"}}


@pytest.mark.parametrize(
    "terms", [{}, KEPT, TWO_ROUND, {"kind": "numeric"}, {"epoch_seconds": 3600}]
)
def test_any_kind_is_answered_offline(collector: FakeCollector, terms: dict[str, Any]) -> None:
    cups = Survey.numeric("cups", "How many cups?", low=0, high=8, max_epsilon="1")
    key = bytes.fromhex(collector.authority)
    bundle = make_bundle([collector.publish(cups, **terms)], key)
    with device(collector, Survey.bundled(bundle.to_json())) as client:
        assert client.report("cups", 3, strict=True).ok
        assert collector.requests == ()
        assert client.flush().delivered == 1
