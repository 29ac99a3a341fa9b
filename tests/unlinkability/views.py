"""Views side by side: the entries that a matcher may pair, and which of the pairs are true.

Each join answers one question. What a party knows anyhow is no join: an issuer knows accounts, a
relay addresses, and a collector reports.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import inf
from typing import Final

from deniable.counterparts.bodies import split_upload
from deniable.messages import Manifest, SignedReport
from deniable.messages.gateway import ENCAPSULATED_REQUEST_BYTES
from deniable.oblivious_http.encapsulation import REQUEST_OVERHEAD_BYTES
from deniable.privacy_pass import token_key_id
from tests.unlinkability.logs import Entry
from tests.unlinkability.trails import Pairing, Trail
from tests.unlinkability.world import World

_HEAD: Final = b"\r\n\r\n"
_SIZE: Final = ENCAPSULATED_REQUEST_BYTES - REQUEST_OVERHEAD_BYTES  # of a message that is sealed


View = Callable[[World], list[Pairing]]
_Epochs = list[list[Trail]]
"""A view of one survey: the trails of each epoch."""


def issuer_and_collector(world: World) -> list[Pairing]:
    """Which account made which report?"""
    return _of_each(world, _asks, _reports)


def collector_alone(world: World) -> list[Pairing]:
    """Which reports of an epoch and of the next are one device's?"""
    return _of_each(world, _reports, _reports, later=1)


def issuer_and_relay_and_store(world: World) -> list[Pairing]:
    """Which account made which report, of a store that has no times, as stores have none?"""
    return _of_each(world, _sent, _kept)


def issuer_then_collector(world: World) -> list[Pairing]:
    """Which account that asked in an epoch made which report of the next?"""
    return _of_each(world, _asks, _reports, later=1)


def collector_then_issuer(world: World) -> list[Pairing]:
    """Which account that asks in an epoch has made which report of the last one?"""
    return _of_each(world, _asks, _last_sends, later=-1)


def relay_and_collector(world: World) -> list[Pairing]:
    """Which address sent which report?"""
    return _of_each(world, _sent, _reports)


def issuer_and_relay(world: World) -> list[Pairing]:
    """Which account's device sent something when?"""
    return _of_each(world, _asks, _sent)


def access_log_and_collector(world: World) -> list[Pairing]:
    """Which account's app was open when a report came?"""
    return _of_each(world, _opened, _reports)


def two_surveys_collector(world: World) -> list[Pairing]:
    """Which reports of two surveys are one device's, in one epoch?"""
    return _of_both(world, _reports, _reports)


def two_surveys_collector_later(world: World) -> list[Pairing]:
    """Which report of a survey is of the device that made which of another in the next epoch?"""
    return _of_both(world, _reports, _reports, later=1)


def two_surveys_issuer_and_collector(world: World) -> list[Pairing]:
    """Which account that asked for one survey made which report of another?"""
    return _of_both(world, _asks, _reports)


def most_open(world: World) -> list[int]:
    """Return for each report how many apps were open when it came; 0 if its own was not."""
    counts = []
    for trail in (trail for epoch in _reports(world, world.names[0]) for trail in epoch):
        is_open = [
            any(begin <= trail.at <= end for begin, end in sessions) for sessions in world.sessions
        ]
        counts.append(sum(is_open) if is_open[trail.device] else 0)
    return counts


HIDDEN: Final[Sequence[View]] = (
    issuer_and_collector,
    collector_alone,
    issuer_and_relay_and_store,
    issuer_then_collector,
    collector_then_issuer,
)
"""Those that nothing joins."""

OF_TWO: Final[Sequence[View]] = (
    two_surveys_collector,
    two_surveys_collector_later,
    two_surveys_issuer_and_collector,
)
"""Those that nothing joins either, of a world with a second survey."""

JOINED: Final[Sequence[View]] = (issuer_and_relay, relay_and_collector)
"""Those of who knows it anyhow."""

_Side = Callable[[World, str], _Epochs]


def _of_each(world: World, left: _Side, right: _Side, later: int = 0) -> list[Pairing]:
    """Return the pairings of each survey with itself, some epochs later on the right."""
    sides = [(left(world, name), right(world, name)) for name in world.names]
    return _pairings(sides, later)


def _of_both(world: World, left: _Side, right: _Side, later: int = 0) -> list[Pairing]:
    """Return those of a survey with the other, both ways."""
    both = list(permutations(world.names, 2))
    return _pairings([(left(world, one), right(world, other)) for one, other in both], later)


def _pairings(sides: Sequence[tuple[_Epochs, _Epochs]], later: int) -> list[Pairing]:
    """Return them in the order of epochs, but for those in which there is nothing to find."""
    first, last = max(0, -later), max(0, later)
    pairs = [zip(left[first:], right[last:], strict=False) for left, right in sides]
    found = [Pairing(*both) for epoch in zip(*pairs, strict=False) for both in epoch]
    return [pairing for pairing in found if pairing.rows and len(pairing.right) > 1]


def _asks(world: World, name: str) -> _Epochs:
    """Return the requests for tokens, by epoch."""
    fetches, schedule = _fetches(world), world.schedule(name)
    moments: dict[int, list[float]] = {}
    epochs: dict[tuple[int, int], Entry] = {}  # the first of each device in an epoch
    for entry in world.issuer:
        moments.setdefault(entry.device, []).append(entry.at)  # the account has signed in
        path = entry.request.split(maxsplit=2)[1].decode()
        if path.split("/")[-2] == name:
            epochs.setdefault((entry.device, int(path.rpartition("/")[2])), entry)
    asks = []
    for (device, epoch), entry in epochs.items():
        following = epochs.get((device, epoch + 1))
        asked = replace(
            _trail(entry, fetches, (len(entry.request), len(entry.answer))),
            key=entry.request.partition(_HEAD)[2][2],
            moments=tuple(moments[device]),
            ends=schedule.epoch_start(epoch + 1),
            after=inf if following is None else following.at,
        )
        asks.append((epoch, asked))
    return _by_epoch(world, asks)


def _reports(world: World, name: str) -> _Epochs:
    """Return the reports as the collector opens them, by epoch."""
    fetches, schedule = _fetches(world), world.schedule(name)
    reports: dict[bytes, tuple[int, Trail]] = {}  # by their keys
    for entry, envelope, signed in _uploads(world, name):
        report, (request, answer) = signed.report, entry.read
        if signed.public_key not in reports:
            trail = _trail(entry, fetches, (len(envelope), len(answer.body)))
            opened = replace(
                trail,
                content=trail.content + request.encode() + answer.encode(),
                key=_key_byte(world.manifests[report.survey_id], report.epoch),
                report_key=signed.public_key,
                ends=schedule.epoch_start(report.epoch + 1),
            )
            reports[signed.public_key] = report.epoch, opened
        else:
            epoch, trail = reports[signed.public_key]
            again = replace(trail, moments=(*trail.moments, entry.at))
            reports[signed.public_key] = epoch, again
    return _by_epoch(world, reports.values())


def _last_sends(world: World, name: str) -> _Epochs:
    """Return the reports as the collector opens them, at the time of their last send."""
    return [
        [replace(trail, at=trail.moments[-1]) for trail in epoch] for epoch in _reports(world, name)
    ]


def _opened(world: World, name: str) -> _Epochs:
    """Return when accounts have the app open, as the app's backend sees it, in each epoch."""
    accounts = [
        Trail(number, sessions[0][0], b"account-%d" % number, (0, 0), moments=moments)
        for number, sessions in enumerate(world.sessions)
        for moments in [tuple(begin for begin, _ in sessions)]
    ]
    return [accounts] * world.setting.epochs


def _kept(world: World, name: str) -> _Epochs:
    """Return the reports as a store has them: no times, nothing of their way."""
    kept = [
        (signed.report.epoch, Trail(entry.device, 0.0, envelope, (len(envelope), 0)))
        for entry, envelope, signed in _uploads(world, name)
    ]
    # By their keys, which are in no order of time.
    return [sorted(trails, key=lambda trail: trail.content) for trails in _by_epoch(world, kept)]


def _sent(world: World, name: str) -> _Epochs:
    """Return the reports as the relay sees them, by epoch."""
    ours = {id(theirs): mine for mine, theirs in zip(world.relay, world.collector, strict=True)}
    sent = []
    for theirs, _, signed in _uploads(world, name):
        mine = ours[id(theirs)]
        padding = 0 if world.setting.leak.padded else _SIZE - len(theirs.read[0].encode())
        trail = _trail(mine, (), (len(mine.request) - padding, len(mine.answer)))
        sent.append((signed.report.epoch, trail))
    return _by_epoch(world, sent)


def _uploads(world: World, name: str) -> Iterator[tuple[Entry, bytes, SignedReport]]:
    """Yield the uploads of a survey's reports."""
    for entry in world.collector:
        if (envelope := _envelope(entry)) is not None:
            signed = SignedReport.from_envelope(envelope)
            if world.manifests[signed.report.survey_id].name == name:
                yield entry, envelope, signed


def _by_epoch(world: World, trails: Iterable[tuple[int, Trail]]) -> _Epochs:
    """Return the first trail of each device in each epoch, in order of time."""
    epochs: list[dict[int, Trail]] = [{} for _ in range(world.setting.epochs)]
    for epoch, trail in trails:
        if epoch < len(epochs):
            epochs[epoch].setdefault(trail.device, trail)
    return [sorted(found.values(), key=lambda trail: trail.at) for found in epochs]


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
