"""Manifests of a hostile operator or a forger, and undeclared ones."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgpack

from deniable.conformance.hostile_collector import CATEGORIES, DAY, declared
from deniable.conformance.observations import Conviction
from deniable.conformance.stage import Stage, scenario
from deniable.messages import Manifest, Repeat, Schedule, SigningKey, Specification
from deniable.messages.ed25519 import CONTEXT_MANIFEST

HONEST: Final = "honest"
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_STRANGER: Final = SigningKey(b"the seed of a stranger's own key")
_NESTED: Final = 1_000_000

Changes = Callable[[Stage], dict[str, Any]]
OTHERWISE: Final[dict[str, tuple[str, Changes]]] = {
    "d1-question": ("with another question", lambda _: {"question": "Who are you?"}),
    "d1-fewer": ("with one category fewer", lambda _: {"categories": CATEGORIES[:2]}),
    "d1-more": ("with one category more", lambda _: {"categories": (*CATEGORIES, "other")}),
    "d1-order": ("with its categories reversed", lambda _: {"categories": CATEGORIES[::-1]}),
    "d1-word": ("with another category", lambda _: {"categories": (*CATEGORIES[:2], "x")}),
    "d2-origin": ("of another collector", lambda _: {"origin": "https://elsewhere.example"}),
    "d2-epsilon": ("above its ceiling of epsilon", lambda _: {"epsilon": "1.000000000000000001"}),
    "d2-delta": ("above its ceiling of delta", lambda _: {"delta": "0.000000000000000001"}),
    "d2-short": ("with epochs below the floor", lambda s: _lasting(s, DAY - 1)),
    "d2-long": ("whose epochs exceed 400 days", lambda s: _lasting(s, 400 * DAY + 1)),
    "d2-grace": ("whose grace exceeds 90 days", lambda s: _lasting(s, DAY, 90 * DAY + 1)),
    "d2-ended": ("although it had ended", lambda stage: _ended(stage)),
    "d2-kept": (
        "whose kept responses the app does not allow",
        lambda _: {"repeat": Repeat("memoised", 9)},
    ),
}
"""Differences of a manifest from the app's declaration, by a name that begins with its rule."""

Forge = Callable[[Stage, Manifest], tuple[bytes, bytes]]
"""A function that returns a payload and its signature."""


def _lasting(stage: Stage, length: int, grace: int = DAY) -> dict[str, Any]:
    return {"schedule": Schedule(stage.midnight, length, 2, grace)}


def _ended(stage: Stage) -> dict[str, Any]:
    return {"schedule": Schedule(stage.midnight - DAY, DAY, 1, DAY)}


def _sign(stage: Stage, payload: bytes) -> tuple[bytes, bytes]:
    return payload, stage.authority.sign(CONTEXT_MANIFEST, payload)


def _stranger(_: Stage, manifest: Manifest) -> tuple[bytes, bytes]:
    return manifest.payload, _STRANGER.sign(CONTEXT_MANIFEST, manifest.payload)


def _bomb(_: Stage, __: Manifest) -> tuple[bytes, bytes]:
    # Nested as deeply as a manifest may be: decoding it before verification may crash.
    return b"\x91" * _NESTED + b"\xc0", bytes(64)


def _altered(stage: Stage, manifest: Manifest) -> tuple[bytes, bytes]:
    return _changed(manifest, minimum_reports=2), _sign(stage, manifest.payload)[1]


def _larger_s(stage: Stage, manifest: Manifest) -> tuple[bytes, bytes]:
    payload, signature = _sign(stage, manifest.payload)
    larger = int.from_bytes(signature[32:], "little") + _ORDER
    return payload, signature[:32] + larger.to_bytes(32, "little")


def _changed(manifest: Manifest, **fields: object) -> bytes:
    """Return the payload with fields that no valid manifest could have."""
    return _packed({**_fields(manifest), **fields})


def _fields(manifest: Manifest) -> dict[str, Any]:
    fields: dict[str, Any] = msgpack.unpackb(manifest.payload)
    return fields


def _packed(value: object) -> bytes:
    packed = msgpack.packb(value)
    assert isinstance(packed, bytes)
    return packed


def _with(**fields: object) -> Forge:
    return lambda stage, manifest: _sign(stage, _changed(manifest, **fields))


def _rearranged(arrange: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Forge:
    return lambda stage, manifest: _sign(stage, _packed(dict(arrange(_fields(manifest)))))


FORGED: Final[dict[str, tuple[str, Forge]]] = {
    "stranger": ("that a stranger signed", _stranger),
    "altered": ("that was altered after signing", _altered),
    "bomb": ("that nobody signed", _bomb),
    "larger-s": ("whose signature has S + L instead of S", _larger_s),
    "unknown": ("with an unknown key", _with(extra=1)),
    "missing": ("without its last field", _rearranged(lambda f: dict([*f.items()][:-1]))),
    "reordered": ("in another order", _rearranged(lambda f: dict([*f.items()][::-1]))),
    "float": ("with a float instead of an integer", _with(minimum_reports=1.0)),
    "bool": ("with true instead of 1", _with(version=True)),
    "version": ("of another version", _with(version=2)),
    "kind": ("of an unknown kind", _with(mechanism={"kind": "own"})),
    "decimal": ("whose epsilon is an invalid decimal", _with(epsilon="1.0")),
    "longer": ("with extra bytes at the end", lambda s, m: _sign(s, m.payload + b"\xc0")),
}
"""Forgeries by name: bytes that are not a manifest, or not one that the authority signed."""


def serve_signed(stage: Stage, manifest: Manifest, payload: bytes, signature: bytes) -> None:
    """Serve a payload under a manifest's name; reports with its id are read as that manifest's."""
    stage.log.manifests[sha256(payload).digest()] = manifest
    stage.served[manifest.name] = [_packed([payload, signature])]


def judged(
    stage: Stage, names: Mapping[str, tuple[str, str]], **declares: object
) -> Iterator[Conviction]:
    """Report to surveys that must be refused, beside an honest one that must not.

    ``names`` has their names, each with the rule that refuses it and its fault.
    """
    stage.publish(stage.manifest(HONEST))
    stage.open([declared(HONEST), *(declared(name, **declares) for name in names)])
    stage.consent()
    stage.run(300)
    stage.must_report(HONEST)
    outcomes = {name: stage.report(name) for name in names}
    stage.deliver(HONEST)
    stage.run(2 * 3600)
    came = {sent.manifest.name for sent in stage.log.sent()}
    for name, (rule, how) in names.items():
        if outcomes[name] != "not-recorded" or name in came:
            yield Conviction(rule, f"a report was sent for a survey {how}")


@scenario("works", "report", title="an honest survey")
def honest(stage: Stage) -> Iterator[Conviction]:
    """An honest collector gets the one report of each epoch, once."""
    stage.publish(stage.manifest(HONEST))
    stage.begin(HONEST)
    for day in range(3):
        stage.run_until_day(day + 0.4)
        stage.must_report(HONEST)
        stage.deliver(HONEST)
    stage.run(DAY)
    if len(stage.log.sent()) != 3:
        yield Conviction("works", f"3 counted reports were sent {len(stage.log.sent())} times")


@scenario("works", title="a newer manifest, for newer apps, beside an older one")
def several(stage: Stage) -> Iterator[Conviction]:
    """A device uses the newest manifest that matches its declaration."""
    newer = stage.manifest(HONEST, sequence=2, categories=(*CATEGORIES, "hourly"))
    stage.log.never[newer.survey_id] = "D1: whose newer manifest has an undeclared category"
    stage.publish(newer, stage.manifest(HONEST))
    stage.begin(HONEST)
    stage.must_report(HONEST)
    stage.deliver(HONEST)
    yield from ()


@scenario("D1", "D2", title="manifests that differ from the declaration")
def otherwise(stage: Stage) -> Iterator[Conviction]:
    """The authority's own manifests that the app's declaration forbids."""
    names = {}
    for name, (how, changes) in OTHERWISE.items():
        names[name] = name[:2].upper(), how
        stage.publish(stage.manifest(name, **changes(stage)))
    yield from judged(stage, names)


@scenario("D2", title="forged manifests")
def forged(stage: Stage) -> Iterator[Conviction]:
    """Forged bytes: not a manifest, or not one that the authority signed."""
    for name, (_, forge) in FORGED.items():
        manifest = stage.manifest(name)
        serve_signed(stage, manifest, *forge(stage, manifest))
    yield from judged(stage, {name: ("D2", how) for name, (how, _) in FORGED.items()})


@scenario("D2", title="a manifest of another name")
def exchanged(stage: Stage) -> Iterator[Conviction]:
    """The manifest of one survey, offered under the name of another."""
    stage.served["exchanged"] = [stage.sign(stage.manifest(HONEST))]
    yield from judged(stage, {"exchanged": ("D2", "whose manifest has a different name")})


@scenario("D2", title="a simulated survey")
def simulated(stage: Stage) -> Iterator[Conviction]:
    """A survey that the app declares, with a name that only simulated devices answer."""
    name = "simulated-asked"
    stage.publish(stage.manifest(name))
    yield from judged(stage, {name: ("D2", "that only simulated devices may answer")})


@scenario("D2", title="a kind that the app did not declare", needs=("kinds:matrix",))
def undeclared_kind(stage: Stage) -> Iterator[Conviction]:
    """A kind that reveals more about which of two distant answers is true."""
    stage.publish(stage.manifest("matrix", specification=_matrix(2)))
    yield from judged(stage, {"matrix": ("D2", "whose kind the app did not declare")})


@scenario("D2", title="weights beyond the declared epsilon", needs=("kinds:matrix",))
def uncertified(stage: Stage) -> Iterator[Conviction]:
    """A kind with integers of its own, which leak more than the manifest states."""
    leaking = stage.manifest("leaking", epsilon="4", specification=_matrix(18))
    serve_signed(stage, leaking, *_sign(stage, _changed(leaking, epsilon="1")))
    wrong = {"leaking": ("D2", "whose weights exceed its declared epsilon")}
    yield from judged(stage, wrong, mechanisms=["matrix"])


def _matrix(odds: int) -> Specification:
    lie, places = (1 << 64) // (odds + 2), range(len(CATEGORIES))
    weights = tuple(tuple((1 << 64) - 2 * lie if x == y else lie for y in places) for x in places)
    return Specification("matrix", {"weights": weights, "responses": ()})


@scenario("D2", title="an older manifest, and another with the same sequence", needs=("fetches",))
def rolled_back(stage: Stage) -> Iterator[Conviction]:
    """After the end of the current manifest, an older one, and another with its sequence."""
    followed = {"sequence": 5, "schedule": Schedule(stage.midnight, DAY, 2, DAY)}
    others = [stage.manifest("older", sequence=4), stage.manifest("beside", sequence=5)]
    for other in others:
        stage.publish(stage.manifest(other.name, **followed))
        stage.log.never[other.survey_id] = (
            f"D2: with sequence number {other.sequence}, after one with sequence number 5"
        )
    stage.begin(*(other.name for other in others))
    for other in others:
        stage.must_report(other.name)
        stage.publish(other)
    for day in (1.4, 3.4):
        stage.run_until_day(day)
        for other in others:
            stage.report(other.name)
    stage.run(2 * 3600)
    yield from ()
