"""Checks of a log's history by itself: its signers, the order of surveys, marks of devices.

A log shows everything that is published for few devices, but cannot prevent it. Such findings also
have innocent causes: after examining a finding, you acknowledge its leaf. The log has no times:
when an entry was published is known only from remembered visits.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Final

from deniable.documents import Caution
from deniable.logs import log_origin
from deniable.messages import GatewayKeys, InvalidManifest, Manifest, Rotation
from deniable.public_log.audit.entries import Entry, History, Trust, Version, Visits
from deniable.public_log.audit.findings import finding
from deniable.publishing.blind_keys import ListedKeys

_MOST_ALIVE: Final = 2
"""Lists of gateway keys, the current one and the next: more at once are a crowd."""
_MOST_RUNNING: Final = 4
"""Manifests, the running one, two changes of it and the next: more at once are a crowd."""
_LAST_EPOCHS: Final = 8
"""Epochs before its end in which a manifest is assumed to have run."""
_UNTOLD: Final = "perhaps within one epoch (no remembered visit separates them)"
_MOST_COMPARED: Final = 1_024
"""The number of a log's first issuer keys that are searched for common factors."""
_NEIGHBOURS: Final = 32
"""Entries before one that are searched for others published with it."""


def history_findings(history: History, origin: str) -> Iterator[Caution]:
    """Yield the findings about the history of the log with this name."""
    yield from _entries(history)
    if history.whole:  # otherwise a withheld entry may be the entry that seems missing
        yield from _former_keys(history)
        yield from _origin(history, origin)
    yield from _sequences(history)
    yield from _gateway_sequences(history)


def _entries(history: History) -> Iterator[Caution]:
    """Check the signatures of the entries."""
    if history.fork:
        yield finding("authority-fork", reason=history.fork)
    if history.strange:
        yield finding("strange")
        return
    for entry in history.entries:
        if entry.fault:
            yield finding("unsigned", index=entry.index, reason=entry.fault)


def _former_keys(history: History) -> Iterator[Caution]:
    """Check whether a key signed anything new after its rotation."""
    handed: dict[bytes, int] = {}
    said: set[bytes] = set()
    for entry in history.entries:
        message = entry.message
        if message is None:
            continue
        if isinstance(message, Rotation):
            handed.setdefault(message.old_key, entry.index)
        elif message.payload not in said and entry.signer in handed:
            by = handed[entry.signer]
            yield finding("former-key", index=entry.index, by=by, signer=entry.signer.hex())
        said.add(message.payload)


def _origin(history: History, origin: str) -> Iterator[Caution]:
    """Check whether the log's name is the name of a collector in its surveys."""
    surveys = [version.manifest for vs in history.versions.values() for version in vs]
    if surveys and origin not in {log_origin(survey.origin) for survey in surveys}:
        yield finding("other-origin", origin=origin)


def _sequences(history: History) -> Iterator[Caution]:
    """Check whether the surveys of a name follow each other without gaps and repeats."""
    for name, versions in history.versions.items():
        taken: dict[int, int] = {}
        before = -1
        for version in versions:
            sequence, index = version.manifest.sequence, version.entry.index
            if (first := taken.setdefault(sequence, index)) != index:
                yield finding(
                    "equivocation", name=name, sequence=sequence, first=first, second=index
                )
            elif sequence != before + 1 and history.whole:
                follows = "nothing" if before < 0 else f"{before:,}"
                yield finding("gap", name=name, after=sequence, before=follows, index=index)
            before = max(before, sequence)


def _gateway_sequences(history: History) -> Iterator[Caution]:
    """Check whether each sequence number has only one list of gateway keys."""
    taken: dict[tuple[str, int], tuple[int, GatewayKeys]] = {}
    for entry in history.entries:
        if isinstance(keys := entry.message, GatewayKeys):
            first, listed = taken.setdefault((keys.origin, keys.sequence), (entry.index, keys))
            if listed != keys:
                yield finding(
                    "equivocation",
                    name=f"gateway keys of {keys.origin}",
                    sequence=keys.sequence,
                    first=first,
                    second=entry.index,
                )


def crowd_findings(history: History, trust: Trust, now: float) -> Iterator[Caution]:
    """Yield the findings about possible marking of devices, and about unchecked aspects."""
    listed = ListedKeys(_MOST_COMPARED)
    for code, entry, parts in (
        *_crowds(history, trust.visits, now),
        *_gateway_crowds(history, now),
        *_issuer_keys(history, listed),
    ):
        leaf = entry.leaf.hex()
        if entry.leaf in trust.acknowledged:
            yield finding("acknowledged", which=code, index=entry.index)
        else:
            remedy = (
                f"Once you have examined it, list its leaf in the file for --acknowledged: {leaf}."
            )
            yield finding(code, **parts, acknowledge=remedy)
    if listed.uncompared:
        yield finding("uncompared", keys=listed.uncompared, compared=_MOST_COMPARED)
    if untold := _untold(history, trust.visits, now):
        yield finding("undated", count=untold, running=_MOST_RUNNING, epochs=_LAST_EPOCHS)


_Found = tuple[str, Entry, dict[str, object]]


def _crowds(history: History, visits: Visits, now: float) -> Iterator[_Found]:
    """Find overlapping manifests of one declaration that were published too densely."""
    claimed = _claimed(history, now)
    for name, group in _alike(history):
        newest_of: set[int] = set()
        for together, when in (
            *((sure, "within one epoch") for sure in _sure(group, visits, now)),
            *(
                (sure, "within one epoch, according to gateway keys")
                for sure in _sure(group, claimed, now)
            ),
            *((possible, _UNTOLD) for possible in _possible(group, visits, now)),
        ):
            if (newest := together[-1].entry).index not in newest_of:
                newest_of.add(newest.index)
                entries = _numbers([version.entry for version in together])
                yield "crowd", newest, {"name": name, "entries": entries, "when": when}


def _untold(history: History, visits: Visits, now: float) -> int:
    """Return how many manifests may have been published within an epoch of their predecessor."""
    untold = 0
    for _, group in _alike(history):
        times = [_published(version, visits, now) for version in group]
        for place, version in enumerate(group[1:]):
            until = times[place][1] + group[place].manifest.schedule.epoch_seconds
            untold += times[place + 1][0] < until and _overlap(group[place], version)
    return untold


def _alike(history: History) -> Iterator[tuple[str, list[Version]]]:
    """Yield the manifests of a name that one declaration accepts, in order.

    Ceilings can be declared arbitrarily high, so only question and answers are compared.
    """
    for name, versions in history.versions.items():
        alike: dict[object, list[Version]] = {}
        for version in versions:
            declared = version.manifest.question, version.manifest.all_answers
            alike.setdefault(declared, []).append(version)
        yield from ((name, group) for group in alike.values())


def _claimed(history: History, now: float) -> Visits:
    """Return the log's sizes at the times of its gateway keys, as if visited.

    Their signer can lie, so the keys can show what came together, but never what did not.
    """
    claimed: list[tuple[int, int, int]] = []
    for entry in history.entries:
        if isinstance(keys := entry.message, GatewayKeys):
            at = keys.sequence
            if at <= now and (not claimed or claimed[-1][1] <= at):
                claimed.append((entry.index, at, at))
    return tuple(claimed)


def _sure(group: Sequence[Version], visits: Visits, now: float) -> Iterator[list[Version]]:
    """Yield manifests that overlap a manifest that surely came less than an epoch before."""
    times = [_published(version, visits, now) for version in group]
    chain_of: list[list[Version]] = []
    for place, version in enumerate(group):
        chain: list[Version] = []
        for before in range(place - 1, max(-1, place - 1 - _NEIGHBOURS), -1):
            until = times[before][0] + group[before].manifest.schedule.epoch_seconds
            if times[place][1] < until and _overlap(group[before], version):
                chain = chain_of[before]
                break
        chain.append(version)
        chain_of.append(chain)
    chains = {id(chain): chain for chain in chain_of}
    return (chain for chain in chains.values() if len(chain) > 1)


def _possible(group: Sequence[Version], visits: Visits, now: float) -> Iterator[list[Version]]:
    """Yield manifests that run at once, unless visits show that epochs lay between."""
    times = [_published(version, visits, now) for version in group]
    after = [since for since, _ in times]
    first = 0
    for (_, by), dated in groupby(zip(times, group, strict=True), itemgetter(0)):
        longest = [version.manifest.schedule.epoch_seconds for _, version in dated]
        yield from _at_once(group[first : bisect_left(after, by + max(longest))], now)
        first += len(longest)


def _published(version: Version, visits: Visits, now: float) -> tuple[float, float]:
    """Return the times after and before which a manifest was published."""
    place = bisect_right(visits, version.entry.index, key=itemgetter(0))
    after = visits[place - 1][2] if place else -inf
    return after, visits[place][1] if place < len(visits) else now


def _overlap(first: Version, second: Version) -> bool:
    a, b = first.manifest.schedule, second.manifest.schedule
    return a.start < b.end and b.start < a.end


def _at_once(versions: Sequence[Version], now: float) -> Iterator[list[Version]]:
    """Yield versions that run while too many run: more than a version, its changes and the next.

    A successor counts its epochs from its predecessors' start, so no entry shows when it began to
    run: from now on, or for its last epochs.
    """
    events: list[tuple[float, bool, int]] = []
    for place, version in enumerate(versions):
        schedule = version.manifest.schedule
        last = schedule.end - _LAST_EPOCHS * schedule.epoch_seconds
        events.append((max(schedule.start, min(now, last)), True, place))
        events.append((schedule.end, False, place))
    running: set[int] = set()
    crowd: set[int] = set()
    for _, begins, place in sorted(events):
        if not begins:
            running.discard(place)
            if len(running) <= _MOST_RUNNING and crowd:
                yield [versions[one] for one in sorted(crowd)]
                crowd = set()
            continue
        running.add(place)
        if crowd:
            crowd.add(place)
        elif len(running) > _MOST_RUNNING:
            crowd = {*running}


def _gateway_crowds(history: History, now: float) -> Iterator[_Found]:
    """Find gateway keys of which more than one and its successor were in use at once.

    A list is in use from the time that is its sequence until a newer list exists and all surveys
    published before that list are over, since apps bundle lists and surveys together.
    """
    lists: dict[str, dict[bytes, Entry]] = {}
    over: dict[str, list[float]] = {}
    closes = 0.0
    for entry in history.entries:
        message = entry.message
        if isinstance(message, Manifest):
            closes = max(closes, message.schedule.end + message.schedule.grace_seconds)
        elif isinstance(message, GatewayKeys):
            known = lists.setdefault(message.origin, {})
            if message.payload not in known:
                over.setdefault(message.origin, []).append(closes)
                known[message.payload] = entry
    for origin, known in lists.items():
        entries, until = [*known.values()], over[origin][1:]
        first = [
            bisect_right(until, min(entry.message.sequence, now), hi=place)
            for place, entry in enumerate(entries)
            if isinstance(entry.message, GatewayKeys)
        ]
        for place, entry in enumerate(entries):
            together = entries[first[place] : place + 1]
            if len(together) > _MOST_ALIVE and first[place + 1 : place + 2] != [first[place]]:
                yield "gateway-crowd", entry, {"origin": origin, "entries": _numbers(together)}


def _issuer_keys(history: History, listed: ListedKeys) -> Iterator[_Found]:
    """Find manifests of blind issuers that ``publish`` would refuse after the earlier ones."""
    versions = (version for versions in history.versions.values() for version in versions)
    for version in sorted(versions, key=lambda version: version.entry.index):
        try:
            listed.check(version.manifest)
        except InvalidManifest as error:
            index = version.entry.index
            yield "issuer-keys", version.entry, {"index": index, "reason": error.reason}
        listed.add(version.manifest)


def _numbers(entries: Sequence[Entry]) -> str:
    numbers = [f"{entry.index:,}" for entry in entries]
    if len(numbers) > 8:
        numbers[4:-2] = ["…"]
    return f"{', '.join(numbers)} ({len(entries)} in all)"
