"""The document of an audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from deniable.audit.tight import Finding, Witness, pure_level, tight_delta, tight_epsilon
from deniable.documents import Document, Fact, upper_text
from deniable.mechanisms import Mechanism

_DIGITS: Final = 12
_LONGEST_FRACTION: Final = 46
_MOST_NAMES: Final = 12
_WIDEST_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """The subject of an audit: the matrix of a file."""

    title: str
    matrix: Mechanism
    categories: Sequence[str]
    responses: Sequence[str]
    note: str

    def facts(self) -> list[Fact]:
        """Return the name of the subject."""
        grid = self.matrix.grid
        power = grid.bit_length() - 1
        over = f"2^{power}" if power > 9 and grid == 1 << power else f"{grid:,}"
        if len(over) > _LONGEST_FRACTION:
            over = f"{grid.bit_length()}-bit integers"
        k, n = len(self.categories), len(self.responses)
        return [
            Fact("matrix", self.title, "matrix", self.title),
            Fact("size", f"{k:,} categories × {n:,} responses, over {over}"),
            Fact("note", self.note, "note", self.note or None),
            Fact(key="categories", value=k),
            Fact(key="responses", value=n),
            Fact(key="grid", value=str(grid)),
        ]


def audit_document(subject: AuditSubject, epsilon: str | None, delta: str | None) -> Document:
    """Return the guarantee of a matrix: without delta, and at a delta and an epsilon."""
    matrix = subject.matrix
    at_delta = None if delta is None else tight_epsilon(matrix, delta)
    at_epsilon = None if epsilon is None else tight_delta(matrix, epsilon)
    facts = [
        *subject.facts(),
        _finding("pure", subject, pure_level(matrix), "pure guarantee"),
        _finding("at_delta", subject, at_delta, f"with delta {delta}"),
        _finding("at_epsilon", subject, at_epsilon, f"with epsilon {epsilon}", slack=True),
    ]
    return Document(facts)


def _finding(
    key: str, subject: AuditSubject, finding: Finding | None, label: str, *, slack: bool = False
) -> Fact:
    if finding is None:
        return Fact(key=key)
    if slack:
        text = f"delta {_number(finding.delta, up=True)}"
    elif finding.odds is not None:
        text = f"epsilon {finding.epsilon:f}, odds {_number(finding.odds, up=True)}"
    else:
        text = "none: no finite epsilon holds"
    value: dict[str, object] = {
        "epsilon": None if finding.odds is None else f"{finding.epsilon:f}",
        "odds": finding.odds and _both(finding.odds, up=True),
        "delta": _both(finding.delta, up=True),
        "witness": finding.witness and _witness_json(subject, finding.witness),
    }
    if (witness := finding.witness) is None:
        return Fact(label, text, key, value)
    one, other = (_cut(subject.categories[x]) for x in (witness.category, witness.other))
    details = (
        ("worst set S", _set(subject, witness)),
        (f"P(S | {one})", _number(witness.probability)),
        (f"P(S | {other})", _number(witness.other_probability)),
    )
    return Fact(label, text, key, value, details)


def _set(subject: AuditSubject, witness: Witness) -> str:
    """Return the names of some of the witness's responses."""
    names = [f'"{subject.responses[y]}"' for y in witness.responses[:_MOST_NAMES]]
    if more := len(witness.responses) - len(names):
        names.append(f"and {more:,} more (--json prints all)")
    return ", ".join(names)


def _witness_json(subject: AuditSubject, witness: Witness) -> dict[str, object]:
    return {
        "category": subject.categories[witness.category],
        "other": subject.categories[witness.other],
        "responses": [subject.responses[y] for y in witness.responses],
        "probability": _both(witness.probability),
        "other_probability": _both(witness.other_probability),
    }


def _cut(name: str) -> str:
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 1]}…"


def _number(value: Fraction, *, up: bool = False) -> str:
    """Return a number exactly if it is short, and as a decimal."""
    decimal = _decimal(value, up=up)
    same = Fraction(decimal) == value
    if value.denominator == 1 and same:
        return decimal
    fraction = f"{value}"
    if len(fraction) > _LONGEST_FRACTION:
        return decimal if same else f"{'≤' if up else '≈'} {decimal}"
    return f"{fraction} {'=' if same else '≈'} {decimal}"


def _decimal(value: Fraction, *, up: bool) -> str:
    if up:
        return upper_text(value, _DIGITS)
    decimal = Context(prec=_DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))
    decimal = decimal.normalize()
    return f"{decimal:f}" if decimal == 0 or -7 < decimal.adjusted() < 12 else f"{decimal:E}"


def _both(value: Fraction, *, up: bool = False) -> dict[str, str]:
    return {"exact": str(value), "decimal": _decimal(value, up=up)}
