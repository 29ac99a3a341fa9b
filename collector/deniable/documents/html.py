"""Documents as HTML: every text is escaped."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape as escape_markup
from typing import Any, Final

from deniable.documents.document import Caution, Column, Document, Fact, Level, Table

_ROLE = ' role="alert"'
_LIMITATIONS: Final = 3
"""The number of cautions shown below a figure even if none is a warning."""
# Control, format and line-separator characters reorder or hide text, and XML forbids most of them;
# it also refuses surrogates and characters that will never be assigned.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # needed by Persian, Sinhala and emoji


def escape(text: str) -> str:
    """Return text that cannot become markup, with every hidden character replaced."""
    visible = "".join(
        c if c in _JOINERS or unicodedata.category(c) not in _HIDDEN else "\ufffd" for c in text
    )
    return escape_markup(visible)


def document_html(
    document: Document,
    chart: str = "",
    *,
    folded: bool = False,
    heading: Callable[[str], str] = escape,
) -> str:
    """Return the parts of a document, with its chart as markup.

    If ``folded``, tables are folded. Below a sentence, all but the first limitations are folded
    too. ``heading`` returns the markup of a title or a label, for pages that explain its words.
    """
    tables = "".join(table_html(table, heading) for table in document.tables)
    if folded and tables:
        tables = f"<details><summary>The same in numbers</summary>\n{tables}</details>\n"
    alerts = [caution for caution in document.cautions if caution.level is Level.ALERT]
    alone = [caution for caution in alerts if caution.text not in document.sentence]
    # Simulated devices are no reason for alarm.
    said = {caution.code for caution in alerts if caution not in alone} - {"simulated"}
    sentence = f'<p class="sentence{" alert" * bool(said)}">'
    others = [caution for caution in document.cautions if caution.level is not Level.ALERT]
    first = max(_LIMITATIONS, sum(caution.brief for caution in others))  # alerts come first
    aside = [fact for fact in document.facts if fact.aside]
    details = "".join(
        (
            *(f'<p class="note">{escape(note)}</p>\n' for note in document.notes),
            cautions_html(others[first:]),
            _facts_html(aside, heading),
        )
    )
    if details and document.sentence:
        details = f"<details><summary>Details</summary>\n{details}</details>\n"
    return "".join(
        (
            cautions_html(alone),
            f"{sentence}{escape(document.sentence)}</p>\n" * bool(document.sentence),
            _facts_html([fact for fact in document.facts if not fact.aside], heading),
            chart,
            tables,
            "<h3>Limitations</h3>\n" * bool(others),
            cautions_html(others[:first]),
            details,
        )
    )


def cautions_html(cautions: Iterable[Caution]) -> str:
    """Return a paragraph for each caution, with its level's class and, for programs, its code."""
    return "".join(
        f'<p class="{caution.level}"{_ROLE * (caution.level is Level.ALERT)} '
        f'data-caution="{escape(caution.code)}">{escape(caution.text)}</p>\n'
        for caution in cautions
    )


def table_html(table: Table, heading: Callable[[str], str] = escape) -> str:
    """Return a table if it has rows; each row also has its full-precision values, for programs."""
    if not table.rows:
        return ""
    columns = [column for column in table.titled if column.shape != "bar"]
    known = [column for column in table.columns if column.shape != "bar"]
    head = "".join(
        f'<th scope="col"{_text_class(column)}>{heading(column.title or "")}</th>'
        for column in columns
    )
    rows = (
        f"<tr{_row_class(row)}{''.join(_data(known, row))}>{''.join(_cells(columns, cells))}</tr>\n"
        for row, cells in zip(
            table.rows,
            zip(*(column.texts(table.rows) for column in columns), strict=True),
            strict=True,
        )
    )
    caption = f"<caption>{escape(table.title)}</caption>" * bool(table.title)
    body = f"<tbody>\n{''.join(rows)}</tbody>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead>\n{body}</table>\n"


def _facts_html(facts: Iterable[Fact], heading: Callable[[str], str]) -> str:
    rows = "".join(
        f"<div><dt>{heading(fact.label)}</dt><dd>{escape(fact.text)}</dd></div>\n"
        for fact in facts
        if fact.text
    )
    return f'<dl class="facts">\n{rows}</dl>\n' if rows else ""


def _cells(columns: list[Column], cells: Iterable[str]) -> Iterator[str]:
    for number, (column, text) in enumerate(zip(columns, cells, strict=True)):
        name, scope = ("td", "") if number else ("th", ' scope="row"')
        yield f"<{name}{scope}{_text_class(column)}>{escape(text)}</{name}>"


def _text_class(column: Column) -> str:
    return ' class="text"' if column.kind in {"text", "name"} else ""


def _row_class(row: Mapping[str, Any]) -> str:
    return f' class="{row["caution"]}"' if row.get("caution") else ""


def _data(columns: list[Column], row: Mapping[str, Any]) -> Iterator[str]:
    for column in columns:
        keys = ("low", "high") if column.shape == "interval" else (column.key,) * bool(column.key)
        for key in keys:
            value = row[key]
            text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
            yield f' data-{key.replace("_", "-")}="{escape(text)}"'
