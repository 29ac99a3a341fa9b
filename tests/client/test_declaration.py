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
def test_d1_an_undeclared_answer_raises(bench: Bench, consent: str, strict: bool) -> None:
    client = bench.client(consent=consent)
    answers: list[Any] = [MARKER, "", "GOOD", "good ", " good", "goo", None, 3, True]
    for answer in answers:
        with pytest.raises(UndeclaredAnswer) as caught:
            client.report(NAME, answer, strict=strict)
        assert isinstance(caught.value, AppError)
    assert bench.draw.count == 0


def test_only_a_survey_of_numbers_advises_to_take_the_nearest() -> None:
    minutes = Survey.numeric("minutes", "How long?", low=0, high=60, max_epsilon="1")
    assert minutes.index_of(Count.TWO) == 2
    for survey, advised in ((minutes, True), (DECLARED, False)):
        with pytest.raises(UndeclaredAnswer) as caught:
            survey.index_of("61")
        assert ("Survey.nearest" in str(caught.value)) is advised


@pytest.mark.parametrize("ready", [False, True])
def test_d1_an_undeclared_answer_appears_nowhere(
    bench: Bench, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], ready: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    client = bench.ready() if ready else bench.client()
    with pytest.raises(UndeclaredAnswer) as caught:
        client.report(NAME, MARKER)
    # An app that swaps the arguments passes an answer as the name.
    with pytest.raises(UndeclaredSurvey) as swapped:
        client.report(MARKER, NAME)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert client.report(NAME, "fair").ok is ready
    client.flush()
    said = [*everything_said(caught.value), *everything_said(swapped.value), repr(client)]
    said += [str(client.refresh(force=True)), caplog.text, *capsys.readouterr()]
    said += [repr(vars(record)) for record in caplog.records]
    said += [repr(request) + repr(request.body) for request in bench.transport.requests]
    assert not [text for text in said if MARKER in text]
    assert bench.on_disk(MARKER.encode()) == []
    client.close()
    assert bench.on_disk(MARKER.encode()) == []
    # The search finds what is there: the question is stored.
    assert bench.on_disk(QUESTION.encode()) != []
    caught.value.__context__ = KeyError(MARKER)
    assert [text for text in everything_said(caught.value) if MARKER in text] != []


class Count(Enum):
    ONE = 1
    TWO = 2


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
def test_d1_categories_keep_their_order_and_are_found_by_equality(categories: Any) -> None:
    survey = declared(categories=categories)
    assert survey == declared(categories=CATEGORIES)
    assert {type(category) for category in survey.categories} == {str}
    for answers in (CATEGORIES, Rating, TextRating, MixedRating):
        assert [survey.index_of(answer) for answer in answers] == [0, 1, 2, 3, 4]


def test_a_survey_of_the_name_that_is_another_one_is_undeclared(bench: Bench) -> None:
    with pytest.raises(UndeclaredSurvey, match="a different survey"):
        bench.ready().report(declared(max_epsilon="2"), "good")
    with pytest.raises(UndeclaredSurvey, match="the declared surveys are only"):
        bench.ready().report(declared(name="other"), "good")


UNDECLARABLE: list[tuple[type[Exception], str, dict[str, Any]]] = [
    *(
        (TypeError, "categories must be", {"categories": categories})
        for categories in (Count, set(CATEGORIES), "good", b"good", [1, 2], None)
    ),
    *(
        (InvalidManifest, "", {"categories": categories})
        for categories in (("one",), ("yes", "YES"), ("yes", " no"), ("yes", "no\n"), ("yes", ""))
    ),
    *((InvalidManifest, "", {"question": each}) for each in ("", "Really?\u202e", "x" * 1025)),
    *((InvalidPrivacyParameter, "", {"max_epsilon": each}) for each in ("41", "-1", "1.0")),
    (InvalidPrivacyParameter, "", {"max_delta": "1"}),
]


@pytest.mark.parametrize(("error", "said", "changes"), UNDECLARABLE)
def test_an_unlawful_one_fails(error: type[Exception], said: str, changes: dict[str, Any]) -> None:
    with pytest.raises(error, match=said or None):
        declared(**changes)


TYPES: dict[str, list[Any]] = {
    "surveys": [["theme"], DECLARED, NAME, None, [NAME]],
    "authority": [None, 32],
    "sliding": ["3", ("3", 30)],
    "manifests": [["theme.manifest"], b"theme"],
    "caps": [3],
    "state": [":memory:", 7, None, b"state", "a\0b"],  # it would forget, and decide once more (D3)
}
SAID = {"surveys": r"such as surveys=\[survey\]", "state": "path of a file"}
VALUES: list[tuple[str, Any, str]] = [
    ("surveys", [DECLARED, declared(max_epsilon="0.5")], "same name"),
    ("collector", "http://collector.example", ""),
    ("collector", "https://collector.example/path", ""),
    *(("authority", key, "64 hex digits") for key in (bytes(31), "zz" * 32, "zz")),
    *(("authority", key, "not a valid") for key in ("01" + "00" * 31, b"\1" + bytes(31))),
    *(("consent", "yes", f'"{consent}"') for consent in Consent),
    ("lifetime_epsilon", "-1", ""),
    *(("delivery_seconds", seconds, "") for seconds in (-1, float("inf"))),
]
ARGUMENTS = [
    *((TypeError, name, each, SAID.get(name, name)) for name in TYPES for each in TYPES[name]),
    *((ValueError, *value) for value in VALUES),
]


@pytest.mark.parametrize(("error", "argument", "wrong", "said"), ARGUMENTS)
def test_a_wrong_argument_is_refused_before_the_first_report(
    bench: Bench, tmp_path: Path, error: type[Exception], argument: str, wrong: Any, said: str
) -> None:
    with pytest.raises(error, match=said or None):
        bench.client(**{argument: wrong})
    assert list(tmp_path.iterdir()) == []


def test_settings_are_their_class_and_manifests_may_come_from_a_generator() -> None:
    settings = ClientSettings(manifests=(manifest for manifest in [b"one", b"two"]))
    assert settings.manifests == (b"one", b"two")
    wrong: Any = {"delivery_seconds": 0}
    with pytest.raises(TypeError, match="settings must be None or ClientSettings"):
        Client(ORIGIN, authority=bytes(32), surveys=[], state=IN_MEMORY, settings=wrong)


def test_the_signature_holds_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
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
