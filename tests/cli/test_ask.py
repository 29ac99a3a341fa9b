"""``deniable ask``: the answers of Python, as text, JSON and CSV."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from deniable.cli.sources import asked_answers
from deniable.directory import Config
from deniable.directory.store_source import StoreSource
from deniable.documents import Document
from deniable.documents.programs import document_json, table_csv
from deniable.estimates import Comparison, Series, compare
from deniable.estimates.answers import Range
from deniable.presenting import Surveys
from deniable.presenting.histogram import quantile_document
from tests.cli.commands import Workplace
from tests.support.surveys import manifest

COUNTS = {
    "tea": {0: [300, 240, 250, 210], 1: [200, 150, 340, 310], 3: [300, 285, 90, 60]},
    "usage": {0: [260, 190, 150, 180, 120, 100]},
    "cups": {0: [150, 260, 240, 200, 150]},
    "kept": {0: [30, 24, 25, 21], 1: [20, 15, 34, 31]},
}
"""Responses by epoch; those without are gaps."""
FILES = {
    "tea": {"epsilon": '"3"'},
    "usage": {
        "epsilon": '"3"',
        "categories": "",
        "dimensions": '{ plan = ["free", "paid"], feature = ["export", "share", "neither"] }',
        "mechanism": '"joint"',
    },
    "cups": {"epsilon": '"3"', "categories": "", "tells": '"distribution"'}
    | {"low": "0", "high": "4", "step": "1"},
    "kept": {"repeat": '"memoised"', "memoised_epochs": "2"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    made = Workplace.made(tmp_path_factory.mktemp("asked") / "collector")
    for name, changes in FILES.items():
        made.publish(start="2026-01-05T00:00:00Z", name=f'"{name}"', **changes)
        for epoch, counts in COUNTS[name].items():
            made.count([y for y, n in enumerate(counts) for _ in range(n)], epoch, name)
    return made


class Answer(NamedTuple):
    """An answer in all its forms."""

    sentence: str
    values: Any
    csv: str

    @classmethod
    def of(cls, answer: Document | Comparison, csv: str = "") -> "Answer":
        """Return the answer that Python has."""
        if isinstance(answer, Comparison):
            return cls(answer.sentence, answer.to_dict(), answer.to_csv())
        rows = csv or table_csv(answer.tables[0], answer.values)
        return cls(answer.sentence, json.loads(document_json(answer)), rows)


def _cross(surveys: Surveys, of: str) -> Answer:
    table = surveys["usage"].histogram().cross("plan", "feature", of)
    return Answer.of(table.document(), table.to_csv())


def _trend(series: Series, *answers: str) -> Answer:
    return Answer(series.sentence(*answers), series.to_dict(*answers), series.to_csv(*answers))


EXPORT, PAID, FREE = {"feature": "export"}, {"plan": "paid"}, {"plan": "free"}
ASKED: dict[str, Callable[[Surveys], Answer]] = {
    "share tea|often, always|--epoch|0-1|--level|90%": lambda surveys: Answer.of(
        compare(surveys["tea"].histogram(range(2), level=0.9), ["often", "always"], None)
    ),
    "share cups|1..3": lambda surveys: Answer.of(
        compare(surveys["cups"].histogram(), Range("1", "3"), None)
    ),
    "share usage|feature: export|--given|plan: paid": lambda surveys: Answer.of(
        compare(surveys["usage"].histogram(), EXPORT, None, given=PAID)
    ),
    "share usage|feature: export|--given|plan: paid|--than|plan: free": lambda surveys: Answer.of(
        surveys["usage"].histogram().beside(EXPORT, given=PAID, than=FREE).document()
    ),
    "compare tea": lambda surveys: Answer.of(surveys["tea"].compare()),
    "compare tea|1|--epoch|0|--share|never|--level|0.9": lambda surveys: Answer.of(
        surveys["tea"].compare(0, 1, "never", level=0.9)
    ),
    "cross usage|plan, feature": lambda surveys: _cross(surveys, "rows"),
    "cross usage|plan,feature|--of|columns": lambda surveys: _cross(surveys, "columns"),
    "cross usage|plan,feature|--of|all": lambda surveys: _cross(surveys, "all"),
    "ahead tea|never|often": lambda surveys: Answer.of(
        surveys["tea"].histogram().ahead("never", "often").document()
    ),
    "leaders tea": lambda surveys: Answer.of(surveys["tea"].histogram().leaders().document()),
    "leaders usage|--count|1|--question|feature": lambda surveys: Answer.of(
        surveys["usage"].histogram().leaders(1, "feature").document()
    ),
    "quantile cups|50%": lambda surveys: Answer.of(
        quantile_document(surveys["cups"].histogram(), 0.5)
    ),
    "trend tea": lambda surveys: _trend(surveys["tea"].series()),
    "trend tea|--share|never|--level|90%": lambda surveys: _trend(
        surveys["tea"].series(level=0.9), "never"
    ),
}
"""Answers by the words of their questions."""


@pytest.mark.parametrize("question", ASKED)
def test_a_question_has_the_answer_of_python_in_every_form(place: Workplace, question: str) -> None:
    head, *words = question.split("|")
    answer = ASKED[question](Surveys(StoreSource(Config.load(place.directory))))

    def asked(*form: str) -> str:
        return place.succeed("ask", *head.split(), *words, *form)

    assert answer.sentence
    assert " ".join(answer.sentence.split()) in " ".join(asked().split())
    assert json.loads(asked("--json")) == json.loads(json.dumps(answer.values))
    assert asked("--csv") == answer.csv


def test_a_trend_has_a_line_an_epoch_and_its_gaps(place: Workplace) -> None:
    shown = place.succeed("ask trend tea --share never")
    lines = [line.split() for line in shown.splitlines()]
    assert ["2026-01-07", "2", "-", "-", "-"] in lines
    assert "reports are fake, a share may be off by" in " ".join(shown.split())


def test_the_figures_reveal_what_is_told_beside_the_promise(place: Workplace) -> None:
    words = "ask reveals tea --epoch 0 --honest 90%"
    survey = Surveys(StoreSource(Config.load(place.directory)))["tea"]
    revealed = survey.histogram(0).revealed(honest=0.9)
    assert json.loads(place.succeed(f"{words} --json")) == json.loads(
        document_json(revealed.document())
    )
    assert revealed.sentence in place.succeed(words)


def test_answers_with_commas_are_named_by_their_texts_and_others_by_their_question(
    place: Workplace,
) -> None:
    survey = manifest(categories=("small", "large, or larger", "or larger", "none"))
    for text, answers in (
        ("large, or larger", ["large, or larger"]),
        ("large, or larger, or larger", ["large, or larger", "or larger"]),
        ("or larger,small", ["or larger", "small"]),
    ):
        assert asked_answers(text, survey) == answers
    usage = place.manifest("usage")
    assert asked_answers("feature: export, share", usage) == {"feature": ["export", "share"]}
    assert asked_answers("free + export", usage) == ["free + export"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("share usage|plan: paid|--than|plan: free", "--than needs --given"),
        ("share usage|plan: paid|--given|plan: free", "no answer of the group"),
        ("share tea|never|--json|--csv", "use --json or --csv, not both"),
        (
            "share tea|coffee",
            "there is no answer 'coffee'; the answers are 'never', 'sometimes', 'often', 'always'; "
            "see: deniable survey show tea",
        ),
        ("share tea|-1", "no answer '-1'"),  # a negative number is no option
        ("ahead tea|-1|never", "no answer '-1'"),
        ("share tea|never, never", "none of them twice"),
        ("share tea|never|--epoch|3-1", "the earlier epoch first"),
        ("share tea|never..always", "no stated order"),
        ("share cups|3..1", "3 comes after 1"),
        ("share cups|1..9", "there is no answer '9'"),
        ("share kept|never|--epoch|0-1", "keep their responses"),
        ("compare tea|0-3|--epoch|1", "sides share some epochs"),
        ("compare tea|--given|never", "--given needs --share"),
        ("compare cups|--share|1|--quantile|50%", "use --share or --quantile, not both"),
        ("compare tea|0|--epoch|1|--quantile|50%", "are not numbers"),
        ("compare kept|0|--epoch|1", "kept their responses"),
        ("cross tea|plan,feature", "plan and feature were not asked together"),
        ("cross usage|plan", "name two questions, such as plan,feature"),
        ("leaders tea|--count|4", "with 4 answers, the number of leaders must be 1 to 3"),
        ("leaders tea|--question|plan", "there is only one"),
        ("quantile tea|50%", "no stated order"),
    ],
)
def test_a_question_without_an_answer_is_refused_with_the_reason(
    place: Workplace, words: str, told: str
) -> None:
    head, *others = words.split("|")
    result = place.run("ask", *head.split(), *others)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert told in " ".join(result.stderr.split())
