"""Texts of a manifest: those for people, the mark of simulated surveys, numbers, and origins.

Each has one form: the contents of a question or category; a numeric survey's categories, which are
its values; and a collector's origin, which is compared byte for byte.

A program answers a simulated survey with simulated reports. Every figure has the mark, so that none
can be mistaken for devices' answers. Devices refuse such surveys, whatever their app declares.
"""

import ipaddress
import math
import operator
import re
import unicodedata
from bisect import bisect
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from numbers import Real
from typing import Final, SupportsIndex

from deniable.mechanisms import MAX_CATEGORIES, MAX_DENSE, Number, exact_number
from deniable.mechanisms.kind import MAX_LENGTH, MAX_SIGNS
from deniable.messages.refusals import InvalidManifest

# The characters of texts, as alternating run lengths: so many code points are forbidden, so many
# allowed, and so on. Each is a number in base 26, written in letters and starting with a capital.
# Allowed are the characters of Unicode 14.0 except control, format, surrogate and line-separator
# characters (Cc, Cf, Cs, Zl, Zp), which can reorder, hide or break up displayed text. The joiners
# U+200C and U+200D are allowed: Persian, Sinhala and emoji need them. The list is pinned, since
# Python versions differ about later characters.
_RUNS: Final = (
    "BgDrBhNBBbmCGEHBBBUBPhBBmCByCDBCdIBbEGRWBHkBBwCChCDxOChCBxCPBBcCBBLFBfJCwBGfBICCCWBHBBDECJCCCE"
    "IBECBFCZCDBGECCWBHBCBCBCCBBFECCDDBHEBBHRKDBJBDBWBHBCBFCKBDBDCBPECMHHBDBICCCWBHBCBFCJCCCDHDECBF"
    "CSKCBGDDBEDCBBBCDCDDDMEFDDBECBGBOVFNBDBXBQCJBDBEHCBDCBCECKHWBDBXBKBFCJBDBEHCGCBECKBCNNBDBBzBDB"
    "GEQCBaBDBSDYBJBBCHDBEGBBBIGKCDMCgEBdBlCBBBFBYBBBXCFBBBGCKCEBgCuBBkEBnBBkBPBNBlHqBBFBCOnBECHBBB"
    "ECBpBECBhBECHBBBECPBCfBECCpCBgDBaGDiCGCZtDDlHWJYJUMNBDBCMDqCKGKGOBLGDlHBrFCsKBfBMEMEBDBqCFLBsE"
    "BaGLDCkCCnBBdCLGKGOCBfBxCzDBvBEmICiDPDCiHBrCLIBrFUoCGCBmCGCIBBBBBBBBfCCbBPBOCGBTCDBJBLBCCYHBxQ"
    "CCBbBNDBhPBhPFkEZnZLVCrsCBgBNlFBtBBFBCCeHCOYJHBHBHBHBHBHBHBHBEwBiBaBDlMIgBaMECmBDiCDzFBrBDqBDg"
    "MBvBBrirDCdJNkUHcIHvFCBBBFYChDKGCeICsIMGEmLBeDDaBLEBhBCdJOCKCDzYBcKGCGCGJHBHBCiEEwCKGQnsMXEBxD"
    "ayKagCEcBmHMFFBaBFBBBCBCBEvQRdCCcHBBgBqGBzBTBEEFBFfEHiDGCGCGCDDHBHNCCMBBaBTBCBPCOBiEtFDEBtDDkB"
    "NDBBvBuFaBdDBxPBcEBkJBeFBrFBeBBlEOBqGcCKGBkEBkEBoICaLMBPBHBCBLBPBHBCCpLzJWKIYGBBqBJCrGCBBBsBCD"
    "BCXBCuIJBwTBCFBhDBbFBCmCeEUCByBCFIBDBBdCDEKHJHCmBgBnEMJCcDBdCBbFBaHEMHDcCvCdBzNBzHBuIKLiBfBBqB"
    "DCCDaBoIBqWBaBmBcUXJDaEBkJCkBFNZHKGCbBSIBnJDsBULSBBsCnHBBBEBPBLGChFKGEBICCCWBHBCBFBKCCCDCBGBFH"
    "CHDFFjDoBFBeCuIKGkCcCBmBiCrLKGNTCgGKCcBbCPEXHdCiDwDfMICBCIBCBBeBCCMJKCsICBuCLBbCuIDfNCvKdJBBtB"
    "OKBdDBgCWBOCvHBCBBsDBBCBJIKGGBCBBlBCBGHKLyZHbBPByNBjnDyEhBFLHoDxkDvNBpfFztWlMubVxHBfBKEDdBKGBe"
    "CGKCsKKBHBVFTBamDnDxCxECfHRCmFLCOJcaIBvqBqJNfrEBHBCBLfBtDREIPgDkuEdFNDJHKCEGyyBuCXJEmCiJmKBnCC"
    "wIEiVCsFyUMDjJZFfDhBCtBCCBCCCEBMBBBHBCnBECIBHBBcBEBFBBDHBNcCLgCBbaPFBPBqmBfIrHBRCHBCBFIfBtDOCK"
    "ECMiBfRCgFBBwaHBEBCBPBHpCQBpCyEKECBefCqCyCjHmEBBbBCBBCBBKBEBBBBGBEBBBBBBDBCBBCBBBBBBBBBBCBBCEB"
    "HBEBEBBBKBRFDBFBRCaCKkBsEDwMPCPBPBBlKGsCeBdNBsEJHCOGFyBlwFQDNDEmMDlHMEBPMECeIKGBoIBeCCDaNcMOCF"
    "DFDHJBdDLFGKKGIIHJFrBCdBlKBnqClfcBgGdtHIoCInqOLblEpjUwCfyHhzBotmrJgDsfoDsyoCDsyo"
)
_BOUNDS: Final = tuple(
    accumulate(
        reduce(lambda number, letter: 26 * number + ord(letter) - ord("a"), run.lower(), 0)
        for run in re.findall("[A-Z][a-z]*", _RUNS)
    )
)
# Default_Ignorable_Code_Point in Unicode 14.0, as far as allowed.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_BLANK_BRAILLE: Final = "\u2800"
_NAMED: Final = 40  # characters of a text that a refusal repeats
_MOST_READ: Final = 1024  # characters of an answer that is any text
_SPACE: Final = "␣"
_PREFIX: Final = "simulated-"
_PLACES: Final = 6
_MOST_STEPS: Final = 10**12
_BEYOND: Final = 10**30
_BEYOND_PLACES: Final = 30

ALPHABETS: Final = {"text": "a-z0-9␣_.,:;/@#&+'()-"}
"""Alphabets that have a name."""
OTHER_SIGN: Final = "\ufffd"
"""The mark of a character outside an alphabet."""

VALUE_PATTERN: Final = re.compile(r"(?!-0\Z)-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,5}[1-9])?", re.ASCII)
"""The only form of a value: no exponent or outer zeros, 15 digits before and 6 after the point."""
_HOST_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://"
    rf"(?P<host>\[[0-9a-f:.]+\]|{_HOST_NAME})"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?",
    re.ASCII,
)
_LOOPBACK = frozenset({"127.0.0.1", "[::1]"})
_DEFAULT_PORT = {"https": 443, "http": 80}


def check_text(field: str, text: str, most_bytes: int) -> None:
    """Check that people can read a text of a manifest, and that the text is in its only form."""
    for character in dict.fromkeys(text):
        if bisect(_BOUNDS, ord(character)) % 2 == 0:
            code = f"U+{ord(character):04X}"
            reason = "must contain no control, format or line-separator characters"
            raise InvalidManifest(field, f"{reason}, or any newer than Unicode 14, such as {code}")
    if not text or text != text.strip():
        raise InvalidManifest(field, "must not be empty or begin or end with a space")
    seen = _INVISIBLE.sub("", text).replace(_BLANK_BRAILLE, "")
    if all(unicodedata.category(character)[0] in "MZ" for character in seen):
        codes = " ".join(f"U+{ord(character):04X}" for character in text[:_NAMED])
        raise InvalidManifest(field, f"must contain visible characters, not only {codes}")
    if len(text.encode()) > most_bytes:
        raise InvalidManifest(field, f"must be at most {most_bytes} bytes long in UTF-8")
    if not unicodedata.is_normalized("NFC", text):
        raise InvalidManifest(field, "must be in Unicode normalisation form C")


def look_of(label: str) -> str:
    """Return the form that labels share if they differ in case, width or invisible characters."""
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", label)).casefold()


def alphabet_signs(alphabet: str) -> tuple[str, ...]:
    """Return the characters of an alphabet such as "a-z0-9-"."""
    signs: list[str] = []
    for first, last in re.findall("(.)(?:-(.))?", ALPHABETS.get(alphabet, alphabet), re.DOTALL):
        if first > (last or first):
            reason = f"has a descending range, {first}-{last}; write a hyphen last"
            raise InvalidManifest("alphabet", reason)
        signs += map(chr, range(ord(first), ord(last or first) + 1))
        if len(signs) > MAX_SIGNS:  # refused, however many more there are
            break
    return tuple(signs)


def check_alphabet(signs: tuple[str, ...], field: str = "categories") -> None:
    """Check the characters of which texts are made: each must be one that folding a text leaves."""
    if not 2 <= len(signs) <= MAX_SIGNS:
        raise InvalidManifest(field, f"must have 2 to {MAX_SIGNS} characters")
    for sign in signs:
        if len(sign) != 1 or folded(sign) != sign or sign == OTHER_SIGN:
            reason = "must be single characters in lower case, with ␣ for a space"
            raise InvalidManifest(field, f"{reason}: {sign[:_NAMED]!r}")


def folded(text: str) -> str:
    """Return a text without case, width and invisible characters, and with ␣ for a space."""
    return _SPACE.join(look_of(text).split())


def text_signs(text: str, alphabet: str) -> list[int]:
    """Return the numbers of a text's characters from 1, 0 for one outside the alphabet; cut to 64.

    An empty text is one character outside the alphabet. Only the text's beginning is read:
    normalising takes a time that grows with the square of a run of combining marks.
    """
    return [alphabet.find(sign) + 1 for sign in folded(text[:_MOST_READ])[:MAX_LENGTH]] or [0]


def check_categories(categories: tuple[str, ...]) -> None:
    """Check the list of categories."""
    if not 2 <= len(categories) <= MAX_CATEGORIES:
        raise InvalidManifest("categories", f"must be 2 to {MAX_CATEGORIES:,} texts")
    check_labels("categories", categories)


def check_labels(field: str, labels: tuple[str, ...]) -> None:
    """Check texts that people must be able to distinguish."""
    numbers: dict[str, int] = {}
    for number, label in enumerate(labels, 1):
        named = f"{label[:_NAMED]!r} (number {number:,})"
        try:
            check_text(field, label, 256)
        except InvalidManifest as error:
            raise InvalidManifest(field, f"{error.reason}: {named}") from error
        first = numbers.setdefault(look_of(label), number)
        if first != number:
            reason = f"{named} and number {first:,} look the same"
            raise InvalidManifest(field, reason)


def simulated_name(name: str) -> str:
    """Return the name under which simulated devices answer a survey's question."""
    return _PREFIX + name


def is_simulated(name: str) -> bool:
    """Return whether a survey with this name is simulated: no device answered it."""
    return name.startswith(_PREFIX)


def exact_value(name: str, value: Number) -> Fraction:
    """Return a value exactly; an error refers to it as ``name``.

    Raises:
        InvalidManifest: for a text that is not a number in its only form.
        InvalidPrivacyParameter: for a Decimal or Fraction that is not finite, or too long.
    """
    if isinstance(value, str):
        if not VALUE_PATTERN.fullmatch(value):
            raise InvalidManifest(name, 'must be a number such as "-2", "0" or "0.5"')
        return Fraction(value)
    return exact_number(name, value)


def read_values(categories: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Return the values of a numeric survey's categories."""
    if not all(VALUE_PATTERN.fullmatch(category) for category in categories):
        raise InvalidManifest(
            "categories", 'numeric categories must be numbers such as "-2", "0" or "0.5"'
        )
    values = tuple(map(Fraction, categories))
    step = values[1] - values[0]
    if step <= 0 or any(values[0] + i * step != value for i, value in enumerate(values)):
        raise InvalidManifest("categories", "numeric categories must rise in equal steps")
    if max(abs(values[0]), abs(values[-1])) > _MOST_STEPS * step:
        raise InvalidManifest(
            "categories", "must not be so large that floats cannot distinguish them"
        )
    return values


def value_range(low: Fraction, high: Fraction, step: Fraction) -> tuple[str, ...]:
    """Return the categories low, low + step, … high."""
    if step <= 0:
        raise InvalidManifest("step", "must be positive")
    steps = (high - low) / step
    if steps.denominator != 1 or steps < 1:
        raise InvalidManifest("high", "must be low plus one or more whole steps")
    if steps >= MAX_DENSE:
        raise InvalidManifest("step", f"gives more than {MAX_DENSE} values; use a larger step")
    return tuple(format_value(low + i * step) for i in range(steps.numerator + 1))


def format_value(value: Fraction) -> str:
    """Return a value in its only form."""
    scaled = value * 10**_PLACES
    if scaled.denominator != 1 or abs(value) >= 10**15:
        raise InvalidManifest(
            "categories", f"must have at most 15 digits before and {_PLACES} after the point"
        )
    whole, part = divmod(abs(scaled.numerator), 10**_PLACES)
    decimals = f"{part:0{_PLACES}d}".rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"


def value_text(given: object) -> str | None:
    """Return the category for a number from any library; None if no category matches."""
    value = None if _as_builtin(given) is None else number_value(given)
    try:
        return None if value is None else format_value(value)
    except InvalidManifest:
        return None


def number_value(given: object) -> Fraction | None:
    """Return a number, exactly enough to find its nearest value; None for NaN.

    Raises:
        TypeError: if the value is not a number.
    """
    value = _as_builtin(given)
    if value is None:
        raise TypeError("a number is expected: a float, int, Decimal, Fraction or numpy number")
    if not isinstance(value, float | Decimal):
        return Fraction(value)
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return None
    # No value has more than 15 digits before or 6 after the point, and Decimal("1e-999999999")
    # would fill the memory.
    if not -_BEYOND <= value <= _BEYOND:
        return Fraction(_BEYOND if value > 0 else -_BEYOND)
    if isinstance(value, Decimal) and (not value or value.adjusted() < -_BEYOND_PLACES):
        return Fraction((value > 0) - (value < 0), _BEYOND)
    return Fraction(value)


def _as_builtin(given: object) -> float | Decimal | Fraction | None:
    """Return a number from any library as a Python number; None if it has no such value."""
    if isinstance(given, bool):
        return None
    if isinstance(given, float | Decimal | Fraction):
        return given
    try:
        if isinstance(given, SupportsIndex):
            return operator.index(given)
        if isinstance(given, Real) and ((value := float(given)) == given or math.isnan(value)):
            return value
    except (TypeError, ValueError, OverflowError):  # such as an array of several numbers
        pass
    return None


def check_origin(origin: str) -> None:
    """Check the text of an origin.

    Raises:
        InvalidManifest: unless it is ``https://host[:port]`` in lower case without user, path or
            default port; ``http`` for 127.0.0.1 and [::1] only.
    """
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        raise InvalidManifest("origin", "must be https://host[:port] in lower case, without a path")
    host, port = match["host"], match["port"]
    if host.startswith("["):
        try:
            address = ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            address = None
        # Python versions differ in how they write a mapped IPv4 address.
        if address is None or address.ipv4_mapped or str(address) != host[1:-1]:
            raise InvalidManifest("origin", "must contain a canonical IPv6 address")
    if ".." in host:
        raise InvalidManifest("origin", "must contain a host name")
    if match["scheme"] == "http" and host not in _LOOPBACK:
        raise InvalidManifest("origin", "must use https; http is only for 127.0.0.1 and [::1]")
    if port is not None and (int(port) > 65_535 or int(port) == _DEFAULT_PORT[match["scheme"]]):
        raise InvalidManifest("origin", "must not name the default port or one above 65535")


def host_of(origin: str) -> str:
    """Return the host of a checked origin: its name or address, without the port."""
    match = _ORIGIN.fullmatch(origin)
    assert match is not None
    return match["host"]


def is_host_name(name: str) -> bool:
    """Return whether a text is the name of a host, in lower case."""
    return bool(re.fullmatch(_HOST_NAME, name, re.ASCII)) and ".." not in name
