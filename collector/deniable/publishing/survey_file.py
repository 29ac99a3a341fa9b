"""A survey as an operator writes it: TOML, read strictly."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Final

from deniable.enrolment import PublicKeys
from deniable.key_files import KeyFileError
from deniable.mechanisms import KINDS, InvalidPrivacyParameter
from deniable.mechanisms.kind import as_tuples, at_fault
from deniable.messages import (
    FRESH,
    RANDOMISED_RESPONSE,
    Enrolment,
    InvalidManifest,
    Repeat,
    Specification,
    is_simulated,
)
from deniable.messages.texts import (
    alphabet_signs,
    check_alphabet,
    exact_value,
    is_host_name,
    value_range,
)
from deniable.planning.specification import (
    AUTO,
    LEVELS,
    MEANING,
    TWO_ROUND,
    answered_best,
    specified,
)
from deniable.planning.words import KIND_WORDS
from deniable.publishing.blind_keys import BlindKeys
from deniable.publishing.survey_matrix import read_dimensions, read_survey_matrix
from deniable.reading.epochs import UNITS

_OPEN: Final = Enrolment()
_KEY: Final = re.compile("[0-9a-f]{64}")
_DURATION: Final = re.compile(r"(0|[1-9][0-9]{0,8}) (second|minute|hour|day|week)s?", re.ASCII)

FIELDS: Final = {
    "name": "lasting name: a-z, 0-9 and -, at most 64 characters",
    "question": "question shown to users",
    "categories": "all possible answers, in order",
    "mechanism": "; ".join(
        [f'"{AUTO}", {MEANING}', *(f'"{name}", {of.summary}' for name, of in KIND_WORDS.items())]
    ),
    "tells": 'for ordered answers (categories, or low, high and step): "distribution", the '
    'mechanism for shares of ranges and quantiles; for numbers also "mean", the mechanism for '
    "their mean",
    **{key: meaning for words in KIND_WORDS.values() for key, meaning in words.keys.items()},
    "largest_share": "largest share that must be precise, such as 0.4, which affects the choice of "
    "mechanism; 0 means all shares together; default: 0.1 or, with few answers, twice the average "
    "share",
    "epsilon": 'privacy of one report, as a string such as "1"; smaller is more private',
    "delta": 'slack of the guarantee, as a string; leave it at "0"',
    "epoch": 'how often a device may report: "1 day", "1 week", "12 hours"',
    "epochs": "number of epochs that the survey lasts",
    "repeat": '"fresh", a new response each epoch; or "memoised", the same kept response to the '
    "same answer (at most 16 categories, unless two-round)",
    "memoised_epochs": "for a memoised survey: number of epochs for which responses are kept, 2 "
    "to 10,000",
    "grace": 'how long after an epoch its reports are still accepted, such as "1 day"',
    "start": "start of epoch 0, a time with an offset; default: the last midnight UTC, or for "
    "epochs shorter than a day, the last whole multiple of their length",
    "minimum_reports": "number of reports at which figures appear; each update needs at least as "
    "many new reports",
    "enrolment": '"open": any device may report; "certificate": only devices that an issuer '
    'vouches for; "blind": like "certificate", but the issuer cannot tell which report is whose',
    "issuers": "for a certificate survey: public keys, 64 hex digits each, of the current issuer "
    "and, before a replacement, of the next issuer",
    "issuer": "for a blind survey: the issuer's host name, by which its reports are counted or "
    "distrusted",
    "issuer_keys": "for a blind survey: the file of public keys that `deniable issuer keys` wrote",
}
"""Every field of a survey file; the site's table is generated from it."""

_TELLS: Final = {"mean": "mean", "distribution": LEVELS}
"""The most informative kind for each field."""

_DEFAULTS: Final[dict[str, object]] = {
    "mechanism": AUTO,
    "delta": "0",
    "repeat": "fresh",
    "grace": "1 day",
    "minimum_reports": 100,
    "enrolment": "open",
}

TRYING_OUT: Final = """\
# Number of reports at which figures appear; 1 is for testing. Real users need 100 or more.
minimum_reports = 1
"""
EXAMPLE: Final = f"""\
# A survey. Publish it with: deniable survey publish example-survey.toml

name = "rating-of-marriage"
question = "How do you rate your marriage?"
categories = ["very poor", "poor", "fair", "good", "very good"]

# The privacy of one report: for any answer, each response is at most e^epsilon times
# as likely as with any other answer. Keep the quotes: a computer cannot store 0.1 exactly.
epsilon = "1"

# A device reports at most once per epoch; each report adds to what the device reveals.
epoch = "1 week"
epochs = 8
grace = "1 day"

{TRYING_OUT}"""


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Add the file's name to errors about the file."""
    try:
        yield
    except InvalidManifest as error:
        raise InvalidManifest(f"{file}: {error.field}", error.reason) from error


@dataclass(frozen=True, slots=True)
class SurveyFile:
    """A survey file's fields, checked for their types; the manifest checks their values.

    Attributes: see :data:`FIELDS`; durations and start are in (Unix) seconds.
    """

    name: str
    question: str
    categories: tuple[str, ...]
    epsilon: str
    delta: str
    epoch_seconds: int
    epochs: int
    grace_seconds: int
    start: int | None
    minimum_reports: int
    specification: Specification = RANDOMISED_RESPONSE
    largest_share: float | None = None
    repeat: Repeat = FRESH
    enrolment: Enrolment | BlindKeys = _OPEN

    @classmethod
    def load(cls, file: Path, **instead: str) -> "SurveyFile":
        """Read a file, with some fields replaced; errors name the file, too."""
        with naming(file):
            try:
                text = file.read_text("utf-8-sig")
            except UnicodeDecodeError as error:
                raise InvalidManifest("TOML", "is not UTF-8 text") from error
            return cls.parse(text, file.parent, **instead)

    @classmethod
    def parse(cls, text: str, folder: Path = Path(), **instead: str) -> "SurveyFile":
        """Read a file's text; other files are relative to its folder. Otherwise like ``load``."""
        # TOMLDecodeError, an integer of thousands of digits, or endlessly nested lists.
        with at_fault("TOML", (ValueError, RecursionError)):
            written = tomllib.loads(text)
        table = {**_DEFAULTS, **written, **instead}
        if "dimensions" in written:
            table = {**table, "mechanism": written.get("mechanism", "one-question")}
        if "tells" in table:
            table = {**table, "mechanism": _telling(table, written)}
        kind = _kind(table)
        for field in table:
            if field not in FIELDS and field not in _keys(kind, table):
                raise InvalidManifest(field, f"is unknown; {_meant(field)}")
        if is_simulated(name := _text(table, "name")):
            raise InvalidManifest("name", "is only for simulated surveys, which no device accepts")
        epsilon, delta = _text(table, "epsilon"), _text(table, "delta")
        repeat, largest = _repeat(table), _largest_share(table)
        if _is_several(kind):
            dimensions = read_dimensions(_field(table, "dimensions"))
            categories = KINDS[kind].labels(dimensions)
            settings = answered_best(kind, dimensions, epsilon, delta, repeat, largest)
        else:
            categories = _categories(table, kind)
            settings = _settings(table, kind, categories, folder)
        return cls(
            name=name,
            question=_text(table, "question"),
            categories=categories,
            epsilon=epsilon,
            delta=delta,
            epoch_seconds=_duration(table, "epoch"),
            epochs=_count(table, "epochs"),
            grace_seconds=_duration(table, "grace"),
            start=_instant(table, "start"),
            minimum_reports=_count(table, "minimum_reports"),
            specification=specified(
                kind, len(categories), epsilon, delta, settings, repeat, largest_share=largest
            ),
            largest_share=largest,
            repeat=repeat,
            enrolment=_enrolment(table, folder),
        )


def _categories(table: dict[str, object], kind: str) -> tuple[str, ...]:
    """Return the answers; of texts, the characters of which they are made."""
    if _is_numeric(kind, table):
        return value_range(*(_value(table, field) for field in ("low", "high", "step")))
    if kind == "strings":
        signs = alphabet_signs(_text(table, "alphabet"))
        check_alphabet(signs, "alphabet")
        return signs
    return _texts(table, "categories")


def _meant(field: str) -> str:
    """Return the field that was probably meant, or where all fields are listed."""
    for near in get_close_matches(field.lower(), FIELDS, 1):
        return f"did you mean {near}?"
    return 'the page "A survey file" in the documentation lists the fields'


def _field(table: dict[str, object], field: str) -> object:
    if field not in table:
        raise InvalidManifest(field, f"is missing: {FIELDS[field]}")
    return table[field]


def _text(table: dict[str, object], field: str) -> str:
    value = _field(table, field)
    if isinstance(value, float | int) and field in {"epsilon", "delta", "kept"}:
        example = 'delta = "0"' if field == "delta" else f'{field} = "1" or {field} = "0.5"'
        raise InvalidManifest(field, f"must be a string, such as {example}, with the quotes")
    if not isinstance(value, str):
        raise InvalidManifest(field, "must be a string")
    return value


def _telling(table: dict[str, object], written: Mapping[str, object]) -> str:
    """Return the kind that estimates the requested quantity."""
    if "mechanism" in written or "dimensions" in written:
        raise InvalidManifest("tells", "already chooses the mechanism: omit one of the two")
    if (tells := _text(table, "tells")) not in _TELLS:
        raise InvalidManifest("tells", f"must be {FIELDS['tells']}")
    return _TELLS[tells]


def _kind(table: dict[str, object]) -> str:
    name = _text(table, "mechanism")
    if name == AUTO and "kept" in table:
        name = TWO_ROUND
    if name != AUTO and name not in KINDS:
        raise InvalidManifest("mechanism", f"must be {FIELDS['mechanism']}")
    for other, words in KIND_WORDS.items():
        for key in words.keys:
            if key in table and key not in _keys(name, table):
                raise InvalidManifest(key, f'belongs to a survey with mechanism = "{other}"')
    if _is_numeric(name, table) and "categories" in table:
        raise InvalidManifest("categories", "follow from low, high and step; omit them")
    if "alphabet" in table and "categories" in table:
        raise InvalidManifest("categories", "follow from alphabet; omit them")
    if _is_several(name) and "categories" in table:
        raise InvalidManifest("categories", "follow from dimensions; omit them")
    return name


def _keys(kind: str, table: Mapping[str, object]) -> Mapping[str, str]:
    if kind == AUTO:
        return {}
    numbers = KIND_WORDS["mean"].keys if _is_numeric(kind, table) else {}
    return {**numbers, **KIND_WORDS[kind].keys}


def _is_numeric(kind: str, table: Mapping[str, object]) -> bool:
    numeric = kind != AUTO and KINDS[kind].numeric
    return "low" in table if numeric is None else numeric


def _is_several(kind: str) -> bool:
    return kind != AUTO and KINDS[kind].several


def _settings(
    table: dict[str, object], kind: str, categories: tuple[str, ...], folder: Path
) -> dict[str, object]:
    """Return the settings of a kind, lists as tuples; the kind checks them."""
    if kind == AUTO:
        return {}
    keys, wanted = KIND_WORDS[kind].keys, KIND_WORDS[kind].wanted
    for key in wanted:
        _field(table, key)
    settings = {key: as_tuples(table[key]) for key in keys if key in table}
    if "kept" in settings:
        _text(table, "kept")
    if "matrix" in settings:
        epsilon, delta = _text(table, "epsilon"), _text(table, "delta")
        settings |= read_survey_matrix(settings, categories, epsilon, delta, folder)
    return settings


def _repeat(table: dict[str, object]) -> Repeat:
    match _text(table, "repeat"):
        case "fresh":
            if "memoised_epochs" in table:
                raise InvalidManifest(
                    "memoised_epochs", 'belongs to a survey with repeat = "memoised"'
                )
            return FRESH
        case "memoised":
            epochs = _count(table, "memoised_epochs")
            with at_fault("memoised_epochs"):
                return Repeat("memoised", epochs)
    raise InvalidManifest("repeat", f"must be {FIELDS['repeat']}")


_MODES: Final = {"issuers": "certificate", "issuer": "blind", "issuer_keys": "blind"}
"""The fields that belong to one mode of enrolment."""


def _enrolment(table: dict[str, object], folder: Path) -> Enrolment | BlindKeys:
    mode = _text(table, "enrolment")
    for field, needed in _MODES.items():
        if field in table and mode != needed:
            raise InvalidManifest(field, f'belongs to a survey with enrolment = "{needed}"')
    match mode:
        case "open":
            return Enrolment()
        case "certificate":
            keys = _texts(table, "issuers")
            if not all(_KEY.fullmatch(key) for key in keys):
                raise InvalidManifest("issuers", f"are {FIELDS['issuers']}")
            with at_fault("issuers"):
                return Enrolment("certificate", tuple(map(bytes.fromhex, keys)))
        case "blind":
            if not is_host_name(issuer := _text(table, "issuer")):
                raise InvalidManifest("issuer", "must be a host name, in lower case")
            with at_fault("issuer_keys", KeyFileError):
                public = PublicKeys.read(folder / _text(table, "issuer_keys"))
            return BlindKeys(issuer, public)
    raise InvalidManifest("enrolment", f"must be {FIELDS['enrolment']}")


def _largest_share(table: dict[str, object]) -> float | None:
    share = table.get("largest_share")
    if share is None:
        return None
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidManifest("largest_share", "must be a number from 0 to 1, such as 0.4")
    return float(share)


def _value(table: dict[str, object], field: str) -> Fraction:
    value = _field(table, field)
    if isinstance(value, float):
        raise InvalidManifest(
            field, f'must be a string, such as {field} = "0.5": floats are inexact'
        )
    if type(value) is not int and not isinstance(value, str):
        raise InvalidManifest(field, "must be a whole number, or a number as a string")
    try:
        return exact_value(field, value)
    except InvalidPrivacyParameter as error:
        raise InvalidManifest(field, "is too large") from error


def _texts(table: dict[str, object], field: str) -> tuple[str, ...]:
    value = _field(table, field)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidManifest(field, "must be a list of strings")
    return tuple(value)


def _count(table: dict[str, object], field: str) -> int:
    value = _field(table, field)
    if type(value) is not int:
        raise InvalidManifest(field, "must be a whole number")
    return value


def _duration(table: dict[str, object], field: str) -> int:
    match = _DURATION.fullmatch(_text(table, field))
    if match is None:
        raise InvalidManifest(
            field,
            "must be a number and a unit (seconds, minutes, hours, days or weeks), such as "
            '"30 days"',
        )
    return int(match[1]) * UNITS[match[2]]


def _instant(table: dict[str, object], field: str) -> int | None:
    value = table.get(field)
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidManifest(
            field, "must be a time with an offset, without quotes: 2026-01-05T00:00:00Z"
        )
    return int(value.timestamp())
