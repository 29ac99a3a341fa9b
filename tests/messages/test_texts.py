"""Texts for people: what they may contain, character by character."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest
from deniable.messages.texts import check_categories, check_text
from tests.support.effort import THOROUGH, effort


def sound(text: str, most_bytes: int = 1024) -> bool:
    try:
        check_text("question", text, most_bytes)
    except InvalidManifest:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        *("Yes", "How often?", "a  b", "Größe, 寿司, شاي, 🍵"),  # inner spaces are the author's
        *("<script>alert(1)</script>", "[bold]=1+1"),  # whoever shows it escapes it for the medium
        *("x\u00a0y", "\ue000"),  # an inner no-break space, a private-use character
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u06cc\u062f",  # Persian, with a non-joiner
        "\u0d9a\u0dca\u200d\u0dbb\u0dd2\u0dba\u0dcf",  # Sinhala, with a joiner
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "1\ufe0f\u20e3",  # a keycap
        "\u2801\u2800\u2803",  # Braille
    ],
)
def test_ordinary_texts_are_sound(text: str) -> None:
    assert sound(text)


def test_the_characters_are_those_of_unicode_14_whatever_python_knows() -> None:
    """Also where Python knows more: categories of what was assigned have not changed since."""
    forbidden = {"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"}
    points = [*range(0x3000), *range(0x3000, sys.maxunicode + 1, 1 if THOROUGH else 97)]
    differ = [
        point
        for point in points
        if sound(f"a{chr(point)}b") != (unicodedata.category(chr(point)) not in forbidden)
        and unicodedata.is_normalized("NFC", f"a{chr(point)}b")
    ]
    assert {0x200C, 0x200D} <= set(differ)
    later = [point for point in differ if point not in (0x200C, 0x200D)]
    assert not any(sound(f"a{chr(point)}b") for point in later)
    if unicodedata.unidata_version == "14.0.0":
        assert not later


@pytest.mark.parametrize(
    ("text", "most"), [("x" * 256, 256), ("é" * 128, 256), ("🍵" * 64, 256), ("x", 1)]
)
def test_length_is_counted_in_utf_8(text: str, most: int) -> None:
    assert sound(text, most)
    assert not sound(text, most - 1)


@settings(max_examples=effort(300))
@given(st.text(max_size=300))
def test_a_sound_text_survives_what_displays_and_stores_do(text: str) -> None:
    if sound(text):
        assert unicodedata.normalize("NFC", text) == text.strip() == text != ""
        assert text.encode().decode() == text
        assert len(text.splitlines()) == 1
        assert len(text.encode()) <= 1024


def test_a_refusal_names_the_field_and_not_the_text() -> None:
    for text in ("marker\n", " marker", "marker" * 200, "marker e\u0301"):
        with pytest.raises(InvalidManifest) as invalid:
            check_text("question", text, 1024)
        assert invalid.value.field == "question"
        assert "marker" not in str(invalid.value)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({4_000: "PAGE 12"}, "'PAGE 12' (number 4,001) and number 13 look the same"),
        ({7: "\u3164"}, "visible characters, not only U+3164: '\u3164' (number 8)"),
        ({7: "a\U0001fae8"}, "newer than Unicode 14, such as U+1FAE8: "),
        ({7: "page 3\u200d"}, r"'page 3\u200d' (number 8) and number 4 look the same"),
        ({7: "a\u202eb"}, r"such as U+202E: 'a\u202eb' (number 8)"),
        ({7: " a"}, "begin or end with a space: ' a' (number 8)"),
        ({7: "e\u0301"}, "form C: 'e\u0301' (number 8)"),
        ({7: "x" * 257}, f"256 bytes long in UTF-8: '{'x' * 40}' (number 8)"),
    ],
)
def test_of_many_texts_the_one_at_fault_is_named(texts: dict[int, str], said: str) -> None:
    categories = tuple(texts.get(at, f"page {at}") for at in range(5_000))
    with pytest.raises(InvalidManifest, match=re.escape(said)):
        check_categories(categories)
