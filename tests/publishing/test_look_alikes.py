"""Texts that people take for others: refused in one word, warned of as two answers."""

import json
from pathlib import Path

import pytest

from deniable.publishing.look_alikes import check_words, look_alike_warnings
from deniable.publishing.survey_file import EXAMPLE, InvalidSurveyFile, SurveyFile

SOUND = (
    "paypal",
    "Привет, wie geht's?",  # two words
    "IT-отдел, α-helix, 3D-принтер",
    "Größe, naïve, Ελλάδα, 寿司, شاي",
    "Tシャツ, K歌, 한국 TV",  # as people write them
    "µm, Ω, №",
    "می‌خواهید؟",
    "ක්‍රියා",
    "👨‍👩‍👧",
)
MIXED = {
    "p\u0430ypal": "CYRILLIC SMALL LETTER A (U+0430) beside Latin letters",
    "\u0440aypal": "LATIN SMALL LETTER A (U+0061) beside Cyrillic letters",
    "log\u03bfut now": "GREEK SMALL LETTER OMICRON (U+03BF) beside Latin letters",
    "yes, n\u0585": "ARMENIAN SMALL LETTER OH (U+0585) beside Latin letters",
    "\u0430\u0301 \u13aansw\u0435r": "LATIN SMALL LETTER N (U+006E) beside Cherokee letters",
}


@pytest.mark.parametrize("text", SOUND)
def test_words_of_one_script_are_taken(text: str) -> None:
    check_words("question", text)


@pytest.mark.parametrize(("text", "said"), MIXED.items())
def test_a_file_with_a_word_of_two_scripts_is_refused(text: str, said: str, tmp_path: Path) -> None:
    for field, value in (("question", text), ("categories", ["never", text])):
        lines = [line for line in EXAMPLE.splitlines() if not line.startswith(field)]
        file = tmp_path / "survey.toml"
        file.write_text("\n".join([*lines, f"{field} = {json.dumps(value)}"]), "utf-8")
        with pytest.raises(InvalidSurveyFile) as refused:
            SurveyFile.load(file)
        assert refused.value.field == field
        assert said in refused.value.reason


ALIKE = [
    *[("cop", "сор"), ("10", "IO"), ("com", "corn"), ("ВАТ", "bat"), ("Χ", "x"), ("a b", "a  b")],
    ("a", "a\u2800"),
]


@pytest.mark.parametrize("pair", ALIKE)
def test_answers_that_look_alike_are_warned_of(pair: tuple[str, str]) -> None:
    (said,) = look_alike_warnings((*pair, "never", *pair))
    first, second = map(repr, pair)
    assert f"{first} (number 1) and {second} (number 2) look the same" in said
    assert said.endswith("; so do 2 more")


def test_answers_that_differ_are_not() -> None:
    assert not [*look_alike_warnings(("never", "sometimes", "often", "да", "нет", "ja", "nein"))]
    assert not [*look_alike_warnings([f"page {number}" for number in range(5_000)])]
