"""What the app declares in code (D1), and what happens to an answer that it never declared."""

import inspect
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import pytest

from deniable.client import (
    IN_MEMORY,
    AppError,
    Client,
    ClientSettings,
    Consent,
    Survey,
    UndeclaredAnswer,
    UndeclaredSurvey,
)
from deniable.client.client import engine_of
from deniable.mechanisms import InvalidPrivacyParameter
from deniable.messages import InvalidManifest
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DECLARED, ORIGIN, QUESTION

MARKER = "zq-a-secret-nobody-declared-zq"


def declared(**changes: Any) -> Survey:
    return replace(DECLARED, **changes)


def everything_said(error: BaseException) -> Iterator[str]:
    """Yield every text that an error carries, and those of the errors that it is chained to."""
    yield str(error)
    yield repr(error)
    yield repr(error.args)
    yield repr(vars(error))
    yield repr(getattr(error, "__notes__", []))
    for link in (error.__cause__, error.__context__):
        if link is not None:
            yield from everything_said(link)


@pytest.mark.parametrize("consent", ["unset", "off", "on"])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("answer", [MARKER, "", "GOOD", "good ", " good", "goo", None, 3, True])
def test_d1_an_undeclared_answer_always_raises_whatever_the_consent(
    bench: Bench, consent: str, strict: bool, answer: Any
) -> None:
    client = bench.client(consent=consent)
    with pytest.raises(UndeclaredAnswer) as caught:
        client.report(NAME, answer, strict=strict)
    assert isinstance(caught.value, AppError)
    assert bench.draw.count == 0


def test_only_a_survey_of_numbers_advises_to_take_the_nearest() -> None:
    minutes = Survey.numeric("minutes", "How long?", low=0, high=60, max_epsilon="1")
    for survey, advised in ((minutes, True), (DECLARED, False)):
        with pytest.raises(UndeclaredAnswer) as caught:
            survey.index_of("61")
        assert ("Survey.nearest" in str(caught.value)) is advised


@pytest.mark.parametrize("surveys", [DECLARED, NAME, None, [NAME]])
def test_surveys_are_a_list_of_them(bench: Bench, surveys: Any) -> None:
    with pytest.raises(TypeError, match=r"such as surveys=\[survey\]"):
        bench.client(surveys=surveys)


@pytest.mark.parametrize(
    ("authority", "said"),
    [(bytes(31), "64 hex digits"), ("zz" * 32, "64 hex digits"), ("01" + "00" * 31, "no sound")],
)
def test_a_wrong_authority_is_told_from_an_unsound_one(
    bench: Bench, authority: bytes | str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        bench.client(authority=authority)


@pytest.mark.parametrize("ready", [False, True])
def test_d1_an_undeclared_answer_appears_nowhere(
    bench: Bench, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], ready: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    client = bench.ready() if ready else bench.client()
    with pytest.raises(UndeclaredAnswer) as caught:
        client.report(NAME, MARKER)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert client.report(NAME, "fair").ok is ready
    client.flush()
    said = [
        *everything_said(caught.value),
        repr(client),
        str(client.refresh(force=True)),
        caplog.text,
    ]
    said += [repr(vars(record)) for record in caplog.records]
    said += [repr(request) + repr(request.body) for request in bench.transport.requests]
    said += [*capsys.readouterr()]
    assert not [text for text in said if MARKER in text]
    assert bench.on_disk(MARKER.encode()) == []
    client.close()
    assert bench.on_disk(MARKER.encode()) == []


def test_the_search_for_the_marker_finds_what_is_there(bench: Bench) -> None:
    # The test above can fail: the question, which is stored, is found by the same search.
    client = bench.ready()
    assert client.report(NAME, "fair").ok
    assert bench.on_disk(QUESTION.encode()) != []
    error = ValueError(MARKER)
    error.__context__ = KeyError(MARKER)
    assert len([text for text in everything_said(error) if MARKER in text]) == 6


def test_d1_an_undeclared_name_appears_in_no_error_either(bench: Bench) -> None:
    # An app that swaps the arguments passes an answer as the name.
    with pytest.raises(UndeclaredSurvey) as caught:
        bench.client().report(MARKER, NAME)
    assert not [text for text in everything_said(caught.value) if MARKER in text]


class Rating(Enum):
    VERY_POOR, POOR, FAIR, GOOD, VERY_GOOD = CATEGORIES
    BAD = POOR  # an alias, and no answer of its own


class TextRating(StrEnum):
    VERY_POOR, POOR, FAIR, GOOD, VERY_GOOD = CATEGORIES


class MixedRating(str, Enum):  # noqa: UP042 - as older apps have them
    VERY_POOR, POOR, FAIR, GOOD, VERY_GOOD = CATEGORIES


@pytest.mark.parametrize(
    "categories",
    [list(CATEGORIES), Rating, TextRating, MixedRating, list(Rating), list(TextRating)],
)
def test_d1_categories_are_kept_in_their_order_and_an_answer_is_found_by_equality(
    categories: Any,
) -> None:
    survey = declared(categories=categories)
    assert survey == declared(categories=CATEGORIES)
    assert {type(category) for category in survey.categories} == {str}
    for answers in (CATEGORIES, Rating, TextRating, MixedRating):
        assert [survey.index_of(answer) for answer in answers] == [0, 1, 2, 3, 4]


class Count(Enum):
    ONE = 1
    TWO = 2


@pytest.mark.parametrize("categories", [Count, set(CATEGORIES), "good", b"good", [1, 2], None])
def test_categories_that_are_no_texts_in_an_order_are_refused(categories: Any) -> None:
    with pytest.raises(TypeError, match="categories must be"):
        declared(categories=categories)


def test_a_member_of_an_enum_of_numbers_answers_a_numeric_survey() -> None:
    survey = Survey.numeric("count", "How many?", low=0, high=3, max_epsilon="1")
    assert survey.index_of(Count.TWO) == 2


def test_a_survey_of_the_name_that_is_another_than_the_declared_one_is_undeclared(
    bench: Bench,
) -> None:
    with pytest.raises(UndeclaredSurvey, match="is another"):
        bench.ready().report(declared(max_epsilon="2"), "good")
    with pytest.raises(UndeclaredSurvey, match="no survey of that name"):
        bench.ready().report(declared(name="other"), "good")


@pytest.mark.parametrize(
    "changes",
    [
        {"categories": ("one",)},
        {"categories": ("yes", "YES")},
        {"categories": ("yes", " no")},
        {"categories": ("yes", "no\n")},
        {"categories": ("yes", "")},
        {"question": ""},
        {"question": "Really?\u202e"},
        {"question": "x" * 1025},
    ],
)
def test_texts_that_no_manifest_could_hold_are_refused_when_declared(
    changes: dict[str, Any],
) -> None:
    with pytest.raises(InvalidManifest):
        declared(**changes)


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_epsilon", "41"), ("max_epsilon", "-1"), ("max_epsilon", "1.0"), ("max_delta", "1")],
)
def test_a_ceiling_outside_its_domain_is_refused_when_declared(field: str, value: str) -> None:
    with pytest.raises(InvalidPrivacyParameter):
        declared(**{field: value})


def test_d1_one_name_is_declared_once(bench: Bench) -> None:
    with pytest.raises(InvalidManifest, match="same name"):
        bench.client(surveys=[DECLARED, declared(max_epsilon="0.5")])


@pytest.mark.parametrize("state", [":memory:", 7, None, b"state", "a\0b"])
def test_a_state_that_would_forget_is_no_path(bench: Bench, state: Any) -> None:
    # ":memory:" would make every start a new device that decides the epoch once more (D3).
    with pytest.raises(TypeError, match="path of a file"):
        bench.client(state=state)


def test_a_client_takes_no_collector_authority_or_consent_that_it_cannot_judge(
    bench: Bench, tmp_path: Path
) -> None:
    for wrong in (
        {"collector": "http://collector.example"},
        {"collector": "https://collector.example/path"},
        {"authority": bytes(31)},
        {"authority": b"\1" + bytes(31)},
        {"authority": "zz"},
        {"consent": "yes"},
        {"lifetime_epsilon": "-1"},
        {"delivery_seconds": -1},
        {"delivery_seconds": float("inf")},
    ):
        with pytest.raises(ValueError):
            bench.client(**wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("surveys", ["theme"]),
        ("authority", None),
        ("authority", 32),
        ("sliding", "3"),
        ("sliding", ("3", 30)),
        ("caps", 3),
        ("backoff", 3),
        ("environment", None),
        ("clock", None),
        ("unsafe_draw", None),
        ("manifests", ["theme.manifest"]),
        ("manifests", b"theme"),
    ],
)
def test_an_argument_of_another_type_is_refused_before_the_first_report(
    bench: Bench, argument: str, wrong: Any
) -> None:
    with pytest.raises(TypeError, match=argument):
        bench.client(**{argument: wrong})


def test_manifests_may_come_from_a_generator() -> None:
    settings = ClientSettings(manifests=(manifest for manifest in [b"one", b"two"]))
    assert settings.manifests == (b"one", b"two")


def test_settings_are_their_class_and_no_dictionary() -> None:
    settings: Any = {"delivery_seconds": 0}
    with pytest.raises(TypeError, match="settings must be None or ClientSettings"):
        Client(ORIGIN, authority=bytes(32), surveys=[], state=IN_MEMORY, settings=settings)


def test_every_consent_there_is_is_named_to_who_mistypes_one(bench: Bench) -> None:
    with pytest.raises(ValueError) as caught:
        bench.client(consent="yes")
    assert all(f'"{consent}"' in str(caught.value) for consent in Consent)


def test_the_signature_holds_no_variable_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # help(), documentation generators and debuggers print it.
    monkeypatch.setenv("SOME_TOKEN", MARKER)
    assert MARKER not in str(inspect.signature(Client))


def test_reprs_show_neither_secret_nor_response(bench: Bench) -> None:
    client = bench.ready()
    outcome = client.report(NAME, "good")
    (secret, envelope) = bench.rows("SELECT secret, envelope FROM device, decisions")[0]
    pending = engine_of(client).outbox.pending(bench.clock.now())
    shown = json.dumps(
        [repr(thing) for thing in (client, outcome, pending, engine_of(client).state)]
    )
    for hidden in (secret, envelope):
        assert repr(hidden)[2:-1] not in shown
        assert hidden.hex() not in shown
