"""Entries of a public log: manifests, key rotations of the authority, and gateway keys.

An entry's kind follows from its form, and from the signature's context.
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
    """A log as served.

    Attributes:
        tiles: tiles of hashes, by their paths; unavailable tiles are in ``missing``.
        entries: in order; None where a bundle is missing or unreadable.
        envelopes: the entries' envelopes; an entry is its own envelope unless that is too long.
        missing: the reason why a file could not be fetched, by its path.
        damaged: the reason why a file cannot be read, by its path.
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
        signer: the collector's current signing key; None if the collector was not asked.
        signed: envelopes with their proofs, by their descriptions.
        listed: the ids of all surveys that the collector lists, by the requested names.
    """

    signer: bytes | None
    signed: Sequence[tuple[str, LoggedEnvelope]]
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replies:
    """The answers of the policy's witnesses, by name: the log that each of them knows.

    Attributes:
        seen: the newest checkpoint that a witness cosigned.
        silent: the reason why a witness's checkpoint is unknown.
    """

    seen: Mapping[str, SignedCheckpoint] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)


NO_REPLIES: Final = Replies()
"""The replies without a policy, or if none of its witnesses can be asked."""


Visits = tuple[tuple[int, int, int], ...]
"""Rising sizes of the log, each with its first and last visit."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys and checkpoints that an audit does not question.

    Without a key of the log, whether the log signed its checkpoint is unknown.

    Attributes:
        acknowledged: hashes of leaves up to which crowds were examined.
    """

    log_key: VerifierKey | None
    authority: bytes
    policy: LogPolicy | None = None
    remembered: SignedCheckpoint | None = None
    visits: Visits = ()
    acknowledged: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class TwoFaces:
    """The proof of a fork: two signed checkpoints of one log that contradict each other.

    The hashes are of the longer one's entries, if the shorter is not its beginning: all of them
    give the longer one's root, but the first ones do not give the other's.
    """

    first: SignedCheckpoint
    second: SignedCheckpoint
    hashes: tuple[bytes, ...] = ()


_THREE: Final = b"\x93"
_MOST_CHECKS: Final = 60_000
"""Signature checks, rotations aside: three for each entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An opened entry of a log, or its fault; neither if it is withheld.

    Neither, also, if a withheld rotation might make it valid.
    """

    index: int
    envelope: bytes
    message: Manifest | Rotation | GatewayKeys | None
    signer: bytes = b""
    fault: str = ""

    @property
    def leaf(self) -> bytes:
        """Return the entry's hash in the log's tree."""
        return leaf_hash(log_entry(self.envelope))


@dataclass(frozen=True, slots=True)
class Version:
    """A manifest at its first entry, and the entries that sign the manifest again."""

    entry: Entry
    manifest: Manifest
    signed_again: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class History:
    """A log's history under the trusted authority.

    Attributes:
        chain: the authority's keys; the last is the key that signs now.
        fork: the reason why the log's rotations are invalid; empty if they are valid.
        handed: whether all rotations are present: only envelopes that are too long are withheld.
    """

    entries: tuple[Entry, ...]
    chain: tuple[bytes, ...]
    fork: str = ""
    handed: bool = True

    @classmethod
    def read(cls, envelopes: Sequence[bytes | None], authority: bytes) -> "History":
        """Open the entries of a log under any current or former key of the authority.

        Raises:
            NotReached: if opening the entries needs too many signature checks.
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
        """Return whether the authority signed none of the readable entries."""
        faulty = any(entry.fault for entry in self.entries)
        return faulty and not any(entry.message for entry in self.entries)

    @cached_property
    def versions(self) -> dict[str, list[Version]]:
        """Return the manifests by name, in the order of their first entries."""
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
        """Yield the rotations and gateway keys, in order."""
        return (
            entry for entry in self.entries if isinstance(entry.message, Rotation | GatewayKeys)
        )


def _version(first: Entry, *again: Entry) -> Version:
    assert isinstance(first.message, Manifest)
    return Version(first, first.message, again)


def _rotation(envelope: bytes) -> Rotation | Refusal | None:
    """Return an envelope's rotation, or why it is invalid; None for a different kind."""
    if not envelope.startswith(_THREE):
        return None
    try:
        return open_rotation(envelope)
    except Refusal as refusal:
        return refusal


def _chain(authority: bytes, rotations: Iterable[Rotation]) -> tuple[tuple[bytes, ...], str]:
    """Return the keys from the first predecessor of the authority to the current one.

    The function also returns what is wrong with the rotations. In that case the keys are all that
    were rotated to, up to a chain's limit, so that the rest of the log can be judged.
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
    try:  # two rotations of a key are a fork, whatever the others are
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
    """An opener of entries, limited for hostile logs; it tries the previous entry's key first."""

    def __init__(self, chain: Sequence[bytes], handed: bool) -> None:
        self._chain = chain
        self._handed = handed
        self._keys = list(chain)  # the most likely key last
        self._left = _MOST_CHECKS

    def entry(
        self, index: int, envelope: bytes | None, rotation: Rotation | Refusal | None
    ) -> Entry:
        """Return an opened entry, given its envelope's rotation."""
        if envelope is None or large_digest(envelope):
            return Entry(index, envelope or b"", None)
        try:
            if rotation is None:
                return Entry(index, envelope, *self._signed(envelope))
            if isinstance(rotation, Refusal):
                raise rotation
            if rotation.old_key not in self._chain:
                raise Refusal(RefusalCode.BAD_SIGNATURE, "a hand-over of another authority's key")
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
                f"the log was not read: its entries need more than {_MOST_CHECKS:,} signature "
                "checks, for many keys or none of the authority"
            )
