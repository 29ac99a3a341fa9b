"""Policies: the logs that an app accepts, and how many of which witnesses must have cosigned.

The language is part of C2SP tlog-policy: one quorum, which is a witness or a group of witnesses,
without nested groups. Each witness counts once, and a quorum is more than half of them. So two
quorums share a witness, and an honest witness never cosigns two histories.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from deniable.logs.notes import COSIGNER, LOG, TransparencyLogError, VerifierKey
from deniable.logs.proofs import LogProof

MAX_POLICY_BYTES: Final = 65_536
"""The most bytes of a policy's text."""

_NOT_ALLOWED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER: Final = re.compile("[1-9][0-9]{0,4}")


class TooFewWitnesses(TransparencyLogError):
    """A proof that is valid except that too few of a policy's witnesses have cosigned it so far."""

    def __init__(self, count: int, quorum: int) -> None:
        super().__init__(
            f"only {count} of the policy's witnesses cosigned, but {quorum} are required"
        )


@dataclass(frozen=True, slots=True)
class Log:
    """A log that a policy accepts, and its address, if the policy names one."""

    key: VerifierKey
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness of a policy: its name there, its key, and possibly an address for checkpoints."""

    name: str
    key: VerifierKey
    url: str | None = None


@dataclass(frozen=True, slots=True)
class LogPolicy:
    """Logs, witnesses, and the number of witnesses that must have cosigned a checkpoint."""

    logs: tuple[Log, ...]
    witnesses: tuple[Witness, ...]
    quorum: int

    def __post_init__(self) -> None:
        keys = [log.key.public_key for log in self.logs]
        keys += [witness.key.public_key for witness in self.witnesses]
        if not self.logs or not self.witnesses:
            raise TransparencyLogError("a policy must have at least one log and one witness")
        if len(set(keys)) < len(keys):
            raise TransparencyLogError(
                "two logs or witnesses of a policy must not have the same key"
            )
        if not len(self.witnesses) < 2 * self.quorum <= 2 * len(self.witnesses):
            raise TransparencyLogError("a quorum must be more than half of a policy's witnesses")

    @classmethod
    def parse(cls, text: str) -> "LogPolicy":
        """Read a policy.

        Raises:
            TransparencyLogError: if the policy has the wrong form, uses unsupported parts of the
                language, or its quorum is not more than half of the witnesses.
        """
        if len(text.encode(errors="surrogatepass")) > MAX_POLICY_BYTES or _NOT_ALLOWED.search(text):
            raise TransparencyLogError(
                "a policy must be text of at most 64 KiB, with no control characters except tabs "
                "and newlines"
            )
        draft = _Draft()
        for number, line in enumerate(text.split("\n"), start=1):
            words = re.split("[ \t]+", line.strip(" \t"))
            if words[0] and not words[0].startswith("#"):
                try:
                    draft.take(words)
                except TransparencyLogError as error:
                    raise TransparencyLogError(f"line {number} of the policy: {error}") from error
        if draft.quorum is None:
            raise TransparencyLogError("a policy must have a quorum line")
        members, threshold = draft.groups[draft.quorum]
        if unused := sorted(draft.witnesses.keys() - members):
            raise TransparencyLogError(f"the witness {unused[0]} does not count towards the quorum")
        return cls(tuple(draft.logs), tuple(draft.witnesses.values()), threshold)

    def check(self, entry: bytes, proof: LogProof) -> frozenset[VerifierKey]:
        """Check an entry's proof; return the witnesses that cosigned its checkpoint.

        Raises:
            TransparencyLogError: unless an accepted log has the entry, and the quorum has cosigned;
                TooFewWitnesses if only the quorum is missing.
        """
        origin = proof.checkpoint.checkpoint.origin
        log_keys = [log.key for log in self.logs if log.key.name == origin]
        if not log_keys:
            raise TransparencyLogError(f"the policy does not accept the log {origin}")
        proof.check_entry(entry)
        proof.checkpoint.verify(*log_keys)
        witnesses = (witness.key for witness in self.witnesses)
        cosigners = frozenset(proof.checkpoint.cosigning_times(witnesses))
        if len(cosigners) < self.quorum:
            raise TooFewWitnesses(len(cosigners), self.quorum)
        return cosigners


@dataclass(slots=True)
class _Draft:
    """A policy with the lines read so far; a witness is a group of itself, too."""

    logs: list[Log] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    groups: dict[str, tuple[frozenset[str], int]] = field(default_factory=dict)
    quorum: str | None = None

    def take(self, words: list[str]) -> None:
        match words:
            case ["log", key, *url] if len(url) < 2:
                self.logs.append(Log(_key(key, LOG), *url))
            case ["witness", name, key, *url] if len(url) < 2:
                self._check_new(name)
                self.witnesses[name] = Witness(name, _key(key, COSIGNER), *url)
                self.groups[name] = frozenset({name}), 1
            case ["group", name, threshold, *members] if members:
                self._check_new(name)
                self.groups[name] = self._group(threshold, members)
            case ["quorum", _] if self.quorum is not None:
                raise TransparencyLogError("a policy may have only one quorum")
            case ["quorum", "none"]:
                raise TransparencyLogError(
                    "a quorum is required: without one, a log can show different entries to "
                    "different readers"
                )
            case ["quorum", name] if name in self.groups:
                self.quorum = name
            case ["quorum", _]:
                raise TransparencyLogError("the quorum must be a witness or group defined above")
            case ["log" | "witness" | "group" | "quorum", *_]:
                raise TransparencyLogError(f"a {words[0]} line has too few or too many words")
            case _:
                raise TransparencyLogError("must begin with log, witness, group, quorum or #")

    def _group(self, threshold: str, members: list[str]) -> tuple[frozenset[str], int]:
        if len(self.groups) > len(self.witnesses):
            raise TransparencyLogError("a policy may have only one group")
        unknown = set(members) - self.witnesses.keys()
        if unknown or len(set(members)) < len(members):
            raise TransparencyLogError("a group must list witnesses defined above, each only once")
        numbers = {"any": 1, "all": len(members)}
        if _NUMBER.fullmatch(threshold):
            numbers[threshold] = int(threshold)
        if not 1 <= numbers.get(threshold, 0) <= len(members):
            raise TransparencyLogError(
                "a group's threshold must be any, all or a number up to the group's size"
            )
        return frozenset(members), numbers[threshold]

    def _check_new(self, name: str) -> None:
        if name == "none" or name in self.groups:
            raise TransparencyLogError(f"the name {name} is already in use")


def _key(text: str, algorithm: int) -> VerifierKey:
    key = VerifierKey.parse(text)
    if key.algorithm != algorithm:
        raise TransparencyLogError(
            f"a log's key must use algorithm {LOG} and a witness's key must use algorithm "
            f"{COSIGNER}; {key.name} uses {key.algorithm}"
        )
    return key
