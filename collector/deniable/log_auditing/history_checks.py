"""Checks of a log's history by itself: who signed what, and how surveys follow each other."""

from collections.abc import Iterator

from deniable.documents import Caution
from deniable.log_auditing.entries import History
from deniable.log_auditing.findings import finding
from deniable.messages import GatewayKeys, Rotation
from deniable.transparency_log import log_origin


def history_findings(history: History, origin: str) -> Iterator[Caution]:
    """Yield the findings about the history of the log of this name."""
    yield from _entries(history)
    if history.whole:  # else what is withheld might be what seems to be missing
        yield from _former_keys(history)
        yield from _origin(history, origin)
    yield from _sequences(history)
    yield from _gateway_sequences(history)


def _entries(history: History) -> Iterator[Caution]:
    """Judge the signatures of the entries."""
    if history.fork:
        yield finding("authority-fork", reason=history.fork)
    if history.strange:
        yield finding("strange")
        return
    for entry in history.entries:
        if entry.fault:
            yield finding("unsigned", index=entry.index, reason=entry.fault)


def _former_keys(history: History) -> Iterator[Caution]:
    """Judge whether a key that had handed over signed anything that was not logged before."""
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
    """Judge whether the log has the name of a collector that its surveys are for."""
    surveys = [version.manifest for vs in history.versions.values() for version in vs]
    if surveys and origin not in {log_origin(survey.origin) for survey in surveys}:
        yield finding("other-origin", origin=origin)


def _sequences(history: History) -> Iterator[Caution]:
    """Judge whether the surveys of a name follow each other without gaps and repeats."""
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
    """Judge whether a sequence stands for one list of gateway keys."""
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
