"""Entries of a public log: manifests, hand-overs of the authority's key, and gateway keys.

Which of them an entry is follows from its form, and from the context under which a key of the
authority signed it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from deniable.messages import (
    MAX_ROTATIONS,
    AuthorityFork,
    GatewayKeys,
    Manifest,
    Refusal,
    RefusalCode,
    Rotation,
    follow_rotations,
    large_digest,
    open_gateway_keys,
    open_manifest_of_chain,
    open_rotation,
)

_THREE: Final = b"\x93"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a log, opened, or a fault of it; neither if it is withheld.

    Nor if it might be sound by a hand-over that is withheld.
    """

    index: int
    envelope: bytes
    message: Manifest | Rotation | GatewayKeys | None
    signer: bytes = b""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A manifest where the log first has it, and the entries that sign it anew."""

    entry: Entry
    manifest: Manifest
    signed_again: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class History:
    """The history that a log has, under the authority that is trusted.

    Attributes:
        chain: the authority's keys, the one that signs now last.
        fork: why its hand-overs are not sound; empty if they are.
        handed: whether it has all hand-overs: no entry is withheld but envelopes that are too long.
    """

    entries: tuple[Entry, ...]
    chain: tuple[bytes, ...]
    fork: str = ""
    handed: bool = True

    @classmethod
    def read(cls, envelopes: Sequence[bytes | None], authority: bytes) -> "History":
        """Open the entries of a log under any key that the authority had or has."""
        rotations = [opened for envelope in envelopes if (opened := _rotation(envelope or b""))]
        chain, fork = _chain(authority, rotations)
        handed = None not in envelopes
        entries = (
            _open(index, envelope, chain, handed) for index, envelope in enumerate(envelopes)
        )
        return cls(tuple(entries), chain, fork, handed)

    @property
    def whole(self) -> bool:
        """Return whether nothing is withheld."""
        return all(entry.message or entry.fault for entry in self.entries)

    @property
    def strange(self) -> bool:
        """Return whether the authority signed nothing of what can be read."""
        faulty = any(entry.fault for entry in self.entries)
        return faulty and not any(entry.message for entry in self.entries)

    @cached_property
    def versions(self) -> dict[str, list[Version]]:
        """Return the manifests by name, in the order in which the log first has them."""
        by_name: dict[str, dict[bytes, Version]] = {}
        for entry in self.entries:
            if isinstance(manifest := entry.message, Manifest):
                named = by_name.setdefault(manifest.name, {})
                before = named.get(manifest.survey_id)
                named[manifest.survey_id] = (
                    Version(entry, manifest)
                    if before is None
                    else Version(before.entry, manifest, (*before.signed_again, entry))
                )
        return {name: [*named.values()] for name, named in sorted(by_name.items())}

    def of_keys(self) -> Iterator[Entry]:
        """Yield the hand-overs and gateway keys, in their order."""
        return (
            entry for entry in self.entries if isinstance(entry.message, Rotation | GatewayKeys)
        )


def _rotation(envelope: bytes) -> Rotation | None:
    if envelope.startswith(_THREE):
        with suppress(Refusal):
            return open_rotation(envelope)
    return None


def _chain(authority: bytes, rotations: Iterable[Rotation]) -> tuple[tuple[bytes, ...], str]:
    """Return the keys from the first that led to the authority, on to the one that signs now.

    And what is wrong with their hand-overs; then all keys that were handed over to, as many as a
    chain may have, so that the rest of the log can be judged.
    """
    by_old: dict[bytes, list[bytes]] = {}
    by_new: dict[bytes, bytes] = {}
    for rotation in (rotations := [*rotations]):
        by_old.setdefault(rotation.old_key, []).append(rotation.new_key)
        by_new.setdefault(rotation.new_key, rotation.old_key)
    first, walked = authority, {authority}
    while (before := by_new.get(first)) is not None and before not in walked:
        first = before
        walked.add(first)
    try:
        return follow_rotations(first, rotations), ""
    except AuthorityFork as fork:
        reason = f"{fork.first.old_key.hex()} handed over to two keys"
    except Refusal as refusal:
        reason = refusal.reason
    reached = {authority: None, first: None}
    for key in (queue := [*reached]):
        queue.extend(new for new in by_old.get(key, ()) if new not in reached)
        reached.update(dict.fromkeys(by_old.get(key, ())))
    return tuple(islice(reached, MAX_ROTATIONS + 1)), reason


def _open(index: int, envelope: bytes | None, chain: Sequence[bytes], handed: bool) -> Entry:
    if envelope is None or large_digest(envelope):
        return Entry(index, envelope or b"", None)
    try:
        if envelope.startswith(_THREE):
            rotation = open_rotation(envelope)
            if rotation.old_key not in chain:
                raise Refusal(RefusalCode.BAD_SIGNATURE, "a hand-over of a key that is not its own")
            return Entry(index, envelope, rotation, rotation.old_key)
        try:
            return Entry(index, envelope, *open_manifest_of_chain(envelope, chain))
        except Refusal as refusal:
            if refusal.code is not RefusalCode.BAD_SIGNATURE:
                raise
            for key in chain:
                with suppress(Refusal):
                    return Entry(index, envelope, open_gateway_keys(envelope, (key,)), key)
            raise
    except Refusal as refusal:
        doubtful = refusal.code is RefusalCode.BAD_SIGNATURE and not handed
        return Entry(index, envelope, None, fault="" if doubtful else refusal.reason)
