"""The documents of an audit and of a comparison."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from deniable.audit.findings import Finding, Witness
from deniable.audit.optimality import Criterion, compare, largest_lie
from deniable.audit.tight import pure_level, tight_delta, tight_epsilon
from deniable.budget import upper_text
from deniable.documents import Caution, Column, Document, Fact, Level, Table, number_text
from deniable.mechanisms import Mechanism, epsilon_of_odds

if TYPE_CHECKING:
    from deniable.audit.incidences import Incidences

_DIGITS: Final = 12
_LONGEST_FRACTION: Final = 46
_MOST_NAMES: Final = 12
_WIDEST_NAME: Final = 24

_CRITERIA: Final = (
    Column("name", "criterion"),
    Column("value", "matrix", "number"),
    Column("compared_with", "compared with"),
    Column("optimum", "at best", "number"),
    Column("ratio", "ratio", "number"),
)
_MEANINGS: Final = (
    "A ratio above 1 is worse. A lie is a response that is not the answer. Total variance: n times "
    "the variances of all estimated frequencies, summed, where the true ones are equal; its bound "
    "for any mechanism is for delta 0."
)

_NOT_PRIVATE: Final = Caution(
    "not-private",
    Level.WARNING,
    "The matrix is not private at this epsilon and delta; it may beat an optimum.",
)


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """The subject of an audit: the matrix of a file, or of a survey that has several reports."""

    title: str
    matrix: Mechanism
    categories: Sequence[str]
    responses: Sequence[str]
    note: str
    terms: Sequence[Fact] = ()
    design: "Incidences | None" = None  # what was counted of it, if it is a design

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
            *([] if self.design is None else _design(k, self.design)),
        ]


def audit_document(subject: AuditSubject, epsilon: str | None, delta: str | None) -> Document:
    """Return the guarantee of a matrix: without delta, and at a delta and an epsilon."""
    matrix = subject.matrix
    pure = pure_level(matrix)
    at_delta = None if delta is None else tight_epsilon(matrix, delta)
    at_epsilon = None if epsilon is None else tight_delta(matrix, epsilon)
    # Each finding is a point of the matrix's own privacy curve: any will do.
    points: list[tuple[Fraction | None, Fraction]] = [
        (finding.odds, finding.delta)
        for finding in (at_delta, at_epsilon, pure)
        if finding is not None and finding.odds is not None and finding.delta < 1
    ]
    lie = largest_lie(matrix, *(points or [(None, Fraction(0))])[0])
    facts = [
        *subject.facts(),
        _finding("pure", subject, pure, "pure guarantee"),
        _finding("at_delta", subject, at_delta, f"with delta {delta}"),
        _finding("at_epsilon", subject, at_epsilon, f"with epsilon {epsilon}", slack=True),
        Fact("lies", _lie(lie), "lie", _criterion(lie)),
        *subject.terms,
    ]
    return Document(facts)


def comparison_document(subject: AuditSubject, epsilon: str | None, delta: str) -> Document:
    """Return how a matrix compares with the optimal mechanisms, and what to mind when reading."""
    made = compare(subject.matrix, epsilon, delta)
    rows = [*map(_criterion, made.criteria)]
    reasons: dict[str, dict[str, None]] = {}
    for criterion in made.criteria:
        if criterion.reason:
            reasons.setdefault(criterion.reason, {})[criterion.name] = None
    notes = [f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    valued = [row for row in rows if row["value"] is not None]
    level = None if made.odds is None else f"{epsilon_of_odds(made.odds):f}"
    odds, slack = made.odds and _both(made.odds, up=True), _both(made.delta, up=True)
    return Document(
        [
            *subject.facts(),
            Fact("epsilon", epsilon or f"{level or 'infinite'}, its own", "epsilon", level),
            Fact("delta", _number(made.delta, up=True), "delta", slack),
        ],
        [Table(_CRITERIA, valued)] if valued else (),
        [*notes, _MEANINGS] if valued else notes,
        () if made.holds else (_NOT_PRIVATE,),
        values={"odds": odds, "holds": made.holds, "criteria": rows},
    )


def _criterion(criterion: Criterion) -> dict[str, object]:
    return {
        "name": criterion.name,
        "compared_with": criterion.against,
        "value": _float(criterion.value),
        "optimum": _float(criterion.optimum),
        "ratio": criterion.ratio,
        "reason": criterion.reason or None,
    }


def _finding(
    key: str, subject: AuditSubject, finding: Finding | None, label: str, *, slack: bool = False
) -> Fact:
    if finding is None:
        return Fact(key=key)
    most = "" if finding.exact else "at most "
    if slack:
        text = f"delta {most}{_number(finding.delta, up=True)}"
    elif finding.odds is not None:
        text = f"epsilon {most}{finding.epsilon:f}, odds {_number(finding.odds, up=True)}"
    elif finding.exact:
        text = "none: no finite epsilon holds"
    else:
        text = "none that could be shown: too many pairs are alike"
    value: dict[str, object] = {
        "epsilon": None if finding.odds is None else f"{finding.epsilon:f}",
        "odds": finding.odds and _both(finding.odds, up=True),
        "delta": _both(finding.delta, up=True),
        "exact": finding.exact,
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
    """Return the witness's responses: some by their names, or a design's by what they support."""
    if subject.design is not None:
        one, other = (subject.categories[x] for x in (witness.category, witness.other))
        return f'the {len(witness.responses):,} responses that support "{one}" and not "{other}"'
    names = [f'"{subject.responses[y]}"' for y in witness.responses[:_MOST_NAMES]]
    if more := len(witness.responses) - len(names):
        names.append(f"and {more:,} more (--json has all)")
    return ", ".join(names)


def _design(categories: int, incidences: "Incidences") -> list[Fact]:
    if incidences.listed:
        checked = "all rows, entry by entry"
    elif incidences.counted == categories:
        checked = "counted for all categories and all pairs of them"
    else:
        checked = (
            f"counted for {incidences.counted:,} of the categories, each with all others: "
            f"{incidences.pairs:,} of {math.comb(categories, 2):,} pairs"
        )
    says = (
        "a response supports a set of categories; each category is supported by "
        f"{incidences.replication:,} responses, any two by {incidences.together:,}"
    )
    return [Fact("design", says, "design", asdict(incidences)), Fact("checked", checked)]


def _witness_json(subject: AuditSubject, witness: Witness) -> dict[str, object]:
    listed = subject.design is None
    return {
        "category": subject.categories[witness.category],
        "other": subject.categories[witness.other],
        "responses": [subject.responses[y] for y in witness.responses] if listed else None,
        **({} if listed else {"set": _set(subject, witness)}),
        "probability": _both(witness.probability),
        "other_probability": _both(witness.other_probability),
    }


def _lie(lie: Criterion) -> str:
    if lie.value is None:
        return lie.reason
    often = f"at most {upper_text(Fraction(lie.value), 6)} of the time"
    if lie.optimum is None:
        return f"{often}; {lie.reason}"
    optimum = number_text(_float(lie.optimum))
    return f"{often}, {number_text(lie.ratio)} times the optimum of {optimum}"


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


def _float(value: Fraction | float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return math.inf
