"""Texts that people read: what a question or category may contain, and how to show it safely."""

import unicodedata

from deniable.mechanisms import MAX_CATEGORIES
from deniable.messages.refusals import InvalidManifest

__all__ = ["check_categories", "check_text"]

# Control, format, surrogate and line-separator characters: they could reorder, hide or break up
# what a person sees.
_FORBIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def check_text(field: str, text: str, most_bytes: int) -> None:
    """Check one text of a manifest.

    Raises:
        InvalidManifest: unless it is non-empty NFC of at most ``most_bytes`` UTF-8 bytes, without
            outer spaces and characters of the categories Cc, Cf, Cs, Zl and Zp.
    """
    if any(unicodedata.category(character) in _FORBIDDEN for character in text):
        raise InvalidManifest(field, "must have no control, format or line-separator characters")
    if not text or text != text.strip():
        raise InvalidManifest(field, "must not be empty or begin or end with a space")
    if len(text.encode()) > most_bytes:
        raise InvalidManifest(field, f"must have at most {most_bytes} bytes in UTF-8")
    if not unicodedata.is_normalized("NFC", text):
        raise InvalidManifest(field, "must be in Unicode normalisation form C")


def check_categories(categories: tuple[str, ...]) -> None:
    """Check the list of categories.

    Raises:
        InvalidManifest: unless there are 2 to 65,536 sound texts, distinct after NFKC + casefold.
    """
    if not 2 <= len(categories) <= MAX_CATEGORIES:
        raise InvalidManifest("categories", f"must be 2 to {MAX_CATEGORIES:,} texts")
    for category in categories:
        check_text("categories", category, 256)
    folded = {unicodedata.normalize("NFKC", category).casefold() for category in categories}
    if len(folded) != len(categories):
        raise InvalidManifest("categories", "two of them look the same after case folding")
