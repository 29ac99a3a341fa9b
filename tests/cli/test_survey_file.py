"""A survey file is read strictly: every fault is one line that names its field."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import (
    RANDOMISED_RESPONSE,
    Enrolment,
    InvalidManifest,
    Manifest,
    SigningKey,
    Specification,
)
from deniable.publishing.numbering import check_invertible, next_manifest
from deniable.publishing.survey_file import FIELDS, SurveyFile
from tests.cli.commands import SURVEY, Workplace, changed, fail
from tests.support.effort import effort
from tests.support.entries import probability

NOW = datetime(2026, 1, 5, 15, 30, tzinfo=UTC).timestamp()


def made_in(folder: Path, /, text: str = SURVEY, **changes: str) -> Manifest:
    """Return the manifest of a file with some lines changed."""
    written = SurveyFile.parse(changed(text, **changes), folder)
    return next_manifest(written, [], "http://127.0.0.1:8377", bytes(16), NOW)


def made(text: str = SURVEY, **changes: str) -> Manifest:
    return made_in(Path(), text, **changes)


def judge(text: str = SURVEY, **changes: str) -> InvalidManifest:
    """Return the refusal of a file, be it of a field's type or of its domain."""
    with pytest.raises(InvalidManifest) as caught:
        made(text, **changes)
    assert str(caught.value).startswith(f"{caught.value.field}: ")
    return caught.value


def test_a_file_is_read_field_by_field(tmp_path: Path) -> None:
    changes = {"delta": '"0.001"', "grace": '"36 hours"', "epoch": '"2 weeks"'}
    text = changed(start="2026-01-05T01:00:00+01:00", **changes)
    read = SurveyFile(
        name="tea",
        question="How often do you drink tea?",
        categories=("never", "sometimes", "often", "always"),
        epsilon="1",
        delta="0.001",
        epoch_seconds=14 * 86_400,
        epochs=30,
        grace_seconds=36 * 3600,
        start=1_767_571_200,
        minimum_reports=1,
    )
    assert SurveyFile.parse(text) == read
    # A mark of byte order is none of the TOML.
    (tmp_path / "survey.toml").write_text(text, "utf-8-sig")
    assert SurveyFile.load(tmp_path / "survey.toml") == read
    cautious = SurveyFile.parse(changed(minimum_reports=""))
    assert (cautious.delta, cautious.grace_seconds, cautious.minimum_reports) == ("0", 86_400, 100)
    assert cautious.start is None


@pytest.mark.parametrize("field", ["name", "question", "categories", "epsilon", "epoch", "epochs"])
def test_a_missing_field_is_named_with_its_meaning(field: str) -> None:
    refusal = judge(**{field: ""})
    assert refusal.field == field
    assert FIELDS[field] in refusal.reason


@pytest.mark.parametrize(
    ("field", "meant"),
    [("Name", "name"), ("catgories", "categories"), ("enrollment", "enrolment"), ("nonce", None)],
)
def test_an_unknown_field_is_named_with_the_one_that_was_meant(
    field: str, meant: str | None
) -> None:
    where = 'the page "A survey file" in the documentation lists the fields'
    told = f"is unknown; {f'did you mean {meant}?' if meant else where}"
    refusal = judge(**{field: '"x"'})
    assert (refusal.field, refusal.reason) == (field, told)


@pytest.mark.parametrize("changes", [{"catgories": "[]"}, {"epsilon": '"41"'}, {"epochs": "0"}])
def test_what_is_wrong_with_a_file_names_it(place: Workplace, changes: dict[str, str]) -> None:
    file = place.written(**changes)
    for message in (
        place.fail("survey publish", file),
        fail("plan", file),
        fail("simulate", file, "--truth", "uniform", "--devices", "2"),
    ):
        assert message.startswith(f"{file}: {next(iter(changes))}: ")
    for content in (b"\xff\xfe\x00", b'name = "\xe9"'):
        file.write_bytes(content)
        message = place.fail("survey publish", file)
        assert str(file) in message
        assert "UTF-8" in message


WRONG = {
    "name": ("1", '["tea"]', '"Tea"', '""'),
    "question": ("true", '""', r'"What\nnow?"'),
    "categories": ('"never, often"', '["never", 2]', "{}", '["only one"]', '["yes", "YES"]', "[]"),
    "epsilon": ("1", "0.5", '"0"', '"41"', '"1.0"', '"1e1"'),
    "delta": ("0", "1e-6", '"1"', '"-0.1"'),
    "epoch": ("86400",),
    "epochs": ('"30"', "30.0", "true", "0", "-1", "10001", "9" * 100),
    "grace": ("0",),
    "start": (
        *('"2026-01-05"', "2026-01-05", "2026-01-05T00:00:00", "00:00:00", "1767571200"),
        "1969-12-31T23:59:59Z",
    ),
    "minimum_reports": ('"100"', "1.5", "-1"),
    "enrolment": ('"secret"', "true"),
    "tells": ('"all"', "1"),
    "repeat": ('"daily"', "7"),
    "mechanism": ('"laplace"', "1"),
}
NO_DURATIONS = (
    *("", "1", "day", "1day", "1  day", " 1 day", "1 day ", "-1 day", "1.5 days", "01 days"),
    *("1 Day", "1 month", "1 days days", "1234567890 days", "١ day"),
)


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in WRONG.items() for value in values]
    + [(field, f'"{text}"') for field in ("epoch", "grace") for text in NO_DURATIONS],
)
def test_a_value_of_another_type_or_outside_its_domain_is_named(field: str, value: str) -> None:
    assert judge(**{field: value}).field == field


def test_durations_in_every_unit() -> None:
    units = {"1 second": 1, "90 seconds": 90, "2 minutes": 120, "1 hour": 3600, "2 hours": 7200}
    units |= {"1 day": 86_400, "10 days": 864_000, "1 week": 604_800}
    for text, seconds in units.items():
        read = SurveyFile.parse(changed(epoch=f'"{text}"', grace=f'"{text}"'))
        assert (read.epoch_seconds, read.grace_seconds) == (seconds, seconds)


@pytest.mark.parametrize(
    "text",
    ["name = ", "[name", "name = 'a'\nname = 'b'", "\0", f"a = {'1' * 5000}", f"a = {'[' * 9999}"],
)
def test_a_file_that_is_no_toml_says_so(text: str) -> None:
    assert judge(text).field == "TOML"


@settings(max_examples=effort(300))
@given(
    st.dictionaries(
        st.sampled_from([*FIELDS, "other"]),
        st.sampled_from(["1", '"1"', '"1 day"', "[]", '["a", "b"]', "{}", "1979-05-27T07:32:00Z"])
        | st.text(alphabet='"[]{}=0123456789.-:TZ abc\\\n', max_size=20),
    )
)
def test_whatever_is_written_is_a_survey_or_a_refusal(changes: dict[str, str]) -> None:
    # Any other error would be a traceback at the operator's terminal.
    with suppress(InvalidManifest):
        survey = SurveyFile.parse(changed(**changes))
        manifest = made(**changes)
        assert (manifest.question, manifest.categories) == (survey.question, survey.categories)


NUMBERS = {"categories": "", "low": "0", "high": "60", "step": "5"}
NUMERIC = NUMBERS | {"mechanism": '"mean"'}


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3.75"])
def test_a_mean_says_as_much_as_its_epsilon_allows(epsilon: str) -> None:
    survey, wanted = made(epsilon=f'"{epsilon}"', **NUMERIC), Decimal(epsilon)
    assert wanted - Decimal("1e-6") <= survey.mechanism.privacy.epsilon <= wanted
    assert survey.mechanism.categories == 13


ISSUER, NEXT = (SigningKey(bytes([n]) * 32).public_key for n in (1, 2))


def certified(
    issuers: str = f'["{ISSUER.hex()}"]', enrolment: str = "certificate"
) -> dict[str, str]:
    return {"enrolment": f'"{enrolment}"', "issuers": issuers}


@pytest.mark.parametrize("issuers", [(ISSUER,), (ISSUER, NEXT)])
def test_a_survey_may_be_for_devices_that_an_issuer_vouches_for(issuers: tuple[bytes, ...]) -> None:
    survey = made(**certified(str([issuer.hex() for issuer in issuers])))
    assert survey.enrolment == Enrolment("certificate", issuers)
    assert made(enrolment='"open"').enrolment == Enrolment()


@pytest.mark.parametrize(("tells", "kind"), [("mean", "mean"), ("distribution", "levels")])
def test_what_numbers_are_to_tell_chooses_the_kind(tells: str, kind: str) -> None:
    numbers = NUMBERS | {"high": "240"}
    written = SurveyFile.parse(changed(tells=f'"{tells}"', **numbers))
    assert written.specification.kind == kind
    assert written.categories == tuple(map(str, range(0, 241, 5)))
    assert SurveyFile.parse(changed(mechanism=f'"{kind}"', **numbers)) == written
    if kind == "levels":
        # Widths that are given get the mechanisms that the best tree of these widths has.
        widths = str([*written.specification.parameters["widths"]])
        own = changed(tells=f'"{tells}"', widths=widths, **numbers)
        assert SurveyFile.parse(own).specification == written.specification


MEMOISED = {"repeat": '"memoised"', "memoised_epochs": "10"}
TWO_ROUND = MEMOISED | {"mechanism": '"two-round"', "kept": '"2"'}


def test_a_distribution_of_named_answers_has_a_tree() -> None:
    survey = made(tells='"distribution"', repeat='"memoised"', memoised_epochs="4")
    assert survey.specification.kind == "levels"
    assert (survey.ordered, survey.values) == (True, None)
    assert survey.mechanism.responses <= 16
    own = SurveyFile.parse(changed(mechanism='"levels"', widths="[2, 1]"))
    assert own.specification.parameters["widths"] == (2, 1)


def answers(count: int, **changes: str) -> dict[str, str]:
    return {"categories": str([f"c{number}" for number in range(count)]), **changes}


def test_kept_responses_are_few() -> None:
    for count, epsilon, repeat, specification in (
        (6, "0.3", {}, Specification("subset", {"d": 3})),
        (6, "0.3", MEMOISED, Specification("subset", {"d": 2})),  # 15 responses, not 20
        (16, "1", MEMOISED, Specification("difference-set", {"v": 16})),
        (16, "2", MEMOISED, RANDOMISED_RESPONSE),
    ):
        survey = made(epsilon=f'"{epsilon}"', **answers(count), **repeat)
        assert survey.specification == specification


def affine(**changes: str) -> dict[str, str]:
    return answers(16, mechanism='"affine"') | changes


def questions(dimensions: str, **changes: str) -> dict[str, str]:
    return {"categories": "", "dimensions": f"{{ {dimensions} }}", **changes}


SUBSET, SET = {"mechanism": '"subset"'}, {"mechanism": '"difference-set"'}
PLAN = 'plan = ["free", "paid"], theme = ["A", "B", "C"]'
ROWS = '[["0.6", "0.4"], ["0.4", "0.6"]]'
TWO = {"categories": '["never", "often"]', "mechanism": '"matrix"'}
BAD_KEY = f'["{"01" + 31 * "00"}"]'
REFUSED: list[tuple[str, str, dict[str, str]]] = [
    ("low", "", {"low": "0"}),
    ("categories", "", NUMERIC | {"categories": '["0", "1"]'}),
    *(("low", "", NUMERIC | {"low": low}) for low in ("", "0.5", '"0.50"', "true")),
    ("high", "", NUMERIC | {"step": "7"}),
    ("step", "", NUMERIC | {"step": "0"}),
    ("step", "", NUMERIC | {"high": "100000"}),
    *(("epsilon", "", NUMERIC | {"epsilon": epsilon}) for epsilon in ('"0"', '"41"')),
    ("delta", "", NUMERIC | {"delta": '"0.1"'}),
    ("d", "", NUMERIC | {"d": "2"}),
    # Issuers.
    ("issuers", "", {"issuers": certified()["issuers"]}),
    ("issuers", "", certified(enrolment="open")),
    *(("issuers", "", certified(issuers)) for issuers in ("", "[]", f'"{ISSUER.hex()}"', BAD_KEY)),
    ("issuers", "", certified(f'["{ISSUER.hex()[1:]}"]')),
    ("issuers", "", certified(f'["{ISSUER.hex().upper()}"]')),
    ("issuers", "", certified(f'["{ISSUER.hex()}", "{ISSUER.hex()}"]')),
    # What numbers are to tell.
    ("tells", "", {"tells": '"mean"', "mechanism": '"auto"'}),
    ("tells", "", {"tells": '"distribution"', "dimensions": "{}"}),
    ("categories", "", {"tells": '"mean"'}),
    ("categories", "", {"tells": '"distribution"', "low": "0", "high": "9", "step": "1"}),
    ("categories", "", {"tells": '"distribution"', "categories": ""}),
    *(
        ("widths", "", {"mechanism": '"levels"', "widths": widths})
        for widths in ("[3, 2, 1]", "[4, 1]", "2")
    ),
    ("widths", "", {"widths": "[2, 1]"}),
    ("epsilon", "", {"tells": '"distribution"', "epsilon": '"0"'}),
    # Designs.
    ("m", "", affine(q="17")),
    ("mechanism", "at most 13", affine(q="13", m="1", s="2")),
    ("mechanism", "must be a prime", affine(q="16", m="1", s="2")),
    ("mechanism", "must be a prime", affine(q="5000", m="1", s="2")),
    ("mechanism", "", affine(q="0", m="1", s="2")),
    ("mechanism", "from 1 to q - 1", affine(q="17", m="1", s="17")),
    ("epsilon", "", affine(epsilon='"0"')),
    ("delta", "", affine(delta='"1"')),
    ("categories", "", affine(**answers(1))),
    ("mechanism", "must be below", answers(12, d="12", **SUBSET)),
    ("mechanism", "too many sets", answers(120, d="60", **SUBSET)),
    ("mechanism", "", answers(16, d='"2"', **SUBSET)),
    ("mechanism", "", answers(105, **SUBSET)),
    ("mechanism", "", answers(10, **SUBSET, **MEMOISED)),
    ("s", "", answers(16, s="17", **SUBSET)),
    ("mechanism", "at most 13", answers(14, v="13", **SET)),
    ("mechanism", "", answers(14, v="12", **SET)),
    ("mechanism", "", answers(17, **SET)),
    ("q", "", answers(16, q="17")),
    # Kept responses.
    ("memoised_epochs", "", {"memoised_epochs": "7"}),
    ("memoised_epochs", "", {"repeat": '"memoised"'}),
    *(
        ("memoised_epochs", "", MEMOISED | {"memoised_epochs": epochs})
        for epochs in ('"7"', "1", "10001", "-7")
    ),
    ("repeat", "may be memoised with at most 16", answers(17, **MEMOISED)),
    ("kept", "", {"kept": '"2"', **SUBSET}),
    ("fresh", "", TWO_ROUND | {"fresh": '["mean", 1]'}),
    ("fresh", "", TWO_ROUND | {"fresh": '["randomised-response"]'}),
    ("repeat", "", {"mechanism": '"two-round"', "kept": '"2"'}),
    ("kept", "is missing", MEMOISED | {"mechanism": '"two-round"'}),
    *(("kept", "", TWO_ROUND | {"kept": kept}) for kept in ("2", '"2.0"', '"41"')),
    ("epsilon", "", TWO_ROUND | {"kept": '"1"'}),
    ("delta", "", TWO_ROUND | {"delta": '"0.1"'}),
    ("d", "", TWO_ROUND | {"d": "2"}),
    # Several questions.
    ("categories", "", questions(PLAN, categories='["no", "yes"]')),
    *(
        ("dimensions", "", questions(PLAN, mechanism=f'"{mechanism}"'))
        for mechanism in ("randomised-response", "auto", "mean")
    ),
    ("mechanisms", "", questions(PLAN, mechanisms="[]")),
    ("d", "", questions(PLAN, d="2")),
    ("delta", "", questions(PLAN, delta='"1"')),
    ("dimensions", "", {"categories": "", "dimensions": '["plan", "theme"]'}),
    *(
        ("dimensions", "", questions(dimensions, mechanism=f'"{mechanism}"'))
        for mechanism in ("one-question", "joint")
        for dimensions in (
            *("", 'plan = ["free", "paid"]', 'plan = ["free", "paid"], theme = "A"'),
            *('plan = ["free", "paid"], theme = ["A"]', 'plan = ["a", "b"], theme = ["A", 2]'),
            'plan = ["free", "paid"], theme = { A = 1 }',
        )
    ),
    ("categories", "look the same", questions('plan = ["a", "A"], theme = ["x", "y"]')),
    ("mechanism", "look the same", questions('a = ["x", "y"], A = ["v", "w"]')),
    # Matrices.
    ("matrix", "is missing", TWO),
    *(
        (field, words, TWO | {"matrix": matrix})
        for field, words, matrix in (
            ("matrix", "CSV file, or a list of rows", "1"),
            ("matrix", "fewer than two categories", "[[0.6, 0.4]]"),
            ("matrix", "one row per category", "[[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]]"),
            ("matrix", "sum to 1", "[[0.6, 0.5], [0.4, 0.6]]"),
            ("matrix", "is not a decimal", '[["0.6,0.4"], ["0.4,0.6"]]'),
            ("matrix", "0 or 1", "[[0.6, 0.4, 0], [0.4, 0.6, 0]]"),
            ("matrix", "0 or 1", "[[1, 0], [0.4, 0.6]]"),
            ("epsilon", "exceeds this.* matrix has epsilon 1.386294", "[[0.8, 0.2], [0.2, 0.8]]"),
            ("responses", "3 columns for 2 categ", "[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]"),
        )
    ),
    ("matrix", "must have a name", TWO | {"matrix": ROWS, "responses": '["a"]'}),
    ("mechanism", "look the same", TWO | {"matrix": ROWS, "responses": '["a", "A"]'}),
    ("responses", "list of strings", TWO | {"matrix": ROWS, "responses": "[1, 2]"}),
    ("d", "belongs to", TWO | {"matrix": ROWS, "d": "2"}),
]
"""Fields at fault, and words of the reason, by what a file has."""


def test_a_matrix_whose_rows_tell_no_answers_apart_is_not_published() -> None:
    with pytest.raises(InvalidManifest, match="linearly independent"):
        check_invertible(made(**TWO | {"matrix": "[[0.5, 0.5], [0.5, 0.5]]"}))


@pytest.mark.parametrize(("field", "words", "changes"), REFUSED)
def test_what_cannot_be_together_is_refused_by_its_field(
    field: str, words: str, changes: dict[str, str]
) -> None:
    refusal = judge(**changes)
    assert refusal.field == field
    assert re.search(words, refusal.reason)


def test_too_many_combinations_are_answered_one_by_one_only() -> None:
    letters = str([chr(97 + i) for i in range(26)])
    many = questions(", ".join(f"q{i} = {letters}" for i in range(4)))
    assert made(**many).mechanism.categories == 26**4
    assert "combinations" in judge(mechanism='"joint"', **many).reason


NAMED = ",never,often,no comment\noften,0.3,0.5,0.2\nnever,0.5,0.3,0.2\n"
THREE = '[["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]]'


@pytest.mark.parametrize(
    ("matrix", "named", "responses"),
    [
        *((matrix, "", ("never", "often")) for matrix in (ROWS, ROWS.replace('"', ""))),
        ("[[6, 4], [4, 6]]", "", ("never", "often")),
        (ROWS, '["a", "b"]', ("a", "b")),
        (THREE, '["1", "2", "3"]', ("1", "2", "3")),
    ],
)
def test_rows_are_read_exactly_and_certified(
    matrix: str, named: str, responses: tuple[str, ...]
) -> None:
    survey = made(matrix=matrix, responses=named, **TWO)
    assert survey.responses == responses
    assert survey.mechanism.privacy.satisfies("1", "0")
    likelier = probability(survey.mechanism, 0, 0)
    assert abs(likelier - (Fraction(1, 2) if len(responses) == 3 else Fraction(3, 5))) < 2**-60


def test_a_files_names_order_its_rows_and_columns(tmp_path: Path) -> None:
    (tmp_path / "tea.csv").write_text(NAMED, "utf-8")
    by_file = TWO | {"matrix": '"tea.csv"'}
    survey = made_in(tmp_path, **by_file)
    assert survey.responses == ("never", "often", "no comment")
    assert survey.mechanism.truth is None
    assert [round(float(w) / 2**64, 6) for w in survey.mechanism.row(0)] == [0.5, 0.3, 0.2]
    assert [round(float(w) / 2**64, 6) for w in survey.mechanism.row(1)] == [0.3, 0.5, 0.2]
    (tmp_path / "tea.csv").write_text(",often,never\noften,0.6,0.4\nnever,0.4,0.6\n", "utf-8")
    for named in ("", '["often", "never"]'):
        square = made_in(tmp_path, responses=named, **by_file)
        assert square.responses == square.categories
        assert square.mechanism.truth == probability(square.mechanism, 1, 1)
    for named in ('["never", "often"]', '["x", "y"]'):
        with pytest.raises(InvalidManifest, match="different names"):
            made_in(tmp_path, responses=named, **by_file)
    with pytest.raises(OSError, match="missing"):
        made_in(tmp_path, matrix='"missing.csv"', **TWO)


@pytest.mark.parametrize("order", [("1", "2", "3"), ("3", "2", "1"), ("b", "1", "a")])
def test_rows_in_the_survey_file_are_in_the_order_of_its_categories(order: tuple[str, ...]) -> None:
    rows = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]]
    survey = made(categories=str([*order]), mechanism='"matrix"', matrix=str(rows), epsilon='"2"')
    weights = survey.specification.parameters["weights"]
    assert [[round(w / 2**64, 1) for w in row] for row in weights] == rows
