"""An audit for people and for machines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.audit import Comparison, Criterion, Finding, Witness
from deniable.cli.bounds import decimal_text, upper_bound
from deniable.mechanisms import Rows

__all__ = [
    "Audit",
    "Subject",
    "audit_json",
    "comparison_json",
    "show_audit",
    "show_comparison",
]

_DIGITS: Final = 12
_LONGEST_FRACTION: Final = 46
_MOST_NAMES: Final = 12
_WIDEST_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class Subject:
    """What is audited.

    Attributes:
        title: the file, or the survey.
        matrix: its entries.
        categories: what its rows are called.
        responses: what its columns are called.
        note: what else to know of it.
        terms: labels and texts about several reports; the matrix is that of one.
    """

    title: str
    matrix: Rows
    categories: Sequence[str]
    responses: Sequence[str]
    note: str
    terms: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Audit:
    """What ``deniable audit`` found.

    Attributes:
        subject: what was audited.
        epsilon: as asked, or None.
        delta: as asked, or None.
        pure: the guarantee without delta.
        at_delta: the tight epsilon at the delta asked for, if any.
        at_epsilon: the tight delta at the epsilon asked for, if any.
        lie: how often it lies, beside the optimum.
    """

    subject: Subject
    epsilon: str | None
    delta: str | None
    pure: Finding
    at_delta: Finding | None
    at_epsilon: Finding | None
    lie: Criterion


def show_audit(found: Audit, screen: Console) -> None:
    """Print an audit, a label and what it says to a line."""
    subject = found.subject
    lines = _heading(subject)
    lines += [("pure guarantee", _epsilon(found.pure)), *_witness(subject, found.pure.witness)]
    if found.at_delta is not None:
        lines.append((f"with delta {found.delta}", _epsilon(found.at_delta)))
        lines += _witness(subject, found.at_delta.witness)
    if found.at_epsilon is not None:
        most = "" if found.at_epsilon.exact else "at most "
        lines.append(
            (
                f"with epsilon {found.epsilon}",
                f"delta {most}{_number(found.at_epsilon.delta, up=True)}",
            )
        )
        lines += _witness(subject, found.at_epsilon.witness)
    lines.append(("lies", _lie(found.lie)))
    lines += subject.terms
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in lines:
        table.add_row(Text(label), Text(text))
    screen.print(table)


def audit_json(found: Audit) -> dict[str, object]:
    """Return an audit for machines: every number exactly, and as a decimal."""
    return {
        **_subject(found.subject),
        "pure": _finding(found.subject, found.pure),
        "at_delta": found.at_delta and _finding(found.subject, found.at_delta),
        "at_epsilon": found.at_epsilon and _finding(found.subject, found.at_epsilon),
        "lie": _criterion(found.lie),
    }


def show_comparison(
    subject: Subject, found: Comparison, epsilon: str | None, screen: Console
) -> None:
    """Print a comparison as a table, and what to mind when reading it.

    Args:
        subject: what is compared.
        found: what was found.
        epsilon: as asked; None for the matrix's own.
        screen: where to.
    """
    heading = Table(box=None, pad_edge=False, show_header=False)
    for label, text in (
        *_heading(subject),
        ("epsilon", epsilon or f"{_level(found.odds) or 'infinite'}, its own"),
        ("delta", _number(found.delta, up=True)),
    ):
        heading.add_row(Text(label), Text(text))
    screen.print(heading)
    table = Table(box=None, pad_edge=False)
    for title in ("criterion", "compared with"):
        table.add_column(title)
    for title in ("matrix", "optimum", "ratio"):
        table.add_column(title, justify="right", no_wrap=True)
    for criterion in found.criteria:
        numbers = (criterion.value, criterion.optimum, criterion.ratio)
        table.add_row(criterion.name, criterion.against, *map(_short, numbers))
    screen.print()
    screen.print(table)
    notes = dict.fromkeys(c.reason for c in found.criteria if c.reason)
    shown = [f"- {reason[0].upper()}{reason[1:]}." for reason in notes]
    if not found.holds:
        shown.append(
            "! The matrix is not private at this epsilon and delta; it may beat an optimum."
        )
    shown.append(
        "A lie is a response that is not the answer. Total variance: n times the variances of all "
        "estimated frequencies, summed, where the true ones are equal; the bound for any mechanism "
        "is for delta 0."
    )
    screen.print("\n" + "\n".join(shown), style="dim")


def comparison_json(subject: Subject, found: Comparison) -> dict[str, object]:
    """Return a comparison for machines."""
    return {
        **_subject(subject),
        "epsilon": _level(found.odds),
        "odds": found.odds and _both(found.odds, up=True),
        "delta": _both(found.delta, up=True),
        "holds": found.holds,
        "criteria": [_criterion(criterion) for criterion in found.criteria],
    }


def _heading(subject: Subject) -> list[tuple[str, str]]:
    grid = subject.matrix.grid
    power = grid.bit_length() - 1
    over = f"2^{power}" if power > 9 and grid == 1 << power else f"{grid:,}"
    if len(over) > _LONGEST_FRACTION:
        over = f"{grid.bit_length()}-bit integers"
    size = f"{len(subject.categories):,} categories × {len(subject.responses):,} responses"
    lines = [("matrix", subject.title), ("size", f"{size}, over {over}")]
    return [*lines, ("note", subject.note)] if subject.note else lines


def _epsilon(finding: Finding) -> str:
    if finding.odds is None:
        if finding.exact:
            return "none: no finite epsilon holds"
        return "none that could be shown: too many pairs are alike"
    most = "" if finding.exact else "at most "
    return f"epsilon {most}{finding.epsilon:f}, odds {_number(finding.odds, up=True)}"


def _witness(subject: Subject, witness: Witness | None) -> list[tuple[str, str]]:
    if witness is None:
        return []
    names = [_quoted(subject.responses[y]) for y in witness.responses[:_MOST_NAMES]]
    if more := len(witness.responses) - len(names):
        names.append(f"and {more:,} more (--json has all)")
    one, other = (_cut(subject.categories[x]) for x in (witness.category, witness.other))
    return [
        ("  worst set S", ", ".join(names)),
        (f"  P(S | {one})", _number(witness.probability)),
        (f"  P(S | {other})", _number(witness.other_probability)),
    ]


def _lie(lie: Criterion) -> str:
    if lie.value is None:
        return lie.reason
    often = f"at most {upper_bound(Fraction(lie.value), 6)} of the time"
    if lie.optimum is None:
        return f"{often}; {lie.reason}"
    return f"{often}, {_short(lie.ratio)} times the optimum of {_short(lie.optimum)}"


def _cut(name: str) -> str:
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 1]}…"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _number(value: Fraction, *, up: bool = False) -> str:
    """Return a number exactly if it is short, and as a decimal."""
    shown, same = decimal_text(value, _DIGITS, up=up)
    if value.denominator == 1 and same:
        return shown
    fraction = f"{value}"
    if len(fraction) > _LONGEST_FRACTION:
        return shown if same else f"{'≤' if up else '≈'} {shown}"
    return f"{fraction} {'=' if same else '≈'} {shown}"


def _short(value: Fraction | float | None) -> str:
    return "-" if value is None else f"{_float(value):.6g}"


def _float(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _subject(subject: Subject) -> dict[str, object]:
    return {
        "matrix": subject.title,
        "note": subject.note or None,
        "categories": len(subject.categories),
        "responses": len(subject.responses),
        "grid": str(subject.matrix.grid),
    }


def _finding(subject: Subject, finding: Finding) -> dict[str, object]:
    witness = finding.witness
    return {
        "epsilon": _level(finding.odds),
        "odds": finding.odds and _both(finding.odds, up=True),
        "delta": _both(finding.delta, up=True),
        "exact": finding.exact,
        "witness": witness
        and {
            "category": subject.categories[witness.category],
            "other": subject.categories[witness.other],
            "responses": [subject.responses[y] for y in witness.responses],
            "probability": _both(witness.probability),
            "other_probability": _both(witness.other_probability),
        },
    }


def _criterion(criterion: Criterion) -> dict[str, object]:
    return {
        "name": criterion.name,
        "compared_with": criterion.against,
        "value": _finite(criterion.value),
        "optimum": _finite(criterion.optimum),
        "ratio": _finite(criterion.ratio),
        "reason": criterion.reason or None,
    }


def _level(odds: Fraction | None) -> str | None:
    return None if odds is None else f"{Finding(odds, Fraction(0), None).epsilon:f}"


def _both(value: Fraction, *, up: bool = False) -> dict[str, str]:
    return {"exact": str(value), "decimal": decimal_text(value, _DIGITS, up=up)[0]}


def _finite(value: Fraction | float | None) -> float | None:
    """Return what JSON has a number for."""
    if value is None or math.isinf(_float(value)):
        return None
    return _float(value)
