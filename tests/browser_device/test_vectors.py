"""The npm package on the vectors of its kinds, its noise and its words, in Node and in Chromium.

The noise is compared with the exact law, the words with those of the Python device.
"""

import os
import shutil
from base64 import b64encode
from typing import Any

import pytest
from playwright.sync_api import Browser
from scipy.stats import chi2

from deniable.client import Survey
from deniable.client.explaining.prompt import Promise, in_short
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule
from deniable.messages.specification import Specification
from deniable.terms.sentences import catalogue, summary
from tests.browser_device.places import Tried, node, repository
from tests.support.effort import some
from tests.support.entries import probability
from tests.support.processes import ROOT, run
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, ORIGIN, QUESTION, manifest
from tests.vectors.mechanisms import MEAN

FALSE_ALARM = 1e-9
LEVELS = {
    "kind": "levels",
    "widths": (2, 1),
    "mechanisms": (("randomised-response",), ("subset", 2)),
}
_CHECKED = """async (topics) => {
    const { CHECKS, testsIn } = await import("/client/javascript/test/vectors.js");
    const read = async (topic) =>
        testsIn(await (await fetch(`/tests/vectors/${topic}.json`)).json());
    for (const check of Object.values(CHECKS)) await check(read);
    return Object.keys(CHECKS).length;
}"""


def test_npm_test_passes() -> None:
    node()
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    done = run(["npm", "test", "--silent", "--prefix", "client/javascript"], cwd=ROOT)
    if os.environ.get("TESTS_REQUIRE_ALL") == "1":
        assert "skipped 0" in done.stdout, "after npm ci nothing is skipped"


@pytest.mark.long
def test_a_page_makes_the_same_of_the_vectors(browser: Browser) -> None:
    with repository() as origin, browser.new_page() as page:
        page.goto(f"{origin}/tests/")
        assert page.evaluate(_CHECKED) > 5


@pytest.mark.parametrize(
    ("mechanism", "categories", "epsilon"),
    some(
        [
            ({"kind": "affine", "q": 5, "m": 2, "s": 2}, 20, "0.5"),
            ({"kind": "randomised-response"}, 5, "1"),
            ({"kind": "subset", "d": 2}, 6, "1"),
            (LEVELS, 5, "1"),
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


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_the_three_lines_are_those_of_the_python_device(tried: Tried, language: str) -> None:
    signed, expected = [], []
    translate = catalogue(language)
    for number, (terms, epsilon, seconds, epochs) in enumerate(
        [
            ({"kind": "randomised-response"}, "1", DAY, 30),
            ({"kind": "randomised-response"}, "6", 7 * DAY, 1),
            ({"kind": "randomised-response"}, "20", 14 * DAY, 2000),
            ({"kind": "subset", "d": 2}, "0.5", 36 * 3600, 7),
            ({"kind": "affine", "q": 5, "m": 1, "s": 2}, "1.5", 90 * 60, 7),
            (LEVELS, "4", DAY, 7),
            (MEAN, "2", DAY, 7),
        ]
    ):
        numbers = tuple(map(str, range(len(CATEGORIES))))
        made = manifest(
            name=f"survey-{number}",
            categories=numbers,
            specification=Specification.from_map(terms),
            epsilon=epsilon,
            schedule=Schedule(4_000_000_000, seconds, epochs, DAY),
        )
        signed.append(made)
        expected.append(list(summary(made, translate)))
    lines = {"max_epsilon": "40", "min_epoch_seconds": 1, "max_epoch_seconds": 400 * DAY}
    surveys: list[Any] = [
        {"name": made.name, "question": QUESTION, "categories": made.categories}
        | lines
        | {"mechanisms": [made.kind.name]}
        for made in signed
    ]
    for epsilon, delta in (("1", "0"), ("0.75", "0"), ("20", "0"), ("1", "0.001")):
        declared = Survey("new", QUESTION, CATEGORIES, max_epsilon=epsilon, max_delta=delta)
        expected.append(list(in_short(Promise(declared, 1, False, ""), None, translate)))
        surveys.append(
            {"name": f"new-{len(surveys)}", "question": QUESTION, "categories": CATEGORIES}
            | {"max_epsilon": epsilon, "max_delta": delta}
        )
    test: dict[str, Any] = {"collector": ORIGIN, "authority": AUTHORITY.public_key.hex()}
    test |= {"surveys": surveys, "language": f"{language}-CH"}
    test["manifests"] = [b64encode(sign_manifest(made, AUTHORITY)).decode() for made in signed]
    assert tried("lines", [test]) == [{"lines": expected}]
