"""The notice: true of every kind, translated as a whole, and never markup."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from deniable.client.explaining.explanation import MEANING
from deniable.mechanisms import KINDS
from deniable.messages import Enrolment, Manifest, Repeat, Schedule
from deniable.publishing.notice import Notice
from deniable.terms.sentences import LANGUAGES, catalogue, summary
from deniable.terms.text import in_units
from tests.support.entries import probability
from tests.support.kinds import SURVEYS
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, START, manifest

ROOT = Path(__file__).parent.parent.parent
SOURCES = (
    "shared/deniable/terms/sentences.py",
    "client/deniable/client/explaining/explain.py",
    "client/deniable/client/explaining/explanation.py",
    "client/deniable/client/explaining/prompt.py",
    "collector/deniable/publishing/notice.py",
)
SAME = {"Name", "Budget", "Problem", "Questions"}
_MARKS = {"_", "translate", "self.translate"}
KEPT = manifest(repeat=Repeat("memoised", 2))


def _stated(text: str) -> list[Fraction]:
    """Return the probabilities that a line states as so many times in so many."""
    numbers = re.findall(r"([\d,]+) times in ([\d,]+)", text)
    return [Fraction(int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in numbers]


def _near(stated: Fraction, exact: Fraction) -> bool:
    return abs(stated - exact) * 10 <= min(exact, 1 - exact)


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.specification.kind)
def test_the_first_line_is_true_of_the_matrix(survey: Manifest) -> None:
    mechanism, (line, likelier, _) = survey.mechanism, summary(survey)
    stated = _stated(line)
    if mechanism.truth is not None:
        lies = [1 - probability(mechanism, x, x) for x in range(mechanism.categories)]
        assert _near(stated[0], max(lies))
        # Without "up to" it is the same whatever the answer.
        assert len(set(lies)) == 1 or line.startswith("Up to about")
    else:
        exact = [p for p in (mechanism.hit, mechanism.miss) if p is not None]
        assert len(stated) == len(exact)
        assert all(map(_near, stated, exact))
    (odds,) = re.findall(r"at most ([\d.]+) times as likely", likelier)
    assert mechanism.privacy.odds is not None
    assert mechanism.privacy.odds <= Fraction(odds) <= mechanism.privacy.odds + Fraction(1, 100)


@pytest.mark.parametrize("epsilon", ["0.01", "4", "12"])
def test_rare_lies_are_told_in_as_many_times_as_they_take(epsilon: str) -> None:
    survey = manifest(epsilon=epsilon)
    assert survey.mechanism.truth is not None
    (stated,) = _stated(summary(survey)[0])
    assert _near(stated, 1 - survey.mechanism.truth)


def test_a_promise_that_hides_nothing_says_so() -> None:
    assert "hides almost nothing" in summary(manifest(epsilon="15"))[1]
    assert "may reveal your answer" in Notice.of(manifest(epsilon="4")).markdown()


KEY = RSA_KEYS[0].modulus
BLIND = manifest(
    enrolment=Enrolment("blind", issuer="issuer.example", keys=(KEY,)),
    schedule=Schedule(START, 60, 1, DAY),
)


@pytest.mark.parametrize("relayed", [False, True])
def test_what_goes_with_a_blind_report_and_by_way_of_whom_is_told(*, relayed: bool) -> None:
    text = Notice.of(BLIND, relayed=relayed).markdown()
    assert "A token is sent too. An issuer signed it without seeing it." in text
    assert ("through a relay, which sees your network address" in text) is relayed
    assert "The question is asked only on 2023-11-14" in text


@pytest.mark.parametrize("survey", [*SURVEYS, KEPT, BLIND, manifest(minimum_reports=100)])
def test_every_sentence_can_be_translated(survey: Manifest) -> None:
    survey = replace(survey, question="¿?") if not survey.dimensions else survey

    def upper(text: str) -> str:
        return re.sub(r"(\{\w+\})|([^{]+)", lambda m: m[1] or m[2].upper(), text)

    said = Notice.of(survey, upper, relayed=True)
    given = {survey.name, survey.question, survey.origin, *survey.all_answers}
    text = " ".join([said.title, *said.summary, *(s for _, part in said.sections for s in part)])
    learnt = said.coalitions
    text += " ".join(
        [
            learnt.title,
            *learnt.heads,
            *(text for row in learnt.rows for text in row),
            learnt.condition,
        ]
    )
    for value in sorted(given, key=len, reverse=True):
        text = text.replace(value, "")
    assert text == text.upper()
    plain = Notice.of(survey, relayed=True)
    assert len(plain.sections) == len(said.sections)


def _messages() -> Iterator[str]:
    """Yield each message id that the sources have."""
    for source in SOURCES:
        for node in ast.walk(ast.parse((ROOT / source).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in _MARKS:
                texts = (text.value for text in node.args if isinstance(text, ast.Constant))
                yield from map(str, texts)
    for seconds in (1, 60, 3600, DAY, 7 * DAY):
        yield from (in_units(seconds)[1], f"{in_units(seconds)[1]}s")
    yield from MEANING.values()
    yield from (text for kind in KINDS.values() for text in (kind.likeness, kind.sent))


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_catalogue_has_all_messages_with_their_placeholders(language: str) -> None:
    put, file = catalogue(language), "shared/deniable/terms/catalogues.txt"
    messages = {*_messages()}
    assert len(messages) > 100
    # Some are the same in both languages, and none is in the file for no source.
    kept = {text for text in messages if put(text) == text}
    assert kept <= {"{some}; or {others}", "minute", "minutes", *SAME}
    assert (ROOT / file).read_text(encoding="utf-8").count("\nen ") == len(messages)
    for text in messages:
        places, translated = (sorted(re.findall(r"\{\w+\}", said)) for said in (text, put(text)))
        assert places == translated, text
        assert text.endswith(".") == put(text).endswith("."), text
    for survey in [*SURVEYS, KEPT, BLIND]:
        assert Notice.of(survey, put, relayed=True).markdown() != Notice.of(survey).markdown()


def test_texts_of_a_survey_are_no_markup() -> None:
    hostile = Notice.of(manifest(question="<b>*a*</b> [x](y)", categories=("_a_", "`b`")))
    assert r"\<b\>\*a\*\</b\> \[x\](y)" in hostile.markdown()
    assert "\\_a\\_ / \\`b\\`" in hostile.markdown()
