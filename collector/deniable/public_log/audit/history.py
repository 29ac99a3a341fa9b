"""The history in a log: its entries, opened and checked by themselves.

An entry is a manifest, a rotation of the authority's key, or a list of gateway keys. Its kind
follows from its form, and from the signature's context.

A log shows everything that is published for few devices, but cannot prevent it. Such findings also
have innocent causes: after examining a finding, you acknowledge its leaf. The log has no times:
when an entry was published is known only from remembered visits.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from operator import itemgetter
from typing import Final

from deniable.documents import Caution
from deniable.logs import leaf_hash
from deniable.messages import (
    InvalidManifest,
    Manifest,
    Refusal,
    RefusalCode,
    Rotation,
    follow_rotations,
    log_entry,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.messages.gateway import GatewayKeys, open_gateway_keys
from deniable.messages.rotation import AuthorityFork
from deniable.public_log.audit.findings import finding
from deniable.publishing.blind_keys import ListedKeys

Visits = tuple[tuple[int, int, int], ...]
"""Rising sizes of the log, each with its first and last visit."""

_MOST_ALIVE: Final = 2
"""Lists of gateway keys, the current one and the next: more at once are a crowd."""
_MOST_RUNNING: Final = 4
"""Manifests, the running one, two changes of it and the next: more at once are a crowd."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An opened entry of a log: its message and the key that signed it, or its fault."""

    index: int
    envelope: bytes
    message: Manifest | Rotation | GatewayKeys | None = None
    signer: bytes = b""
    fault: str = ""

    @property
    def leaf(self) -> bytes:
        """Return the entry's hash in the log's tree."""
        return leaf_hash(log_entry(self.envelope))


@dataclass(frozen=True)
class History:
    """A log's history under the trusted authority.

    Attributes:
        chain: the authority's keys; the last is the key that signs now.
        fork: the reason why the log's rotations are invalid; empty if they are valid. Otherwise the
            chain has only the trusted key.
    """

    entries: tuple[Entry, ...]
    chain: tuple[bytes, ...]
    fork: str = ""

    @classmethod
    def read(cls, envelopes: Sequence[bytes], authority: bytes) -> "History":
        """Open the entries of a log under any current or former key of the authority."""
        rotations: dict[bytes, Rotation] = {}
        for envelope in envelopes:
            with suppress(Refusal):
                rotations[envelope] = open_rotation(envelope)
        before = {rotation.new_key: rotation.old_key for rotation in rotations.values()}
        walked = [authority]
        while (former := before.get(walked[-1])) is not None and former not in walked:
            walked.append(former)
        chain: tuple[bytes, ...] = (authority,)
        fork = ""
        try:
            chain = follow_rotations(walked[-1], rotations.values())
        except AuthorityFork as error:
            fork = f"{error.first.old_key.hex()} handed over to two keys"
        except Refusal as refusal:
            fork = refusal.reason

        def opened(index: int, envelope: bytes) -> Entry:
            try:
                message, signer = _message(envelope, rotations.get(envelope), chain)
            except Refusal as refusal:
                return Entry(index, envelope, fault=refusal.reason)
            return Entry(index, envelope, message, signer)

        return cls(tuple(opened(*numbered) for numbered in enumerate(envelopes)), chain, fork)

    @cached_property
    def versions(self) -> dict[str, dict[int, Manifest]]:
        """Return the manifests by name, each by the index of its first entry, in order."""
        versions: dict[str, dict[int, Manifest]] = {}
        known: set[bytes] = set()
        for entry in self.entries:
            if isinstance(manifest := entry.message, Manifest) and manifest.survey_id not in known:
                known.add(manifest.survey_id)
                versions.setdefault(manifest.name, {})[entry.index] = manifest
        return dict(sorted(versions.items()))


def _message(
    envelope: bytes, rotation: Rotation | None, chain: Sequence[bytes]
) -> tuple[Manifest | Rotation | GatewayKeys, bytes]:
    """Return the message of an envelope, and the key that signed it."""
    if rotation is not None:
        if rotation.old_key not in chain:
            raise Refusal(RefusalCode.BAD_SIGNATURE, "a hand-over of another authority's key")
        return rotation, rotation.old_key
    try:
        return open_manifest_of_chain(envelope, chain)
    except Refusal:
        for key in chain:
            with suppress(Refusal):
                return open_gateway_keys(envelope, (key,)), key
        raise


def history_findings(history: History) -> Iterator[Caution]:
    """Yield the findings about signers and sequence numbers."""
    if history.fork:
        yield finding("authority-fork", reason=history.fork)
    if history.entries and all(entry.fault for entry in history.entries):
        yield finding("strange")
        return
    handed: dict[bytes, int] = {}
    said: set[bytes] = set()
    for entry in history.entries:
        message = entry.message
        if message is None:
            yield finding("unsigned", index=entry.index, reason=entry.fault)
            continue
        if isinstance(message, Rotation):
            handed.setdefault(message.old_key, entry.index)
        elif message.payload not in said and entry.signer in handed:
            by = handed[entry.signer]
            yield finding("former-key", index=entry.index, by=by, signer=entry.signer.hex())
        said.add(message.payload)
    yield from _sequences(history)


def _sequences(history: History) -> Iterator[Caution]:
    """Check that a sequence number stands for one survey or list, and that none is missing."""
    taken: dict[tuple[str, int], tuple[int, bytes]] = {}
    newest: dict[str, int] = {}
    for entry in history.entries:
        message = entry.message
        if message is None or isinstance(message, Rotation):
            continue
        of_survey = isinstance(message, Manifest)
        name = (
            message.name if isinstance(message, Manifest) else f"gateway keys of {message.origin}"
        )
        sequence, index = message.sequence, entry.index
        first, payload = taken.setdefault((name, sequence), (index, message.payload))
        before = newest.get(name, -1)
        if payload != message.payload:
            yield finding("equivocation", name=name, sequence=sequence, first=first, second=index)
        elif of_survey and first == index and sequence != before + 1:
            follows = "nothing" if before < 0 else f"{before:,}"
            yield finding("gap", name=name, after=sequence, before=follows, index=index)
        newest[name] = max(before, sequence)


def crowd_findings(
    history: History, visits: Visits, acknowledged: Set[bytes], now: float
) -> Iterator[Caution]:
    """Yield the findings about possible marking of devices; acknowledged ones become notes."""
    undated = 0
    suspicions = [*_gateway_crowds(history, now), *_issuer_keys(history)]
    for name, group in _alike(history):
        undated += _undated(group, visits, now)
        for crowd, when in _crowds(group, visits, now):
            parts: dict[str, object] = {"name": name, "entries": _numbers(crowd), "when": when}
            suspicions.append(("crowd", crowd[-1], parts))
    for code, index, parts in suspicions:
        leaf = history.entries[index].leaf
        if leaf in acknowledged:
            yield finding("acknowledged", which=code, index=index)
        else:
            remedy = (
                "Once you have examined this finding, list its leaf in the file for "
                f"--acknowledged: {leaf.hex()}."
            )
            yield finding(code, **parts, acknowledge=remedy)
    if undated:
        yield finding("undated", count=undated, running=_MOST_RUNNING)


_Suspicion = tuple[str, int, dict[str, object]]


def _alike(history: History) -> Iterator[tuple[str, dict[int, Manifest]]]:
    """Yield the manifests of a name that one declaration accepts, by entry, in order.

    Ceilings can be declared arbitrarily high, so only question and answers are compared.
    """
    for name, versions in history.versions.items():
        alike: dict[object, dict[int, Manifest]] = {}
        for index, manifest in versions.items():
            declared = manifest.question, manifest.all_answers
            alike.setdefault(declared, {})[index] = manifest
        yield from ((name, group) for group in alike.values())


def _published(index: int, visits: Visits, now: float) -> tuple[float, float]:
    """Return the times after and before which an entry was published."""
    place = bisect_right(visits, index, key=itemgetter(0))
    after = visits[place - 1][2] if place else -inf
    return after, visits[place][1] if place < len(visits) else now


def _longest_epoch(group: Mapping[int, Manifest]) -> int:
    return max(manifest.schedule.epoch_seconds for manifest in group.values())


def _undated(group: Mapping[int, Manifest], visits: Visits, now: float) -> int:
    """Return how many manifests may have been published within an epoch of their predecessor."""
    epoch = _longest_epoch(group)
    times = [_published(index, visits, now) for index in group]
    return sum(after < by + epoch for (_, by), (after, _) in pairwise(times))


def _crowds(
    group: Mapping[int, Manifest], visits: Visits, now: float
) -> Iterator[tuple[list[int], str]]:
    """Yield the entries of manifests that were published too densely, and why they seem so."""
    epoch, indices = _longest_epoch(group), [*group]
    times = [_published(index, visits, now) for index in indices]
    sure: set[int] = set()
    for (first, (after, _)), (second, (_, by)) in pairwise(zip(indices, times, strict=True)):
        if by - after < epoch:
            sure |= {first, second}
    if sure:
        yield sorted(sure), "were published within one epoch"
    # Of those that run now: the most that no remembered visit separates by an epoch.
    first_by = {by: place for place, (_, by) in reversed([*enumerate(times)])}
    afters = [after for after, _ in times]
    dense = (indices[place : bisect_left(afters, by + epoch)] for by, place in first_by.items())
    running = ([i for i in window if now < group[i].schedule.end] for window in dense)
    crowd = max(running, key=len)
    if len(crowd) > _MOST_RUNNING and not sure.issuperset(crowd):
        yield (
            crowd,
            "run now, and may have been published within one epoch (no remembered visit shows "
            "otherwise)",
        )


def _gateway_crowds(history: History, now: float) -> Iterator[_Suspicion]:
    """Find gateway keys of which more than one and its successor are in use.

    A list is in use until a newer list exists and all surveys published before that list are over,
    since apps bundle lists and surveys together.
    """
    lists: dict[str, dict[bytes, tuple[int, float]]] = {}
    closes = 0.0
    for entry in history.entries:
        if isinstance(message := entry.message, Manifest):
            closes = max(closes, message.schedule.end + message.schedule.grace_seconds)
        elif isinstance(message, GatewayKeys):
            known = lists.setdefault(message.origin, {})
            known.setdefault(message.payload, (entry.index, closes))
    for origin, known in lists.items():
        listed = [*known.values()]
        used = [index for (index, _), (_, until) in pairwise(listed) if now < until]
        used.append(listed[-1][0])
        if len(used) > _MOST_ALIVE:
            yield "gateway-crowd", used[-1], {"origin": origin, "entries": _numbers(used)}


def _issuer_keys(history: History) -> Iterator[_Suspicion]:
    """Find manifests of blind issuers that ``publish`` would refuse after the earlier ones."""
    listed = ListedKeys()
    numbered = {i: survey for named in history.versions.values() for i, survey in named.items()}
    for index, manifest in sorted(numbered.items()):
        try:
            listed.check(manifest)
        except InvalidManifest as error:
            yield "issuer-keys", index, {"index": index, "reason": error.reason}
        listed.add(manifest)


def _numbers(entries: Sequence[int]) -> str:
    numbers = [f"{index:,}" for index in entries]
    if len(numbers) > 8:
        numbers[4:-2] = ["…"]
    return f"{', '.join(numbers)} ({len(entries)} in all)"
