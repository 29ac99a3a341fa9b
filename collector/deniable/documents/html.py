"""Documents as HTML: every text is escaped."""

from collections.abc import Iterable
from html import escape

from deniable.documents.caution import Caution, Level

_ROLE = ' role="alert"'


def cautions_html(cautions: Iterable[Caution]) -> str:
    """Return a paragraph a caution, of its level's class, with its code for programs."""
    return "".join(
        f'<p class="{caution.level}"{_ROLE * (caution.level is Level.ALERT)} '
        f'data-caution="{escape(caution.code)}">{escape(caution.text)}</p>\n'
        for caution in cautions
    )
