"""The authority's keys: the one that the app pins, and whatever it handed over to.

1. A key hands over once: what this device followed it never leaves, and a fork it refuses (D2).
2. What a device remembers of sequences belongs to the chain, not to one of its keys: a rotation
   starts nothing afresh, nor does an app update that pins a later key of the same chain.
"""

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from deniable.client.state.state import State
from deniable.messages import (
    AuthorityFork,
    Refusal,
    Rotation,
    follow_rotations,
    open_rotation,
    split_rotations,
)

_LOG = logging.getLogger("deniable")
_MOST_PROOFS: Final = 4
"""Rotations kept although they were refused: two prove the point."""


class Authorities:
    """The chain of keys under which manifests must verify, one of which the app pinned."""

    def __init__(self, state: State, pinned: bytes) -> None:
        self.state = state
        self._pinned = pinned
        self._opened: dict[bytes, Rotation] = {}

    def chain(self, connection: sqlite3.Connection | None) -> tuple[bytes, ...]:
        """Return the keys known, inside a transaction: the oldest first, the newest last.

        The pinned key may be any of them. The first names what is remembered of the chain. Where
        there is no state, it is the only one known.
        """
        followed = [] if connection is None else self._kept(connection, "followed")
        with suppress(Refusal):  # the disk's content rotted, or somebody else wrote it
            if followed:
                return follow_rotations(self._oldest(followed), followed)
        return (self._pinned,)

    def known(self, now: float) -> tuple[bytes, ...]:
        """Return :meth:`chain` in a transaction of its own."""
        with self.state.transaction(now) as connection:
            return self.chain(connection)

    def learn(self, body: bytes, now: float) -> None:
        """Follow a collector's published rotations, and remember them; or refuse them all."""
        offered = {open_rotation(envelope): envelope for envelope, _ in split_rotations(body)}
        fork: AuthorityFork | None = None
        with self.state.transaction(now) as connection:
            followed = self._kept(connection, "followed")
            handed = {rotation.old_key for rotation in followed}
            # Of a key that this device has not left yet, no hand-over is followed once two were
            # seen, even if the next answer shows one of them only.
            forking = [
                rotation
                for rotation in self._kept(connection, "forking")
                if rotation.old_key not in handed
            ]
            try:
                chain = follow_rotations(self._oldest(followed), [*followed, *forking, *offered])
            except AuthorityFork as error:
                fork = error
                for rotation in (error.first, error.second):
                    if rotation in offered and rotation not in followed:
                        _store(connection, rotation, offered[rotation], "forking", now)
            else:
                links = set(pairwise(chain))
                for rotation, envelope in offered.items():
                    new = rotation not in followed
                    if new and (rotation.old_key, rotation.new_key) in links:
                        _store(connection, rotation, envelope, "followed", now)
                # What is remembered of later keys, when an app pinned one of them, is the chain's.
                connection.executemany(
                    "UPDATE OR IGNORE manifests SET authority = ? WHERE authority = ?",
                    [(chain[0], key) for key in chain[1:]],
                )
        if fork is not None:
            raise fork

    def _oldest(self, followed: Sequence[Rotation]) -> bytes:
        """Return the first key of the followed chain that the pinned one belongs to."""
        by_new = {rotation.new_key: rotation.old_key for rotation in followed}
        key = self._pinned
        for _ in followed:
            key = by_new.get(key, key)
        return key

    def _kept(self, connection: sqlite3.Connection, role: str) -> list[Rotation]:
        rows = connection.execute("SELECT envelope FROM authorities WHERE role = ?", (role,))
        rotations = []
        for (envelope,) in rows.fetchall():
            with suppress(Refusal):  # bytes that rotted: the disk's fault, not the app's
                if envelope not in self._opened:
                    self._opened[envelope] = open_rotation(envelope)
                rotations.append(self._opened[envelope])
        return rotations


def _store(
    connection: sqlite3.Connection, rotation: Rotation, envelope: bytes, role: str, now: float
) -> None:
    (proofs,) = connection.execute(
        "SELECT count(*) FROM authorities WHERE role = 'forking'"
    ).fetchone()
    if role == "forking" and proofs >= _MOST_PROOFS:
        return
    key = (rotation.old_key, rotation.new_key, rotation.sequence)
    if connection.execute(
        "UPDATE authorities SET envelope = ?"  # which may have rotted
        " WHERE old_key = ? AND new_key = ? AND sequence = ?",
        (envelope, *key),
    ).rowcount:
        return
    connection.execute(
        "INSERT INTO authorities (old_key, new_key, sequence, envelope, role, seen)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (*key, envelope, role, int(now)),
    )
    keys = f"from {rotation.old_key.hex()} to {rotation.new_key.hex()}"
    level = logging.WARNING if role == "forking" else logging.INFO
    _LOG.log(level, "the authority's key was rotated (%s) %s", role, keys)
