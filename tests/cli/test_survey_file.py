"""A survey file is read strictly: every fault is one line that names its field."""

from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import Enrolment, InvalidManifest, SigningKey, Specification
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import FIELDS, SurveyFile
from tests.cli.commands import SURVEY, Workplace, fail
from tests.support.effort import effort

NOW = datetime(2026, 1, 5, 15, 30, tzinfo=UTC).timestamp()
REQUIRED = ("name", "question", "categories", "epsilon", "epoch", "epochs")


def changed(**changes: str | None) -> str:
    """Return SURVEY with some lines changed, added or (for None) left out."""
    lines = [line for line in SURVEY.splitlines() if line.partition(" =")[0] not in changes]
    return "\n".join(
        lines + [f"{field} = {value}" for field, value in changes.items() if value is not None]
    )


def judge(text: str) -> InvalidManifest:
    """Return the refusal of a file, be it of a field's type or of its domain."""
    with pytest.raises(InvalidManifest) as caught:
        next_manifest(SurveyFile.parse(text), [], "http://127.0.0.1:8377", bytes(16), NOW)
    assert str(caught.value).startswith(f"{caught.value.field}: ")
    return caught.value


def test_a_file_is_read_field_by_field() -> None:
    text = changed(
        delta='"0.001"', grace='"36 hours"', start="2026-01-05T01:00:00+01:00", epoch='"2 weeks"'
    )
    assert SurveyFile.parse(text) == SurveyFile(
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


def test_what_is_left_out_is_cautious() -> None:
    survey = SurveyFile.parse(changed(minimum_reports=None))
    assert (survey.delta, survey.grace_seconds, survey.minimum_reports) == ("0", 86_400, 100)
    assert survey.start is None


@pytest.mark.parametrize("field", REQUIRED)
def test_a_missing_field_is_named_with_its_meaning(field: str) -> None:
    refusal = judge(changed(**{field: None}))
    assert refusal.field == field
    assert FIELDS[field] in refusal.reason


@pytest.mark.parametrize(
    ("field", "meant"),
    [("Name", "name"), ("catgories", "categories"), ("enrollment", "enrolment"), ("nonce", None)],
)
def test_an_unknown_field_is_named_with_the_one_that_was_meant(
    field: str, meant: str | None
) -> None:
    refusal = judge(changed(**{field: '"x"'}))
    assert refusal.field == field
    assert refusal.reason == "is unknown; " + (
        f"do you mean {meant}?"
        if meant
        else 'the page "A survey file" of the documents lists the fields'
    )


@pytest.mark.parametrize(
    "changes",
    [{"catgories": "[]"}, {"epsilon": '"41"'}, {"epochs": "0"}],
)
def test_what_is_wrong_with_a_file_names_it(place: Workplace, changes: dict[str, str]) -> None:
    file = place.written(**changes)
    for command in (
        ("survey", "publish", file, "--dir", place.directory),
        ("plan", file),
        ("simulate", file, "--truth", "uniform", "--devices", "2"),
    ):
        assert fail(*command).startswith(f"{file}: {next(iter(changes))}: ")


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
        '"2026-01-05"',
        "2026-01-05",
        "2026-01-05T00:00:00",
        "00:00:00",
        "1767571200",
        "1969-12-31T23:59:59Z",
    ),
    "minimum_reports": ('"100"', "1.5", "-1"),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_value_of_another_type_or_outside_its_domain_is_named(field: str, value: str) -> None:
    assert judge(changed(**{field: value})).field == field


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "day", "1day", "1  day", " 1 day", "1 day ", "-1 day", "1.5 days", "01 days"),
        *("1 Day", "1 month", "1 days days", "1234567890 days", "١ day"),
    ],
)
@pytest.mark.parametrize("field", ["epoch", "grace"])
def test_a_duration_is_a_number_and_a_unit(field: str, text: str) -> None:
    assert judge(changed(**{field: f'"{text}"'})).field == field


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 second", 1),
        ("90 seconds", 90),
        ("2 minutes", 120),
        ("1 hour", 3600),
        ("2 hours", 7200),
        ("1 day", 86_400),
        ("10 days", 864_000),
        ("1 week", 604_800),
    ],
)
def test_durations_in_every_unit(text: str, seconds: int) -> None:
    assert SurveyFile.parse(changed(epoch=f'"{text}"')).epoch_seconds == seconds
    assert SurveyFile.parse(changed(grace=f'"{text}"')).grace_seconds == seconds


@pytest.mark.parametrize(
    "text",
    [
        "name = ",
        "[name",
        "name = 'a'\nname = 'b'",
        "\0",
        "epochs = " + "1" * 5000,
        "a = " + "[" * 9999,
    ],
)
def test_a_file_that_is_no_toml_says_so(text: str) -> None:
    assert judge(text).field == "TOML"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'name = "\xe9"'])
def test_a_file_that_is_no_utf8_says_which(place: Workplace, content: bytes) -> None:
    file = place.directory / "survey.toml"
    file.write_bytes(content)
    message = fail("survey", "publish", file, "--dir", place.directory)
    assert str(file) in message
    assert "UTF-8" in message


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
        made = next_manifest(survey, [], "http://127.0.0.1:8377", bytes(16), NOW)
        assert (made.question, made.categories) == (survey.question, survey.categories)


def test_a_mark_of_byte_order_is_none_of_the_toml(tmp_path: Path) -> None:
    file = tmp_path / "survey.toml"
    file.write_text(SURVEY, "utf-8-sig")
    assert SurveyFile.load(file) == SurveyFile.parse(SURVEY)


NUMERIC = {"categories": None, "mechanism": '"numeric"', "low": "0", "high": "60", "step": "5"}


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3.75"])
def test_a_numeric_survey_lies_as_little_as_its_epsilon_allows(epsilon: str) -> None:
    survey = SurveyFile.parse(changed(epsilon=f'"{epsilon}"', **NUMERIC))
    made = next_manifest(survey, [], "http://[::1]", bytes(16), NOW)
    kind = made.specification
    assert kind == survey.specification
    asked = Decimal(epsilon)
    assert asked - Decimal("1e-11") <= made.mechanism.privacy.epsilon <= asked
    # One step of the ratio's grid less noise, and the manifest would promise too much.
    ratio = Fraction(*kind.parameters["ratio"]) - Fraction(1, 2**62)
    less = Specification(kind.kind, {**kind.parameters, "ratio": ratio.as_integer_ratio()})
    with pytest.raises(InvalidManifest, match="exceed"):
        less.mechanism(len(made.categories), epsilon, "0")


ISSUER, NEXT = (SigningKey(bytes([n]) * 32).public_key for n in (1, 2))
CERTIFICATE = {"enrolment": '"certificate"', "issuers": f'["{ISSUER.hex()}"]'}


@pytest.mark.parametrize("issuers", [(ISSUER,), (ISSUER, NEXT)])
def test_a_survey_may_be_for_devices_that_an_issuer_vouches_for(issuers: tuple[bytes, ...]) -> None:
    listed = ", ".join(f'"{issuer.hex()}"' for issuer in issuers)
    survey = SurveyFile.parse(changed(**CERTIFICATE | {"issuers": f"[{listed}]"}))
    made = next_manifest(survey, [], "http://[::1]", bytes(16), NOW)
    assert made.enrolment == Enrolment("certificate", issuers)
    assert SurveyFile.parse(changed(enrolment='"open"')).enrolment == Enrolment()


@pytest.mark.parametrize(("tells", "kind"), [("mean", "numeric"), ("distribution", "levels")])
def test_what_numbers_are_to_tell_chooses_the_kind(tells: str, kind: str) -> None:
    text = changed(categories=None, low="0", high="240", step="5", tells=f'"{tells}"')
    written = SurveyFile.parse(text)
    assert written.specification.kind == kind
    assert written.categories == tuple(map(str, range(0, 241, 5)))
    same = changed(categories=None, low="0", high="240", step="5", mechanism=f'"{kind}"')
    assert SurveyFile.parse(same) == written


def test_a_distribution_of_named_answers_has_a_tree() -> None:
    text = changed(tells='"distribution"', repeat='"memoised"', memoised_epochs="4")
    written = SurveyFile.parse(text)
    assert written.specification.kind == "levels"
    survey = next_manifest(written, [], "http://[::1]", bytes(16), NOW)
    assert survey.ordered
    assert survey.values is None
    assert survey.mechanism.responses <= 16
    own = SurveyFile.parse(changed(mechanism='"levels"', widths="[2, 1]"))
    assert own.specification.parameters["widths"] == (2, 1)
    # Widths that are given get the mechanisms that the best tree of these widths has.
    minutes = changed(categories=None, low="0", high="240", step="5", tells='"distribution"')
    best = SurveyFile.parse(minutes).specification
    widths = f"widths = {list(best.parameters['widths'])}\n"
    assert SurveyFile.parse(f"{minutes}\n{widths}").specification == best


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("mechanism", {"mechanism": '"laplace"'}),
        ("mechanism", {"mechanism": "1"}),
        ("low", {"low": "0"}),
        ("categories", NUMERIC | {"categories": '["0", "1"]'}),
        ("low", NUMERIC | {"low": None}),
        ("low", NUMERIC | {"low": "0.5"}),
        ("low", NUMERIC | {"low": '"0.50"'}),
        ("low", NUMERIC | {"low": "true"}),
        ("high", NUMERIC | {"step": "7"}),
        ("step", NUMERIC | {"step": "0"}),
        ("step", NUMERIC | {"high": "100000"}),
        ("epsilon", NUMERIC | {"epsilon": '"0"'}),
        ("epsilon", NUMERIC | {"epsilon": '"41"'}),
        ("delta", NUMERIC | {"delta": '"0.1"'}),
        ("d", NUMERIC | {"d": "2"}),
        ("enrolment", {"enrolment": '"secret"'}),
        ("enrolment", {"enrolment": "true"}),
        ("issuers", {"issuers": CERTIFICATE["issuers"]}),
        ("issuers", CERTIFICATE | {"enrolment": '"open"'}),
        ("issuers", CERTIFICATE | {"issuers": None}),
        ("issuers", CERTIFICATE | {"issuers": "[]"}),
        ("issuers", CERTIFICATE | {"issuers": f'"{ISSUER.hex()}"'}),
        ("issuers", CERTIFICATE | {"issuers": f'["{ISSUER.hex()[1:]}"]'}),
        ("issuers", CERTIFICATE | {"issuers": f'["{ISSUER.hex().upper()}"]'}),
        ("issuers", CERTIFICATE | {"issuers": f'["{ISSUER.hex()}", "{ISSUER.hex()}"]'}),
        ("issuers", CERTIFICATE | {"issuers": f'["{"01" + 31 * "00"}"]'}),
        ("tells", {"tells": '"all"'}),
        ("tells", {"tells": "1"}),
        ("tells", {"tells": '"mean"', "mechanism": '"auto"'}),
        ("tells", {"tells": '"distribution"', "dimensions": "{}"}),
        ("categories", {"tells": '"mean"'}),
        ("categories", {"tells": '"distribution"', "low": "0", "high": "9", "step": "1"}),
        ("categories", {"tells": '"distribution"', "categories": None}),
        ("widths", {"mechanism": '"levels"', "widths": "[3, 2, 1]"}),
        ("widths", {"mechanism": '"levels"', "widths": "[4, 1]"}),
        ("widths", {"mechanism": '"levels"', "widths": "2"}),
        ("widths", {"widths": "[2, 1]"}),
        ("epsilon", {"tells": '"distribution"', "epsilon": '"0"'}),
    ],
)
def test_what_cannot_be_together_is_refused_by_its_field(
    field: str, changes: dict[str, str | None]
) -> None:
    assert judge(changed(**changes)).field == field
