"""Views side by side: the entries that a matcher may pair, and which of the pairs are true.

Each join answers one question. What a party knows anyhow is no join: an issuer knows accounts, a
relay addresses, and a collector reports.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from deniable.messages import ENCAPSULATED_REQUEST_BYTES, Manifest, SignedReport, split_upload
from deniable.oblivious_http import REQUEST_OVERHEAD_BYTES
from deniable.privacy_pass import token_key_id
from tests.unlinkability.logs import Entry
from tests.unlinkability.trails import Pairing, Trail
from tests.unlinkability.world import World

_HEAD: Final = b"\r\n\r\n"
_SIZE: Final = ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES  # of a message that is sealed


View = Callable[[World], list[Pairing]]


def issuer_and_collector(world: World) -> list[Pairing]:
    """Which account made which report?"""
    return _pairings(_asks(world), _reports(world))


def collector_alone(world: World) -> list[Pairing]:
    """Which reports of an epoch and of the next are one device's?"""
    reports = _reports(world)
    return _pairings(reports[:-1], reports[1:])


def issuer_and_relay_and_store(world: World) -> list[Pairing]:
    """Which account made which report, of a store that has no times, as stores have none?"""
    return _pairings(_sent(world), _kept(world))


def relay_and_collector(world: World) -> list[Pairing]:
    """Which address sent which report?"""
    return _pairings(_sent(world), _reports(world))


def issuer_and_relay(world: World) -> list[Pairing]:
    """Which account's device sent something when?"""
    return _pairings(_asks(world), _sent(world))


def _pairings(left: Sequence[Sequence[Trail]], right: Sequence[Sequence[Trail]]) -> list[Pairing]:
    return [Pairing(*both) for both in zip(left, right, strict=True)]


def _asks(world: World) -> list[list[Trail]]:
    """Return the requests for tokens, by epoch."""
    fetches = _fetches(world)
    moments: dict[int, list[float]] = {}
    for entry in world.issuer:
        moments.setdefault(entry.device, []).append(entry.at)  # the account has signed in
    asks = []
    for entry in world.issuer:
        epoch = int(entry.request.split(maxsplit=2)[1].rpartition(b"/")[2])
        trail = _trail(entry, fetches, (len(entry.request), len(entry.answer)))
        key = entry.request.partition(_HEAD)[2][2]
        asks.append((epoch, replace(trail, key=key, moments=tuple(moments[entry.device]))))
    return _by_epoch(world, asks)


def _reports(world: World) -> list[list[Trail]]:
    """Return the reports as the collector opens them, by epoch."""
    fetches = _fetches(world)
    reports = []
    for entry in world.collector:
        if (envelope := _envelope(entry)) is not None:
            signed = SignedReport.from_envelope(envelope)
            request, answer = entry.read
            report, trail = signed.report, _trail(entry, fetches, (len(envelope), len(answer.body)))
            opened = replace(
                trail,
                content=trail.content + request.encode() + answer.encode(),
                key=_key_byte(world.manifests[report.survey_id], report.epoch),
                report_key=signed.public_key,
            )
            reports.append((report.epoch, opened))
    return _by_epoch(world, reports)


def _kept(world: World) -> list[list[Trail]]:
    """Return the reports as a store has them: no times, nothing of their way."""
    kept = []
    for entry in world.collector:
        if (envelope := _envelope(entry)) is not None:
            epoch = SignedReport.from_envelope(envelope).report.epoch
            kept.append((epoch, Trail(entry.device, 0.0, envelope, (len(envelope), 0))))
    # By their keys, which are in no order of time.
    return [sorted(trails, key=lambda trail: trail.content) for trails in _by_epoch(world, kept)]


def _sent(world: World) -> list[list[Trail]]:
    """Return the reports as the relay sees them, by epoch."""
    sent = []
    for ours, theirs in zip(world.relay, world.collector, strict=True):
        if (envelope := _envelope(theirs)) is not None:
            epoch = SignedReport.from_envelope(envelope).report.epoch
            padding = 0 if world.setting.leak.padded else _SIZE - len(theirs.read[0].encode())
            sizes = len(ours.request) - padding, len(ours.answer)
            sent.append((epoch, _trail(ours, (), sizes)))
    return _by_epoch(world, sent)


def _by_epoch(world: World, trails: Iterable[tuple[int, Trail]]) -> list[list[Trail]]:
    """Return the first trail of each device in each epoch, in order of time."""
    epochs: list[dict[int, Trail]] = [{} for _ in range(world.setting.epochs)]
    for epoch, trail in trails:
        if epoch < len(epochs):
            epochs[epoch].setdefault(trail.device, trail)
    return [list(found.values()) for found in epochs]


def _fetches(world: World) -> list[float]:
    return [entry.at for entry in world.collector if _envelope(entry) is None]


def _envelope(entry: Entry) -> bytes | None:
    """Return the report that came; None if it was a fetch."""
    request, _ = entry.read
    return next(iter(split_upload(request.body))) if request.method == "POST" else None


def _trail(entry: Entry, fetches: Sequence[float], sizes: tuple[int, int]) -> Trail:
    place = bisect(fetches, entry.at)
    near = min(
        fetches[max(0, place - 1) : place + 1], key=lambda at: abs(at - entry.at), default=inf
    )
    content = b"\n".join((entry.peer.encode(), entry.request, entry.answer))
    return Trail(
        entry.device, entry.at, content, sizes, entry.peer, fetched=near, moments=(entry.at,)
    )


def _key_byte(manifest: Manifest, epoch: int) -> int:
    modulus = manifest.enrolment.key_of(epoch)
    return token_key_id(modulus)[-1] if modulus is not None else 0
