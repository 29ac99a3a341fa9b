"""Surveys of several questions: declared by the app, answered with a map, by either kind."""

import json
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from random import Random
from typing import Any
from unittest.mock import MagicMock

import pytest

from deniable.budget import pure_cost
from deniable.client import Client, ManifestRefused, Survey, UndeclaredAnswer
from deniable.client.ledger.admission import check_declaration
from deniable.fakes import FakeCollector
from deniable.fakes.capture import text_of
from deniable.messages import Manifest
from deniable.messages.bundle import declaration_of, make_bundle
from deniable.planning.calibration import calibrated
from tests.support.devices import entries_of
from tests.support.fakes import device
from tests.support.surveys import manifest


class Plan(Enum):
    FREE = "free"
    PAID = "paid"


THEMES = ("light", "dark", "system")
USAGE = Survey.several(
    "usage",
    "Which plan, and which theme?",
    dimensions={"plan": Plan, "theme": THEMES},
    max_epsilon="1",
)
KINDS = ("one-question", "joint")


@pytest.fixture
def client(collector: FakeCollector) -> Iterator[Client]:
    with device(collector, USAGE, delivery_seconds=0, unsafe_draw=seeded()) as client:
        yield client


def seeded() -> Callable[[], int]:
    words = Random(5)
    return lambda: words.getrandbits(64)


def asked(kind: str, survey: Survey = USAGE, **changes: Any) -> Manifest:
    specification = calibrated(kind, 0, "1", settings={"dimensions": survey.dimensions})
    fields: dict[str, Any] = {
        "categories": specification.of_kind.labels(survey.dimensions),
        "epsilon": "1",
    }
    fields |= {"name": survey.name, "question": survey.question, "specification": specification}
    return manifest(**fields | changes)


def test_the_answers_make_the_categories() -> None:
    assert USAGE.dimensions == (("plan", "free", "paid"), ("theme", *THEMES))
    assert USAGE.categories[0] == "plan: free"
    assert asked("one-question").categories == USAGE.categories
    assert asked("joint").categories[4] == "paid + dark"
    assert USAGE.index_of({"plan": Plan.PAID, "theme": "dark"}) == 4
    assert text_of(USAGE, {"theme": "dark", "plan": "paid"}) == "paid + dark"


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_costs_once_in_each_kind(collector: FakeCollector, client: Client, kind: str) -> None:
    collector.publish(USAGE, kind=None if kind == "one-question" else kind)
    assert client.refresh().ready == ("usage",)
    outcome = client.report("usage", {"plan": "free", "theme": "dark"}, strict=True)
    assert outcome.ok
    assert client.flush().delivered == 1
    (report,) = collector.reports
    assert report.response in asked(kind).responses
    (entry,) = entries_of(client.journal(), "report")
    assert entry.cost_nano_epsilon == pure_cost(asked(kind).mechanism) <= 10**9
    said = str(client.explain())
    assert "plan: free / plan: paid / theme: light" in said
    if kind == "one-question":
        assert "one or more answers to one of the questions" in " ".join(said.split())


def test_another_answer_is_an_error_that_does_not_repeat_it(client: Client) -> None:
    hostile = MagicMock(
        spec=Mapping, __iter__=lambda _: iter(("plan", "theme")), __len__=lambda _: 2
    )
    hostile.__getitem__.return_value = "marker"
    answers: list[Any] = [
        *("free", ("free", "dark"), {}, {"plan": "free"}, {"plan": "free", "theme": "marker"}),
        {"plan": "free", "theme": "dark", "marker": "x"},
        *({"plan": "free", "marker": "dark"}, {"plan": "dark", "theme": "free"}),
        *({"plan": "free", "theme": ["marker"]}, {"plan": "free", "theme": None}, hostile, None),
    ]
    for answer in answers:
        with pytest.raises(UndeclaredAnswer) as raised:
            client.report("usage", answer)
        assert raised.value.__context__ is None
        assert "marker" not in str(raised.value)
        assert "free" not in str(raised.value)
    with pytest.raises(UndeclaredAnswer):
        Survey("tea", "Tea?", ("no", "yes"), "1").index_of({"tea": "no"})


@pytest.mark.parametrize("kind", KINDS)
def test_d1_a_manifest_of_other_questions_is_refused(kind: str) -> None:
    check_declaration(asked(kind), USAGE)
    plans = ("free", "paid")
    others = [
        asked(kind, Survey.several("usage", USAGE.question, dimensions=dimensions, max_epsilon="1"))
        for dimensions in (
            {"plan": plans, "theme": THEMES[::-1]},
            {"plan": plans, "colour": THEMES},
            {"theme": THEMES, "plan": plans},
            {"plan": plans, "theme": THEMES, "more": ("no", "yes")},
        )
    ]
    plain = manifest(name="usage", question=USAGE.question, categories=USAGE.categories)
    flat = Survey("usage", USAGE.question, asked(kind).categories, "1")
    for offered, declared in (*((other, USAGE) for other in (*others, plain)), (asked(kind), flat)):
        with pytest.raises(ManifestRefused, match="categories"):
            check_declaration(offered, declared)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_declares_the_questions(collector: FakeCollector, kind: str) -> None:
    envelope = collector.publish(USAGE, kind=kind)
    bundle = make_bundle([envelope], bytes.fromhex(collector.authority))
    survey = Survey.bundled(bundle.to_json())
    assert (survey.dimensions, survey.categories) == (USAGE.dimensions, USAGE.categories)
    with device(collector, survey) as client:
        assert client.report(survey, {"plan": Plan.FREE, "theme": "dark"}).ok
    declaration = declaration_of(asked(kind))
    assert Survey.declared(json.loads(json.dumps(declaration))) == USAGE


def test_many_questions_have_combinations_beyond_64_bits(collector: FakeCollector) -> None:
    many = Survey.several(
        "features",
        "Which of these were used?",
        dimensions={f"feature {number}": ("no", "yes") for number in range(100)},
        max_epsilon="1",
    )
    collector.publish(many)
    with device(collector, many, delivery_seconds=0, unsafe_draw=seeded()) as client:
        assert client.refresh().ready == ("features",)
        used = {f"feature {number}": "yes" if number % 3 else "no" for number in range(100)}
        assert client.report(many, used).ok
        assert client.flush().delivered == 1
        assert collector.reports[0].response in many.categories
        assert "Answers" in str(client.explain())
    assert text_of(many, used).startswith("no + yes + yes + no")
