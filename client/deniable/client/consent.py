"""Consent: a stored state, not a parameter; what may lower it, and its scopes.

The scopes of the user's consent (D12), as stored in the state and its mark:

1. A consent covers a survey that has the same digest and exceeds none of its bounds.
2. Consents for several declarations coexist. A decision that ends ON ends them all: a trigger of
   the schema ensures that for every writer.
3. A refusal applies to a name, however it is declared. It takes precedence over every consent, and
   remains after those end, until the user agrees to that name.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from math import ceil
from operator import ge
from typing import Final, NamedTuple

from deniable.budget import NANO
from deniable.client.survey import Survey


class Consent(StrEnum):
    """The decision whether this device participates.

    Nothing is randomised, stored, sent or looked up while it is ``UNSET`` or ``OFF``.
    """

    UNSET = "unset"
    OFF = "off"
    ON = "on"


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """The user's stored decision, and the consent in effect."""

    decided: Consent
    effective: Consent
    """The process's environment can only lower the decision."""
    since: int | None
    """Unix seconds at which it was stored; None if nothing is stored yet."""
    origin: str
    """The origin of the decision, in the app's words."""
    covers: tuple[str, ...] = ()
    """The surveys for which ``ON`` was given, by name, as they were declared then."""
    refused: tuple[str, ...] = ()
    """The names of the surveys that the user refused."""
    problem: str = ""
    """Why the state cannot be read; then the decision is unknown, and nothing happens."""

    @classmethod
    def unread(cls, error: Exception) -> "ConsentRecord":
        """Return the record of a state that cannot be read."""
        return cls(Consent.UNSET, Consent.OFF, None, "", problem=str(error))


_ASCENDING: Final = (Consent.OFF, Consent.UNSET, Consent.ON)
_NOT_SET: Final = frozenset({"", "0", "false", "no"})


def lower_consent(one: Consent, other: Consent) -> Consent:
    """Return the lower of two decisions; a refusal is lower than no decision."""
    return min(one, other, key=_ASCENDING.index)


def lowered_by_environment(decided: Consent, environment: Mapping[str, str]) -> Consent:
    """Return the consent in effect: ``DO_NOT_TRACK`` and ``DENIABLE_CONSENT`` can only lower it.

    ``DENIABLE_CONSENT=on`` changes nothing; any other value, even a mistyped one, turns everything
    off, as ``DO_NOT_TRACK=1`` does.
    """
    wanted = environment.get("DENIABLE_CONSENT", "").strip().lower()
    if environment.get("DO_NOT_TRACK", "").strip().lower() not in _NOT_SET:
        wanted = "off"
    if wanted in {"", "on"}:
        return decided
    return Consent.UNSET if decided is Consent.UNSET else Consent.OFF


class Scope(NamedTuple):
    """The scope of one consent, or of a survey that needs consent."""

    survey: str  # the survey's name
    declared: str  # a digest of the parts that must not differ
    bounds: tuple[int, ...]  # numbers that may not rise

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Return the scope from its text in the state or the mark."""
        survey, declared, bounds = text.split(":")
        return cls(survey, declared, tuple(map(int, bounds.split("."))))

    def __str__(self) -> str:
        return f"{self.survey}:{self.declared}:{'.'.join(map(str, self.bounds))}"

    def covers(self, other: "Scope") -> bool:
        """Return whether a consent for this scope covers the other."""
        same = self.declared == other.declared and len(self.bounds) == len(other.bounds)
        return same and all(map(ge, self.bounds, other.bounds))


_REFUSED: Final = "refused"
"""The placeholder for a digest, also in the schema."""


def refusal(survey: str) -> Scope:
    """Return the scope that represents a refusal of a name."""
    return Scope(survey, _REFUSED, (0,))


def refusals(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """Return the refusals among scopes."""
    return tuple(scope for scope in scopes if scope.declared == _REFUSED)


CLAIMED: Final = "initial"
"""The origin of a consent claimed by a constructor, without a later decision."""

DOUBTED: Final = "state-doubted"
"""The reason why the decision is unknown: the state may be a copy, or an old backup."""


Declared = Mapping[str, Scope]
"""The scope of each declared survey, by name."""


def given(connection: sqlite3.Connection) -> list[Scope]:
    """Return the scopes for which consent was given; a damaged row covers nothing."""
    scopes = []
    for (text,) in connection.execute(
        # As bytes: a corrupted scope may not be text, and would prevent reading the state.
        "SELECT CAST(survey || ':' || declared || ':' || bounds AS BLOB) FROM consents"
        " ORDER BY survey, declared"
    ).fetchall():
        with suppress(ValueError):
            scopes.append(Scope.parse(text.decode()))
    return scopes


def give(connection: sqlite3.Connection, scopes: Iterable[Scope]) -> None:
    """Store consent for these scopes; other scopes that these cover are removed."""
    for scope in scopes:
        rows = [covered for covered in given(connection) if scope.covers(covered)]
        connection.executemany(
            "DELETE FROM consents WHERE (survey, declared, bounds) = (?, ?, ?)",
            [str(row).split(":") for row in rows],
        )
        connection.execute("INSERT INTO consents VALUES (?, ?, ?)", str(scope).split(":"))


def refuse(connection: sqlite3.Connection, names: Collection[str]) -> None:
    """Store a refusal of these names, replacing all consents for them."""
    connection.executemany("DELETE FROM consents WHERE survey = ?", [(name,) for name in names])
    give(connection, map(refusal, names))


def lift(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Remove refusals of these names, to which the user has agreed since."""
    connection.executemany(
        "DELETE FROM consents WHERE survey = ? AND declared = ?",
        [(name, _REFUSED) for name in names],
    )


def claimed(
    connection: sqlite3.Connection, initial: str, declared: Callable[[], Declared]
) -> tuple[Scope, ...]:
    """Return the scopes that are covered without asking when an app opens the state.

    These are the declared ones, if ON was never the user's own decision, but only a constructor's,
    and this constructor claims it too.
    """
    ((consent, origin),) = connection.execute("SELECT consent, consent_from FROM device")
    if (consent, origin, initial) != ("on", CLAIMED, "on"):
        return ()
    scopes = given(connection)
    return tuple(
        scope
        for scope in declared().values()
        if refusal(scope.survey) not in scopes and not any(other.covers(scope) for other in scopes)
    )


def names_of(scopes: Collection[Scope]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the surveys with consent in these scopes, and of the refused ones."""
    refused = dict.fromkeys(scope.survey for scope in refusals(scopes))
    covers = dict.fromkeys(scope.survey for scope in scopes if scope.survey not in refused)
    return tuple(covers), tuple(refused)


_UNBOUNDED: Final = 2**62
_ATTO: Final = 10**18


def declared_by(
    surveys: Iterable[Survey],
    lifetime: int,
    period: tuple[int, int] | None,
    collector: str,
    *,
    enrols: bool,
    relay: str | None,
) -> Declared:
    """Return an app's scopes for a collector, with its total and sliding ceilings."""
    # A floor is negated: none of these numbers may rise.
    sliding = (_UNBOUNDED, 0) if period is None else (period[0], -period[1])

    # The parties to whom reports and keys are shown. A relay learns address and time, which without
    # one the collector learns. So adding, removing or replacing a relay needs new consent.
    whom = [collector, enrols, *(["relay", relay] if relay else ())]
    return {
        survey.name: Scope(
            survey.name,
            _digest([*_question(survey), *whom]),
            (*_bounds(survey, lifetime, enrols=enrols), lifetime, *sliding),
        )
        for survey in surveys
    }


def _question(survey: Survey) -> list[object]:
    answers = (
        sorted((name, *sorted(answers)) for name, *answers in survey.dimensions)
        if survey.dimensions
        else sorted(survey.categories)
    )
    texts = ["texts"] * survey.texts
    return [survey.name, survey.question, answers, sorted(survey.mechanisms), *texts]


def _bounds(survey: Survey, lifetime: int, *, enrols: bool) -> tuple[int, ...]:
    own, kept = survey.total_ceiling, survey.kept_ceiling
    return (
        ceil(survey.epsilon_ceiling * NANO),
        ceil(survey.delta_ceiling * _ATTO),
        lifetime if own is None else min(own, lifetime),
        -1 if kept is None else ceil(kept * NANO),
        0 if kept is None else survey.max_kept_epochs,
        survey.max_grace_seconds,
        -max(1, survey.min_epoch_seconds),
        int(enrols and survey.enrolment != "blind"),  # whether an issuer may see a report's key
    )


def _digest(parts: list[object]) -> str:
    # In ASCII: Python versions differ in which other characters repr() escapes, and a changed
    # digest would ask everybody again.
    return sha256(f"deniable/consent/v1\0{parts!a}".encode()).hexdigest()[:32]
