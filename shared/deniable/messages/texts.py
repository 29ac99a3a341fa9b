"""Texts that people read: what a question or category may contain, and how to show it safely."""

import unicodedata

from deniable.mechanisms import MAX_CATEGORIES
from deniable.messages.refusals import InvalidManifest

# Control, format, surrogate and line-separator characters: they could reorder, hide or break up
# what a person sees.
_FORBIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def check_text(field: str, text: str, most_bytes: int) -> None:
    """Check that a text of a manifest is what a person can read, in one form."""
    if any(unicodedata.category(character) in _FORBIDDEN for character in text):
        raise InvalidManifest(field, "must have no control, format or line-separator characters")
    if not text or text != text.strip():
        raise InvalidManifest(field, "must not be empty or begin or end with a space")
    if len(text.encode()) > most_bytes:
        raise InvalidManifest(field, f"must have at most {most_bytes} bytes in UTF-8")
    if not unicodedata.is_normalized("NFC", text):
        raise InvalidManifest(field, "must be in Unicode normalisation form C")


def check_categories(categories: tuple[str, ...]) -> None:
    """Check the list of categories."""
    if not 2 <= len(categories) <= MAX_CATEGORIES:
        raise InvalidManifest("categories", f"must be 2 to {MAX_CATEGORIES:,} texts")
    check_labels("categories", categories)


def check_labels(field: str, labels: tuple[str, ...]) -> None:
    """Check texts of which a person is to tell one from another."""
    for label in labels:
        check_text(field, label, 256)
    folded = {unicodedata.normalize("NFKC", label).casefold() for label in labels}
    if len(folded) != len(labels):
        raise InvalidManifest(field, "two of them look the same after case folding")
