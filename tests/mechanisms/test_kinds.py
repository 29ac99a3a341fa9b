"""What holds for every kind of mechanism, for one of the tests' own too."""

import inspect
import re
from dataclasses import replace
from itertools import accumulate, permutations
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pytest

from deniable import mechanisms
from deniable.budget import RangeCost
from deniable.client import IN_MEMORY, Client, ClientSettings, ManifestRefused, Survey
from deniable.client.ledger.admission import check_declaration, fits_declaration
from deniable.estimates import estimate_histogram
from deniable.fakes import FakeCollector
from deniable.mechanisms import KINDS, MatrixPrivacy, Mechanism
from deniable.mechanisms.kind import _MODULES
from deniable.messages import InvalidManifest, Manifest, Refusal
from deniable.messages.bundle import declaration_of
from deniable.planning.calibration import CALIBRATIONS
from deniable.planning.words import KIND_WORDS
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from deniable.terms.sentences import summary
from tests.mechanisms.laws import (
    WORDS,
    assert_keeps_answers_to_itself,
    assert_samples_its_rows,
    assert_sound_rows,
    word,
    worst_ratio,
)
from tests.support.devices import entries_of
from tests.support.entries import probability
from tests.support.kinds import EXAMPLES, THREE, example_survey
from tests.support.surveys import manifest
from tests.support.toy_kind import ToyWords, calibrated_toy

DOCS = Path(__file__).parents[2] / "docs"
TOY: dict[str, Any] = {"own": 5}
ALL = EXAMPLES | {"toy": [(TOY, THREE)]}
CASES = [(name, *example) for name, examples in ALL.items() for example in examples]


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy as the recipe says: by its line in the registry, its settings and words."""
    monkeypatch.setitem(_MODULES, "toy", "tests.support.toy_kind")
    monkeypatch.setitem(CALIBRATIONS, "toy", calibrated_toy)
    monkeypatch.setitem(KIND_WORDS, "toy", ToyWords())


made: dict[int, Manifest] = {}


@pytest.fixture(params=range(len(CASES)), ids=[case[0] for case in CASES])
def case(request: pytest.FixtureRequest) -> Manifest:
    """Return a survey of each kind."""
    if request.param not in made:
        made[request.param] = example_survey(*CASES[request.param])
    return made[request.param]


def test_every_kind_is_tried() -> None:
    assert set(ALL) == set(KINDS)
    assert all(KINDS[name].name == name for name in KINDS)
    assert "exponential" not in KINDS


def test_a_survey_is_the_same_after_the_wire(case: Manifest) -> None:
    again = Manifest.from_payload(case.payload)
    assert again == case
    assert again.mechanism == case.mechanism
    assert again.specification.to_map() == case.specification.to_map()
    assert again.payload == case.payload


def test_whatever_else_stands_in_its_fields_is_malformed(case: Manifest) -> None:
    fields = msgpack.unpackb(msgpack.packb(case.specification.to_map()))
    strange: list[object] = [
        *(None, True, 1.5, -1, "", "x", b"x", [], [[]], [[[]]], {}, [1, [2]], [None, 1])
    ]
    maps = [fields | {key: value} for key in fields for value in strange]
    maps += [{key: fields[key] for key in fields if key != left} for left in fields]
    maps.append(fields | {"colour": 1})
    if len(fields) > 1:
        maps.append(dict(reversed(fields.items())))
    payload = msgpack.unpackb(case.payload)
    for changed in maps:
        if changed == fields or ("responses" in changed and changed["responses"] == []):
            continue  # no names are wanted where the responses are the categories
        with pytest.raises(Refusal) as refused:
            Manifest.from_payload(msgpack.packb(payload | {"mechanism": changed}))
        assert refused.value.code == "malformed"


def test_it_guarantees_what_its_entries_say(case: Manifest) -> None:
    mechanism = case.mechanism
    assert_sound_rows(mechanism)
    assert mechanism.privacy.odds == worst_ratio(mechanism)
    assert mechanism.privacy.satisfies(case.epsilon, case.delta)
    changed = {"categories": case.categories, "repeat": case.repeat, "epsilon": "0.6"}
    if not isinstance(
        mechanism.privacy, MatrixPrivacy
    ):  # it follows epsilon, and has no integers of its own
        lower = manifest(**changed, specification=case.specification)
        assert lower.mechanism.privacy.satisfies("0.6", "0")
    else:
        with pytest.raises(InvalidManifest, match="exceed"):
            manifest(**changed, specification=case.specification)
    assert RangeCost.of(mechanism).cumulative(1) <= 1_100_000_000


def test_d2_whether_all_answers_are_alike_is_read_off_the_matrix(case: Manifest) -> None:
    rows = [case.mechanism.row(x) for x in range(case.mechanism.categories)]
    pairs = {tuple(sorted(zip(one, other, strict=True))) for one, other in permutations(rows, 2)}
    known = not isinstance(case.mechanism.privacy, MatrixPrivacy)  # else nobody compares all rows
    assert case.mechanism.privacy.alike == (known and len(pairs) == 1)
    declared = Survey.declared(declaration_of(case))
    assert (case.kind.name in declared.mechanisms) != case.mechanism.privacy.alike
    check_declaration(case, declared)
    undeclared = replace(declared, mechanisms=())
    assert fits_declaration(case, undeclared) == case.mechanism.privacy.alike


def law(mechanism: Mechanism, x: int) -> dict[int, int]:
    """Return the law of two rounds, from the laws of both."""
    rounds = mechanism.rounds
    assert rounds is not None
    kept = list(rounds.kept.row(x))
    fresh = [list(rounds.fresh.row(point)) for point in range(len(kept))]
    return {
        y: sum(weight * row[y] for weight, row in zip(kept, fresh, strict=True))
        for y in range(mechanism.responses)
    }


def test_it_samples_its_rows_to_the_word(case: Manifest) -> None:
    mechanism, rounds = case.mechanism, case.mechanism.rounds
    if rounds is not None:
        for x in range(mechanism.categories):
            assert law(mechanism, x) == dict(enumerate(mechanism.row(x)))
        # The fresh one is a design, which test_designs.py samples.
        assert_samples_its_rows(rounds.kept, range(3), blocks(rounds.kept))
        return
    if mechanism.hit is not None or mechanism.grid != WORDS:
        return  # a design, which test_designs.py samples, or a mixture of rows, as test_mean.py
    breaks = blocks(mechanism) if hasattr(mechanism, "lies") else every_boundary(mechanism)
    assert_samples_its_rows(mechanism, range(mechanism.categories), breaks)
    assert_keeps_answers_to_itself(mechanism)
    assert mechanism.randomise(0, word(0)) in range(mechanism.responses)


def blocks(mechanism: Any) -> list[int]:
    return [mechanism.lies * y for y in range(mechanism.categories + 1)]


def every_boundary(mechanism: Mechanism) -> list[int]:
    """Return the cumulated weights of all rows, from either end: wherever a response may change."""
    sums = {part for x in range(mechanism.categories) for part in accumulate(mechanism.row(x))}
    return sorted(sums | {WORDS - part for part in sums})


def test_each_response_has_a_label_and_the_users_words_fit(case: Manifest) -> None:
    words = summary(case)[0]
    assert len(set(case.responses)) == len(case.responses) == case.mechanism.responses
    if case.mechanism.hit is not None:
        return
    if case.mechanism.truth is None:
        assert case.responses != case.categories
        assert f"which of {case.mechanism.responses} responses is sent" in words
    else:
        assert case.responses == case.categories
        assert (f", {case.kind.likeness};" in words) is words.startswith("Up to about")
        least = min(probability(case.mechanism, x, x) for x in range(len(case.categories)))
        assert case.mechanism.truth == least


def test_its_keys_are_documented_and_wanted() -> None:
    protocol = (DOCS / "protocol.md").read_text("utf-8")
    assert list(KIND_WORDS) == list(KINDS)
    for name in KINDS:
        if name != "toy":
            assert f'{{"kind": "{name}"' in protocol
    for name, settings, categories in CASES:
        wanted = set.intersection(*(set(given) for given, _ in ALL[name]))
        for key in wanted:
            without = {each: settings[each] for each in settings if each != key}
            with pytest.raises(InvalidManifest, match="is missing") as missing:
                CALIBRATIONS[name](without, len(categories), "1")
            assert missing.value.field == key


SURVEY = """\
name = "tea"
question = "How often do you drink tea?"
categories = ["never", "sometimes", "always"]
mechanism = "toy"
own = 5
epsilon = "1"
epoch = "1 day"
epochs = 3
minimum_reports = 1
"""


def test_a_kind_that_is_registered_goes_from_a_file_to_a_histogram(tmp_path: Path) -> None:
    published = next_manifest(SurveyFile.parse(SURVEY), [], "https://c.example", bytes(16), 0)
    assert published.kind.name == "toy"
    assert published.responses == (*THREE, "no idea", "declined")
    assert declaration_of(published)["mechanisms"] == ["toy"]
    declared = Survey("tea", published.question, THREE, "1", mechanisms=["toy"])
    words = Random(3)
    journalled = set()
    with FakeCollector() as collector:
        collector.publish(declared, kind="toy", settings={"own": 5})
        for device in range(24):
            with Client(
                collector.origin,
                authority=collector.authority,
                surveys=[declared],
                state=IN_MEMORY,
                consent="on",
                background=False,
                settings=ClientSettings(
                    first_epoch="now", delivery_seconds=0, unsafe_draw=lambda: words.getrandbits(64)
                ),
            ) as client:
                client.refresh()
                client.report("tea", "always" if device % 4 else "never", strict=True)
                assert client.flush(5.0).delivered == 1
                journalled |= {e.response for e in entries_of(client.journal(), "report")}
        counts = collector.counts("tea")
    assert journalled == set(published.responses) == set(counts)
    raw = [counts[label] for label in published.responses]
    histogram = estimate_histogram(published, 0, raw)
    assert (histogram.categories, histogram.responses) == (THREE, published.responses)
    assert (histogram.n, list(histogram.raw)) == (24, raw)
    # An answer is named 5/16 of the time, each other one 2/16, and the rest tells nothing. So the
    # shares that sum to 1 are 1/3 + 16/3 (c - the mean of what is named)/n.
    shares = [1 / 3 + 16 / 3 * (c - sum(raw[:3]) / 3) / 24 for c in raw[:3]]
    assert histogram.estimate == pytest.approx(shares, abs=1e-12)
    # The words are fixed, so this is no chance.
    truth = zip(histogram.low, (1 / 4, 0, 3 / 4), histogram.high, strict=True)
    assert all(low <= share <= high for low, share, high in truth)


def test_an_app_that_declares_it_not_refuses_it() -> None:
    with pytest.raises(ManifestRefused, match="mechanisms"):
        check_declaration(
            example_survey("toy", {"own": 5}, THREE),
            Survey("rating-of-marriage", "How do you rate your marriage?", THREE, "2"),
        )


def test_what_freezes_apps_sees_every_kind_imported() -> None:
    modules = {name for name in _MODULES.values() if name.startswith("deniable.")}
    imported = re.findall(
        r"^    from (deniable\.\S+) import", inspect.getsource(mechanisms), re.MULTILINE
    )
    assert modules <= set(imported)
