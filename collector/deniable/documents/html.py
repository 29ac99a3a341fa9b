"""Documents as HTML: every text is escaped."""

from collections.abc import Iterable
from html import escape

from deniable.documents.caution import Caution, Level


def cautions_html(cautions: Iterable[Caution]) -> str:
    """Return a paragraph a caution, of its level's class, with its code for programs."""
    return "".join(
        f'<p class="{caution.level}" data-caution="{escape(caution.code)}"'
        f"{' role="alert"' * (caution.level is Level.ALERT)}>{escape(caution.text)}</p>\n"
        for caution in cautions
    )
