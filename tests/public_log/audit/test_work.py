"""The work of an audit, in calls: it grows as the log does or is refused, whoever wrote it."""

import sys
from collections.abc import Callable, Sequence

import pytest

from deniable.counterparts.signing import sign_gateway_keys, sign_rotation
from deniable.messages import GatewayKeys, Rotation, SigningKey
from deniable.oblivious_http import KeyConfiguration
from deniable.public_log.audit import entries, history_checks
from deniable.public_log.audit.entries import History
from deniable.public_log.audit.history_checks import crowd_findings, history_findings
from deniable.publishing import blind_keys
from deniable.reading import NotReached
from tests.public_log.audit.served import LOG_VKEY, TRUST, signed
from tests.public_log.audit.test_crowds import blind, moduli
from tests.support.surveys import AUTHORITY

KEYS = [SigningKey(number.to_bytes(32)) for number in range(1, 9)]
TO_EACH = [
    sign_rotation(Rotation(old.public_key, new.public_key, number), old, new)
    for number, (old, new) in enumerate(zip([AUTHORITY, *KEYS[:-1]], KEYS, strict=True))
]


def calls_of(work: Callable[[], object]) -> int:
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def manifests(number: int) -> list[bytes]:
    return [signed(sequence=sequence) for sequence in range(number)]


def gateways(number: int) -> list[bytes]:
    listed = (KeyConfiguration(1, bytes(32)),)
    return [
        sign_gateway_keys(GatewayKeys("https://collector.example", at, listed), AUTHORITY)
        for at in range(number)
    ]


def hand_overs(number: int) -> list[bytes]:
    to = [SigningKey(at.to_bytes(32, "little")) for at in range(1, number + 1)]
    handed = [(Rotation(AUTHORITY.public_key, key.public_key, 1), key) for key in to]
    return [sign_rotation(rotation, AUTHORITY, key) for rotation, key in handed]


@pytest.mark.parametrize("logged", [manifests, gateways, hand_overs])
def test_work_grows_as_the_log_does(logged: Callable[[int], Sequence[bytes]]) -> None:
    def calls(number: int) -> int:
        envelopes = logged(number)

        def work() -> None:
            history = History.read(envelopes, AUTHORITY.public_key)
            for now in (0.0, 1e10):
                [*crowd_findings(history, TRUST, now), *history_findings(history, LOG_VKEY.name)]

        work()  # what is made once is made
        return calls_of(work)

    assert calls(100) < 2.2 * calls(50)


def test_of_many_keys_of_the_authority_the_last_signer_is_tried_first_and_a_bound_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entries, "_MOST_CHECKS", 60)
    by_former = [signed(sequence=sequence, by=KEYS[0]) for sequence in range(44)]
    history = History.read([*TO_EACH, *by_former], AUTHORITY.public_key)
    assert history.entries[-1].signer == KEYS[0].public_key
    of_strangers = [signed(sequence=at, by=SigningKey(bytes(32))) for at in range(4)]
    with pytest.raises(NotReached, match="more than 60 signature checks"):
        History.read([*TO_EACH, *of_strangers], AUTHORITY.public_key)


def test_common_factors_are_searched_for_among_the_first_issuer_keys_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def gcd(a: int, b: int) -> int:
        nonlocal compared
        compared += 1
        return 1

    monkeypatch.setattr(history_checks, "_MOST_COMPARED", 2)
    monkeypatch.setattr(blind_keys, "gcd", gcd)
    logged = [blind(key, name=f"of-{at}") for at, key in enumerate(moduli(4))]
    history = History.read(logged, AUTHORITY.public_key)
    (note,) = crowd_findings(history, TRUST, 0)
    assert (note.code, compared) == ("uncompared", 2)
    assert note.text.startswith("2 keys")
