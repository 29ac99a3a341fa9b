"""Devices, issuer, relay and collector in virtual time: what each party could write down.

The devices are real clients, the issuer and the collector real servers, and what passes between
them are the bytes of real requests. Only time, sockets and threads are not: one clock serves all,
and the rounds of the devices' threads are called in order of time.
"""

import asyncio
import heapq
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cache
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

from deniable.client import Client, ClientSettings, EnrolmentRequest, Survey
from deniable.client.client import engine_of
from deniable.client.optional import credentials
from deniable.client.state import state_file
from deniable.counterparts.signing import sign_manifest
from deniable.directory.gateway_file import GatewayFile, first_gateway
from deniable.enrolment.epoch_keys import create_epoch_keys
from deniable.messages import Enrolment, Manifest, Schedule
from tests.support.clock import FakeClock
from tests.support.devices import connect_carelessly
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START
from tests.unlinkability.active import HONEST, UNANSWERED, Active
from tests.unlinkability.leaks import NONE, Leak
from tests.unlinkability.logs import Log
from tests.unlinkability.network import Network
from tests.unlinkability.parties import Party, Relay, opened_by
from tests.unlinkability.people import EPOCH_SECONDS, People, Sessions, independent
from tests.unlinkability.servers import ISSUER, serve_collector, serve_issuer

RELAY: Final = "http://127.0.0.1:8378"

_SMALLEST: Final = 0.001
_ANSWERS_EVERY: Final = 6 * 3600.0  # seconds, of an app that runs on


@dataclass(frozen=True)
class Setting:
    """What a world is made of."""

    accounts: int
    epochs: int
    people: People = independent()  # noqa: RUF009 - a function
    leak: Leak = NONE
    categories: int = 4
    seed: int = 0
    second: float | None = None  # a second survey, whose epochs begin so many seconds later
    active: Active = HONEST


@dataclass(frozen=True)
class World:
    """What was written down, by whom."""

    setting: Setting
    manifests: dict[bytes, Manifest]  # by their ids
    issuer: Log
    relay: Log
    collector: Log
    reached: frozenset[object]  # to which addresses and ports devices have connected
    sessions: Sequence[Sessions]  # of each device: what the app's backend can write down

    def schedule(self, name: str) -> Schedule:
        """Return the schedule of a survey."""
        return next(each.schedule for each in self.manifests.values() if each.name == name)

    @property
    def names(self) -> list[str]:
        """Return the surveys' names."""
        return sorted({manifest.name for manifest in self.manifests.values()})


def live(setting: Setting, folder: Path) -> World:
    """Return what the parties have written down when all is over."""
    folder.mkdir(exist_ok=True)
    chance = Random(setting.seed)
    clock, network = FakeClock(START), Network()
    keys = [folder / f"issuer-{name}" for name in _offsets(setting)]
    surveys = [
        _manifest(setting, *named, create_epoch_keys(place, setting.epochs + 1).moduli)
        for named, place in zip(_offsets(setting).items(), keys, strict=True)
    ]
    shown = [
        [setting.leak.manifest(number, manifest) for manifest in surveys]
        for number in range(setting.accounts)
    ]
    manifests = {manifest.survey_id: manifest for each in shown for manifest in each}
    gateway = first_gateway(ORIGIN, AUTHORITY, START)
    loop = asyncio.new_event_loop()
    with ExitStack() as stack:
        stack.callback(loop.close)
        for target, value in (
            ("deniable.client.engine.uniform", chance.random),
            (f"{credentials.__name__}._draws", _seeded_draws(chance)),
            (f"{state_file.__name__}._connect", connect_carelessly),
            ("os.fsync", lambda _descriptor: None),  # nobody pulls the plug here
            ("threading.Thread.start", _start),
            (
                "aiohttp.web_response.rfc822_formatted_time",
                lambda: formatdate(clock(), usegmt=True),
            ),
        ):
            stack.enter_context(mock.patch(target, value))
        stack.enter_context(network.laid())
        serving = serve_issuer(folder, keys, manifests.values(), clock)
        server = stack.enter_context(_served(loop, serving))
        issuer = Party(loop, server, clock, setting.active.issuer())
        serving = serve_collector(folder, surveys, gateway, clock)
        server = stack.enter_context(_served(loop, serving))
        opening = gateway.private_keys()
        collector = Party(
            loop, server, clock, setting.active.collector(opening), opened_by(opening)
        )
        relay = Relay(collector, clock)
        devices = [
            _Device(number, shown[number], setting.leak, folder, clock, gateway, issuer)
            for number in range(setting.accounts)
        ]
        sessions = [setting.people(chance, setting.epochs) for _ in devices]
        lives = [device.live(those) for device, those in zip(devices, sessions, strict=True)]
        queue = [(next(life), number) for number, life in enumerate(lives)]
        heapq.heapify(queue)
        while queue:
            clock.time, number = queue[0]
            network.host = devices[number].through(relay)
            if (then := next(lives[number], None)) is None:
                heapq.heappop(queue)
            else:
                heapq.heapreplace(queue, (then, number))
    reached = frozenset(network.reached)
    return World(setting, manifests, issuer.log, relay.log, collector.log, reached, sessions)


def _offsets(setting: Setting) -> dict[str, float]:
    """Return when the epochs of each survey begin, by its name: seconds after the first ones."""
    return {MANIFEST.name: 0.0} | ({} if setting.second is None else {"second": setting.second})


def _manifest(setting: Setting, name: str, later: float, keys: tuple[bytes, ...]) -> Manifest:
    return replace(
        MANIFEST,
        name=name,
        categories=tuple(f"answer {number}" for number in range(setting.categories)),
        # One epoch more, so that the survey runs as long as anybody lives.
        schedule=Schedule(START + int(later), EPOCH_SECONDS, setting.epochs + 1, EPOCH_SECONDS),
        enrolment=Enrolment("blind", issuer=ISSUER, keys=keys),
    )


def _seeded_draws(chance: Random) -> Callable[..., tuple[float, float]]:
    """Return the devices' draws of times, from seeded secrets and of surveys without keys."""
    draws = credentials._draws
    seeded = cache(lambda _secret: chance.randbytes(32))

    def drawn(secret: bytes, context: bytes, manifest: Manifest, epoch: int) -> tuple[float, float]:
        keyless = replace(manifest, enrolment=Enrolment("open"))
        return draws(seeded(secret), context, keyless, epoch)

    return drawn


@contextmanager
def _served(
    loop: asyncio.AbstractEventLoop, serving: AbstractAsyncContextManager[Any]
) -> Iterator[Any]:
    yield loop.run_until_complete(serving.__aenter__())
    loop.run_until_complete(serving.__aexit__(None, None, None))


class _Device:
    """One account's device, and the app on it."""

    def __init__(
        self,
        number: int,
        manifests: Sequence[Manifest],
        leak: Leak,
        folder: Path,
        clock: FakeClock,
        gateway: GatewayFile,
        issuer: Party,
    ) -> None:
        self._number = number
        self._address = f"10.0.{number // 256}.{number % 256}"
        self._state = folder / f"device-{number}" / "state.sqlite"
        self._state.parent.mkdir()
        self._clock = clock
        self._gateway = gateway
        self._issuer = issuer
        self._manifests = manifests
        self._headers = leak.headers(number)
        self._answer = Random(number).choice(manifests[0].categories)

    def through(self, relay: Relay) -> Callable[[bytes], bytes]:
        """Return who answers the requests that this device sends now."""
        return lambda request: relay.exchange(self._number, self._address, request)

    def live(self, sessions: Sessions) -> Iterator[float]:
        """Live through sessions; yield when to go on."""
        for begin, end in sessions:
            yield begin
            client = self._start()
            engine = engine_of(client)
            wake = engine.uploader._wake
            answered = -inf
            while True:
                if self._clock.time >= answered + _ANSWERS_EVERY:
                    self._report(client)
                    answered = self._clock.time
                wake.clear()
                nap = engine.uploader.step()
                woken = not wake._calls.empty()
                when = self._clock.time + (_SMALLEST if woken else max(nap, _SMALLEST))
                if when >= end:
                    break
                yield when
            yield end - _SMALLEST
            self._report(client)
            engine.launch.note()
            client.close()

    def _report(self, client: Client) -> None:
        for manifest in self._manifests:
            client.report(manifest.name, self._answer)

    def _start(self) -> Client:
        surveys = [
            Survey(manifest.name, manifest.question, manifest.categories, max_epsilon="1")
            for manifest in self._manifests
        ]
        client = Client(
            ORIGIN,
            authority=AUTHORITY.public_key,
            surveys=surveys,
            state=self._state,
            consent="on",
            lifetime_epsilon="100",
            enrol=self._enrol,
            relay=RELAY,
            gateway_keys=self._gateway.signed,
            settings=ClientSettings(
                first_epoch="now",
                manifests=[sign_manifest(manifest, AUTHORITY) for manifest in self._manifests],
                clock=self._clock,
            ),
        )
        uploader = engine_of(client).uploader
        uploader.start = lambda: None  # type: ignore[method-assign]
        if self._headers:
            uploader._transport = _WithHeaders(uploader._transport, self._headers)
        return client

    def _enrol(self, request: EnrolmentRequest) -> bytes | None:
        """Ask as the app does, which is signed in."""
        headers = {
            "Host": ISSUER,
            "Authorization": f"account-{self._number}",
            **request.headers,
            **self._headers,
            "Content-Length": str(len(request.body)),
            "Connection": "close",
        }
        lines = [f"POST {request.path} HTTP/1.1", *map(": ".join, headers.items())]
        head = "".join(f"{line}\r\n" for line in lines) + "\r\n"
        answer = self._issuer.exchange(self._number, self._address, head.encode() + request.body)
        if answer == UNANSWERED:
            raise TimeoutError
        status, body = answer.split(maxsplit=2)[1], answer.partition(b"\r\n\r\n")[2]
        return request.read_answer(body) if status == b"200" else None


class _WithHeaders:
    """A transport that adds headers."""

    def __init__(self, transport: Any, headers: Any) -> None:
        self._transport = transport
        self._headers = headers

    def request(self, method: str, path: str, headers: Any, *rest: Any, **named: Any) -> Any:
        headers = {**headers, **self._headers}
        return self._transport.request(method, path, headers, *rest, **named)


_real_start: Final = threading.Thread.start


def _start(thread: threading.Thread) -> None:
    """Let a thread of a device end at once: no time passes meanwhile."""
    _real_start(thread)
    if thread.name.startswith("deniable"):
        thread.join()
