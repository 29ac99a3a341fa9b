"""Texts for people: what they may contain, character by character."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest, check_categories, check_text
from tests.support.effort import effort


def sound(text: str, most_bytes: int = 1024) -> bool:
    try:
        check_text("question", text, most_bytes)
    except InvalidManifest:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "How often?",
        "a  b",  # inner spaces are the author's
        "Größe, 寿司, شاي, 🍵",
        "<script>alert(1)</script>",  # sound: whoever shows it escapes it for the medium
        "[bold]=1+1",
        "x\u00a0y",  # an inner no-break space
        "\u0378",  # unassigned, and a private-use character: not listed
        "\ue000",
    ],
)
def test_ordinary_texts_are_sound(text: str) -> None:
    assert sound(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" ", "only a space"),
        (" x", "outer space"),
        ("x ", "outer space"),
        ("x\u00a0", "outer no-break space"),
        ("\u3000x", "outer ideographic space"),
        ("e\u0301", "decomposed"),
        ("\u212b", "ångström sign, which NFC replaces"),
    ],
)
def test_texts_that_could_mislead_a_reader_are_not(text: str, why: str) -> None:
    assert not sound(text), why


def test_every_character_is_judged_by_its_unicode_category() -> None:
    forbidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if unicodedata.category(character) in forbidden:
            assert not sound(f"a{character}b"), hex(point)


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
    "categories",
    [
        ("yes", "no"),
        ("1", "2", "3"),
        ("a", "á", "à"),
        ("x" * 256, "y"),
        tuple(f"{number}" for number in range(65_536)),
    ],
    ids=len,
)
def test_distinct_sound_texts_are_categories(categories: tuple[str, ...]) -> None:
    check_categories(categories)


@pytest.mark.parametrize(
    "categories",
    [
        (),
        ("only",),
        tuple(f"{number}" for number in range(65_537)),
        *(("yes", ""), ("yes", "no\n"), ("yes", "x" * 257), ("yes", "no", "yes"), ("yes", "Yes")),
        ("straße", "STRASSE"),
        ("ﬁne", "fine"),  # a ligature
        ("1", "１"),  # fullwidth
        *(("1", "①"), ("Ω", "ω")),
        ("a b", "a\u00a0b"),  # no-break space
    ],
    ids=len,
)
def test_categories_that_look_alike_or_are_too_few_or_many_are_refused(
    categories: tuple[str, ...],
) -> None:
    with pytest.raises(InvalidManifest) as invalid:
        check_categories(categories)
    assert invalid.value.field == "categories"
