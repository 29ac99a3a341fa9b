"""The subject of an audit: a log as it was served, what is offered beside it, and whom to trust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deniable.logs import LogPolicy, SignedCheckpoint, VerifierKey
from deniable.messages import LoggedEnvelope


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
class Heard:
    """The answers of the policy's witnesses, by their names, to which log each of them knows.

    Attributes:
        seen: the newest checkpoint that a witness cosigned.
        silent: why another's is not known.
    """

    seen: Mapping[str, SignedCheckpoint] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)


NOBODY: Final = Heard()
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
