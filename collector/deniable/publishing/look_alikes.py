"""Texts that look like others: those that a publisher may not use, and those with a warning.

Devices compare single characters only, so that all devices agree. Whether people confuse two texts
depends on tables that grow with Unicode, and is left to the publisher.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from deniable.messages import InvalidManifest
from deniable.messages.texts import look_of

_SCRIPTS: Final = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE")
"""The scripts whose letters look alike. Others may share a word, as in Japanese."""

# Letters of those scripts that look like a basic Latin letter, with that letter, from Unicode's
# confusables.txt (UTS 39).
_LETTERS: Final = (
    "ͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγινορσυϜϳϺЅІЈАВЕКМНОРСТУХЬагеорсухѕіјѡѴѵҮүһҽӀӏԁԌԛԜԝՍՏՕագ"
    "զհոռսցքօᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏳᏴᴦꙇꭵꮁꮃꮓꮩꮪꮯ"
)
_LATIN: Final = (
    "JABEZHlKMNOPTYXayivopouFjMSlJABEKMHOPCTYXbareopcyxsijwVvYyhelidGqWwUSOwq"
    "qhnnugfoDRTiYAJEWMHYGhZbRWSVSLCPKdGBriirwzvsc"
)
_PROTOTYPES: Final = str.maketrans(
    {**dict(zip(_LETTERS, _LATIN, strict=True)), "0": "o", "1": "l", "I": "l", "|": "l", "m": "rn"}
)


def check_words(field: str, text: str) -> None:
    """Raise InvalidManifest for a word that mixes letters of two of these scripts."""
    for is_word, characters in groupby(text, lambda c: unicodedata.category(c)[0] in "LM"):
        word = "".join(characters)
        if not is_word or word.isascii():
            continue
        scripts = [_script(character) for character in word]
        known = [script for script in scripts if script]
        if len(set(known)) > 1:
            at = next(at for at, script in enumerate(scripts) if script not in ("", known[0]))
            raise InvalidManifest(
                field,
                f"must not mix scripts within a word: {word!r} has {unicodedata.name(word[at])} "
                f"(U+{ord(word[at]):04X}) beside {known[0].capitalize()} letters",
            )


def look_alike_warnings(labels: Sequence[str]) -> Iterator[str]:
    """Yield a warning if texts that devices distinguish look the same to people."""
    numbers: dict[str, int] = {}
    pairs = [
        (number, first)
        for number, label in enumerate(labels, 1)
        if (first := numbers.setdefault(_skeleton(label), number)) != number
    ]
    if pairs:
        number, first = pairs[0]
        more = f"; so do {len(pairs) - 1:,} more" if len(pairs) > 1 else ""
        yield (
            f"{labels[first - 1]!r} (number {first:,}) and {labels[number - 1]!r} (number "
            f"{number:,}) look the same to many people{more}"
        )


def _script(letter: str) -> str:
    """Return the script of a letter, if it is one of these; "" for any other, and for marks."""
    words = unicodedata.name(letter, "").split()
    return next((script for script in _SCRIPTS if script in words), "")


def _skeleton(label: str) -> str:
    """Return a form that look-alikes share, nearly as in UTS 39, ignoring case."""
    # Pages render several spaces as one, and a blank Braille pattern as a space.
    seen = " ".join(label.replace("\u2800", " ").split())
    return look_of(unicodedata.normalize("NFD", seen).translate(_PROTOTYPES))
