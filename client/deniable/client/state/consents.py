"""The scopes that the user's consent was given for (D12), as the state and its mark hold them.

1. A consent covers what agrees with it in all that is digested, and exceeds it in no bound.
2. Those of several declarations stand beside each other. Whatever ends ON ends them all: a trigger
   of the schema sees to it, whoever stores the decision.
3. An ON from before this rule is a row that covers nothing: the next app that opens the state puts
   what it declares in its place.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import ge
from types import MappingProxyType
from typing import Final, NamedTuple


class Scope(NamedTuple):
    """The scope of one consent, or of what would need one."""

    survey: str  # its name; empty for whatever stays within the device's total
    declared: str  # a digest of what must not differ
    bounds: tuple[int, ...]  # none of which may rise

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Return the scope that a text says, as the state and the mark write it."""
        survey, declared, bounds = text.split(":")
        return cls(survey, declared, tuple(map(int, bounds.split("."))) if bounds else ())

    def __str__(self) -> str:
        return f"{self.survey}:{self.declared}:{'.'.join(map(str, self.bounds))}"

    @property
    def name(self) -> str:
        """Return the scope's name for people: the survey's name, as a rule."""
        if self == FROM_BEFORE:
            return "whatever its app asks at the next start"
        return self.survey or "whatever its app asks within the device's total"

    def covers(self, other: "Scope") -> bool:
        """Tell whether a consent given for this covers the other."""
        same = self.declared == other.declared and len(self.bounds) == len(other.bounds)
        return same and all(map(ge, self.bounds, other.bounds))


FROM_BEFORE: Final = Scope("", "", ())
CLAIMED: Final = "initial"
"""Who said so, of a consent that a constructor brought and nobody has decided since."""


class Declared(NamedTuple):
    """The scopes that an app declares."""

    surveys: Mapping[str, Scope] = MappingProxyType({})  # by name
    # By name, all that a consent may be given for to cover a survey: itself, the device's total, or
    # either of them as it would be if issuers saw more.
    enough: Mapping[str, tuple[Scope, ...]] = MappingProxyType({})
    prompted: tuple[Scope, ...] = ()  # what its prompt tells of: each survey, or the total


def given(connection: sqlite3.Connection) -> list[Scope]:
    """Return the scopes that consent was given for; a row that rotted covers nothing."""
    scopes = []
    for (text,) in connection.execute(
        # As bytes: one that rotted may be no text, and would keep the state from being read.
        "SELECT CAST(survey || ':' || declared || ':' || bounds AS BLOB) FROM consents"
        " ORDER BY survey, declared"
    ).fetchall():
        with suppress(ValueError):
            scopes.append(Scope.parse(text.decode()))
    return scopes


def give(connection: sqlite3.Connection, scopes: Iterable[Scope]) -> None:
    """Store consent for these; what they cover need not stand beside them."""
    for scope in scopes:
        rows = [covered for covered in given(connection) if scope.covers(covered)]
        connection.executemany(
            "DELETE FROM consents WHERE (survey, declared, bounds) = (?, ?, ?)",
            [str(row).split(":") for row in rows],
        )
        connection.execute("INSERT INTO consents VALUES (?, ?, ?)", str(scope).split(":"))


def claimed(
    connection: sqlite3.Connection, initial: str, declared: Callable[[], Declared]
) -> tuple[Scope, ...]:
    """Return the scopes that an app which opens the state has covered without asking.

    That is, what it declares: where ON is from before this rule, once; and where ON was never the
    user's own decision, but a constructor's, as it is this one's.
    """
    ((consent, origin),) = connection.execute("SELECT consent, consent_from FROM device")
    scopes = given(connection)
    before = FROM_BEFORE in scopes
    if consent != "on" or not (before or (origin, initial) == (CLAIMED, "on")):
        return ()
    prompted = declared().prompted
    return tuple(scope for scope in prompted if not any(other.covers(scope) for other in scopes))


def names_of(scopes: Iterable[Scope]) -> tuple[str, ...]:
    """Return the names of scopes, each once."""
    return tuple(dict.fromkeys(scope.name for scope in scopes))
