"""The module of examples/browser on the vectors of its kinds, in Node and in Chromium.

And its noise against the exact law: fixed words, and the generator's own.
"""

import gzip
import re
from typing import Any

import pytest
from scipy.stats import chi2

from deniable.messages.specification import Specification
from tests.browser_device.places import Tried
from tests.support.effort import some
from tests.support.entries import probability
from tests.support.processes import ROOT
from tests.vectors.mechanisms import MEAN
from tests.vectors.stored import name_of, vectors_of

KINDS = {"randomised-response", "subset", "affine", "mean"}
UNSUPPORTED = {"code": "unsupported"}
FALSE_ALARM = 1e-9


def of_kinds(topic: str) -> list[dict[str, Any]]:
    tests = [test for test in vectors_of(topic) if test["mechanism"]["kind"] in KINDS]
    assert len({test["mechanism"]["kind"] for test in tests}) == len(KINDS)
    return tests


def compare(
    tried: Tried, topic: str, tests: list[dict[str, Any]], *names: str, also: Any = None
) -> list[dict[str, Any]]:
    """Compare what came of valid tests by these names, and the codes of others; return it."""
    results = tried(topic, tests)
    wrong = {}
    for test, result in zip(tests, results, strict=True):
        expected = {name: test[name] for name in names if name in test}
        if test["result"] == "invalid":
            expected = {"code": test["code"]}
        if not expected.items() <= result.items() and not (also and also(test, result)):
            wrong[name_of(test)] = result
    assert wrong == {}
    return results


def test_msgpack_has_one_form(tried: Tried) -> None:
    compare(tried, "msgpack", vectors_of("msgpack"), "value", "encoded")


def test_mechanisms_are_the_same_integers(tried: Tried) -> None:
    tests = [test | {"ratio": "0"} for test in of_kinds("mechanisms")]  # odds are the same
    names = ("lies", "inside", "outside", "responses", "first_row", "middle_row")
    results = compare(tried, "mechanisms", tests, *names)
    assert {result.get("ratio", "0") for result in results} == {"0"}


def test_the_same_words_give_the_same_response(tried: Tried) -> None:
    compare(tried, "samplers", of_kinds("samplers"), "response", "consumed")


def test_reports_are_the_same_bytes(tried: Tried) -> None:
    tests = [test for test in vectors_of("report_keys") if test["credential"] is None]
    assert tests
    compare(tried, "report_keys", tests, "envelope")


def test_manifests_are_taken_or_refused_by_their_code(tried: Tried) -> None:
    def foreign(test: dict[str, Any], result: dict[str, Any]) -> bool:
        """Return whether it is refused as of no kind, repetition or enrolment of this device."""
        # What is wrong besides may be seen first, or not.
        return result == UNSUPPORTED and (
            test["kind"] not in KINDS or test["repeat"] != "fresh" or test["enrolment"] != "open"
        )

    tests = vectors_of("manifests")
    results = compare(tried, "manifests", tests, "survey_id", also=foreign)
    taken = [test for test, result in zip(tests, results, strict=True) if "survey_id" in result]
    assert len({test["fields"]["mechanism"]["kind"] for test in taken}) == len(KINDS)
    assert all(test["result"] == "valid" for test in taken)


def test_offered_manifests_are_told_apart(tried: Tried) -> None:
    tests = [
        {**test, "envelopes": [envelope for envelope, _ in test.get("offered", [])]}
        for test in vectors_of("offered_manifests")
    ]
    compare(tried, "offered_manifests", tests, "envelopes")


def test_answers_are_acted_on_only_if_they_are_known(tried: Tried) -> None:
    tests = [test for test in vectors_of("answers") if test["sent"] == 1]
    assert len(tests) > 20
    wrong = {}
    for test, result in zip(tests, tried("answers", tests), strict=True):
        expected = None
        if test["result"] == "valid" and test["status"] == 200:
            counts = "accepted" if test["accepted"] else "duplicate"
            expected = test["refused"][0]["code"] if test["refused"] else counts
        elif test["result"] == "valid":
            expected = test["problem"]
        if result != {"verdict": expected}:
            wrong[name_of(test)] = result
    assert wrong == {}


@pytest.mark.parametrize(
    ("mechanism", "categories", "epsilon"),
    some(
        [
            ({"kind": "affine", "q": 5, "m": 2, "s": 2}, 20, "0.5"),
            ({"kind": "randomised-response"}, 5, "1"),
            ({"kind": "subset", "d": 2}, 6, "1"),
            (MEAN, 7, "1"),
        ]
    ),
)
def test_noise_has_the_exact_law(
    tried: Tried, mechanism: dict[str, Any], categories: int, epsilon: str
) -> None:
    exact = Specification.from_map(mechanism).mechanism(categories, epsilon, "0")
    answer, count = 3, 50_000
    asked = {"mechanism": mechanism, "categories": categories, "epsilon": epsilon, "delta": "0"}
    asked |= {"answer": answer, "count": count, "responses": exact.responses}
    ((counts,),) = [tuple(result.values()) for result in tried("drawn", [asked])]
    expected = [float(probability(exact, answer, y)) * count for y in range(exact.responses)]
    assert min(expected) > 20
    statistic = sum((n - e) ** 2 / e for n, e in zip(counts, expected, strict=True))
    # Of a right sampler one run in 10^9 fails.
    assert statistic < chi2.isf(FALSE_ALARM, exact.responses - 1)


def test_the_readme_has_the_modules_size() -> None:
    folder = ROOT / "examples" / "browser"
    module = (folder / "deniable.js").read_bytes()
    sizes = (len(module), len(gzip.compress(module)))
    said = "{:,} bytes, {:,} gzipped".format(*(round(size, -3) for size in sizes))
    assert said in (folder / "README.md").read_text("utf-8")
    assert not re.search(rb"^import |\bimport\(", module, re.MULTILINE), "no dependencies"
