"""Entries of a public log: manifests, hand-overs of the authority's key, and gateway keys.

Which of them an entry is follows from its form, and from the context under which a key of the
authority signed it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

from deniable.logs import LogPolicy, SignedCheckpoint, VerifierKey, leaf_hash
from deniable.messages import (
    MAX_ROTATIONS,
    AuthorityFork,
    GatewayKeys,
    LoggedEnvelope,
    Manifest,
    Refusal,
    RefusalCode,
    Rotation,
    follow_rotations,
    log_entry,
    open_gateway_keys,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.public_log.publish import large_digest
from deniable.reading import NotReached


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A log as it was served.

    Attributes:
        tiles: of hashes, by their paths; those that could not be had are among the missing.
        entries: in their order; None where a bundle is missing or cannot be read.
        envelopes: what the entries stand for: themselves, but of envelopes that are too long.
        missing: why a file could not be had, by its path.
        damaged: why a file cannot be read, by its path.
    """

    checkpoint: SignedCheckpoint
    tiles: Mapping[str, bytes]
    entries: tuple[bytes | None, ...]
    envelopes: tuple[bytes | None, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offered:
    """The offer of a collector, and of an app's bundle, beside a log.

    Attributes:
        signer: the key that signs now, as the collector says; None if it was not asked.
        signed: envelopes with their proofs, by what they are.
        listed: the ids of all surveys that it says it published, by the names it was asked for.
    """

    signer: bytes | None
    signed: Sequence[tuple[str, LoggedEnvelope]]
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replies:
    """The answers of the policy's witnesses, by their names, to which log each of them knows.

    Attributes:
        seen: the newest checkpoint that a witness cosigned.
        silent: why another's is not known.
    """

    seen: Mapping[str, SignedCheckpoint] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)


NO_REPLIES: Final = Replies()
"""Of a policy without witnesses that can be asked, or of none."""


Visits = tuple[tuple[int, int, int], ...]
"""Sizes that the log had, growing, each with the first and the last visit that saw it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys and checkpoints that an audit does not question.

    Without a key of the log nobody knows whether it signed its checkpoint.

    Attributes:
        acknowledged: hashes of leaves up to which crowds were looked into.
    """

    log_key: VerifierKey | None
    authority: bytes
    policy: LogPolicy | None = None
    remembered: SignedCheckpoint | None = None
    visits: Visits = ()
    acknowledged: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class TwoFaces:
    """Two checkpoints that one log signed and that cannot both be of one history: the proof.

    The hashes are those of the longer one's entries, where the shorter is not its beginning: they
    make the root of the one, and the first of them do not make that of the other.
    """

    first: SignedCheckpoint
    second: SignedCheckpoint
    hashes: tuple[bytes, ...] = ()


_THREE: Final = b"\x93"
_MOST_CHECKS: Final = 60_000
"""Checks of signatures, hand-overs apart: three for each entry that is read."""


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

    @property
    def leaf(self) -> bytes:
        """Return the hash by which the log's tree has it."""
        return leaf_hash(log_entry(self.envelope))


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
        """Open the entries of a log under any key that the authority had or has.

        Raises:
            NotReached: if that takes too many checks of signatures.
        """
        rotations = [_rotation(envelope or b"") for envelope in envelopes]
        chain, fork = _chain(authority, (one for one in rotations if isinstance(one, Rotation)))
        handed = None not in envelopes
        opening = _Opening(chain, handed)
        entries = (
            opening.entry(index, envelope, rotation)
            for index, (envelope, rotation) in enumerate(zip(envelopes, rotations, strict=True))
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
        by_name: dict[str, dict[bytes, list[Entry]]] = {}
        for entry in self.entries:
            if isinstance(manifest := entry.message, Manifest):
                named = by_name.setdefault(manifest.name, {})
                named.setdefault(manifest.survey_id, []).append(entry)
        return {
            name: [_version(*signed) for signed in named.values()]
            for name, named in sorted(by_name.items())
        }

    def of_keys(self) -> Iterator[Entry]:
        """Yield the hand-overs and gateway keys, in their order."""
        return (
            entry for entry in self.entries if isinstance(entry.message, Rotation | GatewayKeys)
        )


def _version(first: Entry, *again: Entry) -> Version:
    assert isinstance(first.message, Manifest)
    return Version(first, first.message, again)


def _rotation(envelope: bytes) -> Rotation | Refusal | None:
    """Return the hand-over of keys that an envelope is, or why it is none; None of another."""
    if not envelope.startswith(_THREE):
        return None
    try:
        return open_rotation(envelope)
    except Refusal as refusal:
        return refusal


def _chain(authority: bytes, rotations: Iterable[Rotation]) -> tuple[tuple[bytes, ...], str]:
    """Return the keys from the first that led to the authority, on to the one that signs now.

    And what is wrong with their hand-overs; then all keys that were handed over to, as many as a
    chain may have, so that the rest of the log can be judged.
    """
    by_old: dict[bytes, dict[Rotation, None]] = {}
    by_new: dict[bytes, bytes] = {}
    for rotation in rotations:
        by_old.setdefault(rotation.old_key, {})[rotation] = None
        by_new.setdefault(rotation.new_key, rotation.old_key)
    first, walked = authority, {authority}
    while (before := by_new.get(first)) is not None and before not in walked:
        first = before
        walked.add(first)
    try:  # two of a key make a fork, whatever the others are
        return follow_rotations(first, (r for of in by_old.values() for r in islice(of, 2))), ""
    except AuthorityFork as fork:
        reason = f"{fork.first.old_key.hex()} handed over to two keys"
    except Refusal as refusal:
        reason = refusal.reason
    reached = {authority: None, first: None}
    for key in (queue := [*reached]):
        following = [to.new_key for to in by_old.get(key, ()) if to.new_key not in reached]
        queue.extend(following)
        reached.update(dict.fromkeys(following))
    return tuple(islice(reached, MAX_ROTATIONS + 1)), reason


class _Opening:
    """Opens entries, by the key first that signed the one before, with a bound for hostile logs."""

    def __init__(self, chain: Sequence[bytes], handed: bool) -> None:
        self._chain = chain
        self._handed = handed
        self._keys = list(chain)  # the likeliest last
        self._left = _MOST_CHECKS

    def entry(
        self, index: int, envelope: bytes | None, rotation: Rotation | Refusal | None
    ) -> Entry:
        """Return an entry, opened, of what its envelope is as a hand-over."""
        if envelope is None or large_digest(envelope):
            return Entry(index, envelope or b"", None)
        try:
            if rotation is None:
                return Entry(index, envelope, *self._signed(envelope))
            if isinstance(rotation, Refusal):
                raise rotation
            if rotation.old_key not in self._chain:
                raise Refusal(RefusalCode.BAD_SIGNATURE, "a hand-over of a key that is not its own")
            return Entry(index, envelope, rotation, rotation.old_key)
        except Refusal as refusal:
            doubtful = refusal.code is RefusalCode.BAD_SIGNATURE and not self._handed
            return Entry(index, envelope, None, fault="" if doubtful else refusal.reason)

    def _signed(self, envelope: bytes) -> tuple[Manifest | GatewayKeys, bytes]:
        """Return the message of an envelope, and the key that signed it."""
        for place in reversed(range(len(self._keys))):
            key = self._keys[place]
            self._count()
            try:
                message: Manifest | GatewayKeys = open_manifest_of_chain(envelope, (key,))[0]
            except Refusal as error:
                if error.code is not RefusalCode.BAD_SIGNATURE:
                    raise
                refusal = error
                self._count()
                try:
                    message = open_gateway_keys(envelope, (key,))
                except Refusal:
                    continue
            self._keys.append(self._keys.pop(place))
            return message, key
        raise refusal

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise NotReached(
                f"the log is not read: its entries need more than {_MOST_CHECKS:,} checks of "
                "signatures, by many keys of the authority or by none"
            )
