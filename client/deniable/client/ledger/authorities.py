"""The authority's keys: the one that the app pins, and whatever it handed over to.

1. A key hands over once: what this device followed it never leaves, and a fork it refuses (D2).
2. What a device remembers of sequences belongs to the chain, not to one of its keys: a rotation
   starts nothing afresh, nor does an app update that pins a later key of the same chain.
3. Where the app pins a log, no key after the one that it pins is trusted by a hand-over that the
   log's witnesses have not seen, nor by one that was followed before the app pinned the log.
"""

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.parts import NoPin
from deniable.client.state.erasing import record_once
from deniable.client.state.state import State
from deniable.client.state.transactions import kept
from deniable.messages import (
    AuthorityFork,
    Refusal,
    Rotation,
    follow_rotations,
    open_rotation,
    split_rotations,
)

_LOG = logging.getLogger("deniable")
_Logged = tuple[bytes, bytes]
"""An envelope, and the log's proof of it."""
_MOST_PROOFS: Final = 4
"""Rotations kept although they were refused: two prove the point."""


class Authorities:
    """The chain of keys under which manifests must verify, one of which the app pinned.

    ``pin`` is the log that it pins.
    """

    def __init__(self, state: State, pinned: bytes, pin: NoPin) -> None:
        self.state = state
        self._pinned = pinned
        self._pin = pin
        self._opened: dict[bytes, Rotation] = {}

    def chain(self, connection: sqlite3.Connection | None) -> tuple[bytes, ...]:
        """Return the keys known, inside a transaction: the oldest first, the newest last.

        The pinned key may be any of them. The first names what is remembered of the chain. Where
        there is no state, it is the only one known.
        """
        followed = {} if connection is None else self._kept(connection, "followed")
        with suppress(Refusal):  # the disk's content rotted, or somebody else wrote it
            if followed:
                return self._trusted(follow_rotations(self._oldest(followed), followed), followed)
        return (self._pinned,)

    @kept
    def known(self, now: float) -> tuple[bytes, ...]:
        """Return :meth:`chain` in a transaction of its own."""
        with self.state.transaction(now) as connection:
            return self.chain(connection)

    @kept
    def learn(self, body: bytes, now: float) -> None:
        """Follow a collector's published rotations, and remember them; or refuse them all.

        Raises:
            ManifestRefused: for one that the log's witnesses have not seen; others are followed.
            Refusal: if they are none, or do not follow each other.
        """
        offered = {open_rotation(logged[0]): logged for logged in split_rotations(body)}
        fork: AuthorityFork | None = None
        unwitnessed: ManifestRefused | None = None
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
                        _store(connection, rotation, (offered[rotation][0], b""), "forking", now)
            else:
                links = set(pairwise(chain))
                for rotation, (envelope, proof) in offered.items():
                    if (rotation.old_key, rotation.new_key) not in links:
                        continue
                    new = rotation not in followed
                    if why_not := self._why_not(chain, rotation, (envelope, proof)):
                        if new:
                            detail = f"the authority's new key {rotation.new_key.hex()}: {why_not}"
                            record_once(connection, now, ManifestFault.NOT_WITNESSED, detail)
                            unwitnessed = ManifestRefused(ManifestFault.NOT_WITNESSED, detail)
                    elif new or self._pin.kept(proof):
                        logged = envelope, self._pin.kept(proof)
                        _store(connection, rotation, logged, "followed", now)
                # What is remembered of later keys, when an app pinned one of them, is the chain's.
                connection.executemany(
                    "UPDATE OR IGNORE manifests SET authority = ? WHERE authority = ?",
                    [(chain[0], key) for key in chain[1:]],
                )
        if fork is not None:
            raise fork
        if unwitnessed is not None:
            raise unwitnessed

    def _trusted(
        self, chain: tuple[bytes, ...], followed: Mapping[Rotation, _Logged]
    ) -> tuple[bytes, ...]:
        """Return the keys of a chain up to the first hand-over that was not witnessed."""
        ends = [
            chain.index(rotation.old_key) + 1
            for rotation, logged in followed.items()
            if rotation.old_key in chain and self._why_not(chain, rotation, logged)
        ]
        return chain[: min(ends, default=len(chain))]

    def _why_not(self, chain: Sequence[bytes], rotation: Rotation, logged: _Logged) -> str:
        """Return why a hand-over within a chain is trusted by nobody; an empty text if it is."""
        # What came before the pinned key names the chain, and gives nobody any trust.
        before = chain.index(rotation.old_key) < chain.index(self._pinned)
        return "" if before else self._pin.why_not(*logged)

    def _oldest(self, followed: Iterable[Rotation]) -> bytes:
        """Return the first key of the followed chain that the pinned one belongs to."""
        by_new = {rotation.new_key: rotation.old_key for rotation in followed}
        key = self._pinned
        for _ in followed:
            key = by_new.get(key, key)
        return key

    def _kept(self, connection: sqlite3.Connection, role: str) -> dict[Rotation, _Logged]:
        rows = connection.execute("SELECT envelope, proof FROM authorities WHERE role = ?", (role,))
        rotations = {}
        for envelope, proof in rows.fetchall():
            with suppress(Refusal):  # bytes that rotted: the disk's fault, not the app's
                if envelope not in self._opened:
                    self._opened[envelope] = open_rotation(envelope)
                rotations[self._opened[envelope]] = envelope, proof
        return rotations


def _store(
    connection: sqlite3.Connection, rotation: Rotation, logged: _Logged, role: str, now: float
) -> None:
    (proofs,) = connection.execute(
        "SELECT count(*) FROM authorities WHERE role = 'forking'"
    ).fetchone()
    if role == "forking" and proofs >= _MOST_PROOFS:
        return
    key = (rotation.old_key, rotation.new_key, rotation.sequence)
    if connection.execute(
        "UPDATE authorities SET envelope = ?, proof = ?"  # which may have rotted
        " WHERE old_key = ? AND new_key = ? AND sequence = ?",
        (*logged, *key),
    ).rowcount:
        return
    connection.execute(
        "INSERT INTO authorities (old_key, new_key, sequence, envelope, proof, role, seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*key, *logged, role, int(now)),
    )
    keys = f"from {rotation.old_key.hex()} to {rotation.new_key.hex()}"
    level = logging.WARNING if role == "forking" else logging.INFO
    _LOG.log(level, "the authority's key was rotated (%s) %s", role, keys)
