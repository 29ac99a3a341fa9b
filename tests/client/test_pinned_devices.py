"""Devices whose app pins a log: what they keep, which keys they trust, and what else changes."""

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from deniable.client import Client, ManifestFault, OutcomeStatus
from deniable.client.client import engine_of
from deniable.client.explaining.explain import explain_stored
from deniable.client.optional.relay import Keyring
from deniable.counterparts.bodies import pack_logged
from deniable.logs import LogPolicy, LogProof
from deniable.messages import SigningKey
from deniable.messages.bundle import make_bundle
from deniable.messages.gateway import GATEWAY_KEYS_PATH
from tests.support.devices import NAME, Bench, entries_of, fault_of
from tests.support.relays import RELAY, Gateway, Relay
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, START, manifest, rotation
from tests.support.vouched import Vouched
from tests.support.witnessed import ENVELOPE, NOT_WITNESSED, ShownLog, check_refused, pinned, prove

RECORDED = OutcomeStatus.RECORDED
NEXT = SigningKey(bytes([1]) * 32)
FIRST = rotation(AUTHORITY, NEXT)


def test_a_proof_is_kept_across_restarts_and_verified_once_a_process(
    bench: Bench, log: ShownLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Mock(side_effect=LogPolicy.check)
    monkeypatch.setattr(LogPolicy, "check", lambda *arguments: check(*arguments))
    gateway = Gateway(bench.transport)
    keys = gateway.envelope()
    way = {"relay": RELAY, "gateway_keys": pack_logged(keys, log.proof(keys))}
    bench.transport.rotations = [FIRST]
    envelope = bench.transport.publish(MANIFEST, NEXT)
    prove(bench, log, FIRST, envelope)
    for start in range(3):
        client = pinned(bench, log, transport=Relay(gateway), **way)
        if not start:
            client.refresh(force=True)
        gateway.opened.clear()
        for _ in range(2):
            bench.clock.time += DAY
            assert client.report(NAME, "good").status is RECORDED
            client.explain()
        assert gateway.opened == []
        client.close()
    judged = Counter(call.args[1] for call in check.call_args_list)
    assert judged == dict.fromkeys((FIRST, envelope, keys), 3)


def test_an_update_with_a_pin_draws_after_a_proof_alone(bench: Bench, log: ShownLog) -> None:
    before = bench.reported()
    before.close()
    bench.clock.time += DAY
    client = pinned(bench, log)
    assert "a proof from" in check_refused(bench, client)
    assert client.flush().delivered == 1  # what was drawn before is sent
    bench.transport.requests.clear()
    # The pin is a reason to ask anew, at once; and what comes without a proof is as before.
    assert fault_of(client.refresh()) is NOT_WITNESSED
    assert [request.path for request in bench.transport.requests] == [
        f"/v1/surveys/{NAME}/manifests"
    ]
    check_refused(bench, client)
    prove(bench, log, ENVELOPE)
    assert client.refresh(force=True).errors == {}
    assert client.report(NAME, "good").status is RECORDED
    # An app that is taken back goes on, and so does the update after that.
    client.close()
    for again in (bench.client(), pinned(bench, log)):
        bench.clock.time += DAY
        assert again.report(NAME, "good").status is RECORDED
        again.close()


def test_an_update_whose_bundle_has_the_proof_goes_on_offline(bench: Bench, log: ShownLog) -> None:
    bench.reported(lifetime_epsilon="9").close()
    bench.clock.time += DAY
    bench.transport.requests.clear()
    given = [pack_logged(ENVELOPE, log.proof(ENVELOPE))]
    client = pinned(bench, log, manifests=given, lifetime_epsilon="9")
    # Of the eight epochs that are set aside, those ahead are not set aside once more.
    assert client.report(NAME, "good").status is RECORDED
    assert bench.transport.requests == []


def test_a_kept_proof_may_do_for_other_witnesses(bench: Bench, log: ShownLog) -> None:
    prove(bench, log, ENVELOPE, cosigners=(1, 2, 3))
    client = pinned(bench, log)
    client.refresh(force=True)
    client.close()
    bench.transport.requests.clear()
    overlapping = bench.client(log_policy=log.policy(2, (2, 3, 4)))
    assert overlapping.report(NAME, "good").status is RECORDED
    assert bench.transport.requests == []
    overlapping.close()
    bench.clock.time += DAY
    client = bench.client(log_policy=log.policy(2, (0, 4)))
    check_refused(bench, client)
    prove(bench, log, ENVELOPE, cosigners=(0, 4))
    assert client.refresh().errors == {}
    assert client.report(NAME, "good").status is RECORDED


def test_anothers_proof_is_enough_a_rotten_one_is_none(bench: Bench, log: ShownLog) -> None:
    bench.reported().close()
    bench.clock.time += DAY
    client, other = pinned(bench, log), pinned(bench, log)
    check_refused(bench, client)
    prove(bench, log, ENVELOPE)
    assert other.refresh(force=True).errors == {}
    assert client.report(NAME, "good").status is RECORDED
    bench.close()
    bench.clock.time += DAY
    for rotten in ("x'00'", "'text'", "1", "2.5"):
        bench.rows(f"UPDATE manifests SET proof = {rotten}")
        with pinned(bench, log) as client:
            check_refused(bench, client)


def test_nobody_is_asked_to_vouch_for_what_nobody_has_seen(bench: Bench, log: ShownLog) -> None:
    vouched = Vouched(bench, blind=True)
    client = pinned(bench, log, enrol=vouched.issuer)
    client.refresh(force=True)
    assert not vouched.issuer.requests
    prove(bench, log, *bench.transport.envelopes)
    client.refresh(force=True)
    assert len(vouched.issuer.requests) == 1


def test_a_hand_over_that_nobody_has_seen_is_not_followed(bench: Bench, log: ShownLog) -> None:
    successor = bench.transport.publish(manifest(sequence=1), NEXT)
    prove(bench, log, ENVELOPE, successor)
    bench.transport.rotations = [FIRST]
    bench.transport.manifests[NAME] = [ENVELOPE, successor]
    client = pinned(bench, log, lifetime_epsilon="1000")
    refreshed = client.refresh(force=True)
    assert (refreshed.ready, fault_of(refreshed)) == ((NAME,), NOT_WITNESSED)
    for _ in range(2):  # it is noted once
        client.refresh(force=True)
        (noted,) = events(client)
        assert NEXT.public_key.hex() in noted
    assert bench.rows("SELECT count(*) FROM authorities") == [(0,)]
    prove(bench, log, FIRST)
    assert client.refresh(force=True).errors == {}
    assert newest_key(bench, client) == NEXT.public_key
    client.close()
    assert newest_key(bench, pinned(bench, log)) == NEXT.public_key


def test_a_hand_over_from_before_the_pin_needs_a_proof_too(bench: Bench, log: ShownLog) -> None:
    bench.transport.rotations = [FIRST]
    successor = bench.transport.publish(manifest(sequence=1), NEXT)
    bench.reported().close()
    prove(bench, log, successor)
    # Not if the key that it leads to is the one that the app pins now.
    bench.clock.time += DAY
    with pinned(bench, log, authority=NEXT.public_key) as newer:
        assert newer.refresh().errors == {}
        assert newer.report(NAME, "good").status is RECORDED
    bench.clock.time += DAY
    client = pinned(bench, log)
    assert newest_key(bench, client) == AUTHORITY.public_key
    assert not client.report(NAME, "good").ok
    client.refresh(force=True)
    assert newest_key(bench, client) == AUTHORITY.public_key
    assert bench.draw.count == 2
    prove(bench, log, FIRST)
    assert client.refresh(force=True).errors == {}
    assert newest_key(bench, client) == NEXT.public_key
    assert client.report(NAME, "good").status is RECORDED
    # What the sequences were is not forgotten meanwhile, and an app that pins the newer key needs
    # no proof of how it came to it.
    client.close()
    bench.transport.proofs.clear()
    prove(bench, log, ENVELOPE, successor)
    later = pinned(bench, log, authority=NEXT.public_key)
    bench.transport.publish(MANIFEST, NEXT)
    assert fault_of(later.refresh(force=True)) is ManifestFault.ROLLED_BACK


def test_what_was_followed_is_witnessed_under_a_newer_key(bench: Bench, log: ShownLog) -> None:
    bench.reported().close()
    bench.clock.time += DAY
    bench.transport.rotations = [FIRST]
    prove(bench, log, FIRST, bench.transport.publish(MANIFEST, NEXT))
    client = pinned(bench, log)
    assert client.refresh().errors == {}
    assert client.report(NAME, "good").status is RECORDED
    client.close()
    (survey,) = explain_stored(engine_of(client).state, bench.clock.now()).surveys
    assert survey.reports == 2


def test_gateway_keys_that_nobody_has_seen_are_not_sealed_for(bench: Bench, log: ShownLog) -> None:
    gateway = Gateway(bench.transport)
    relayed: dict[str, Any] = {"relay": RELAY, "transport": Relay(gateway)}
    first = gateway.envelope()
    with pytest.raises(ValueError, match="do not satisfy log_policy: a proof from"):
        pinned(bench, log, gateway_keys=first, **relayed)
    proof, of_keys = log.proof(ENVELOPE), log.proof(first)
    bundle = make_bundle(
        [ENVELOPE], AUTHORITY.public_key, first, proofs=[proof], gateway_proof=of_keys
    )
    pinned(bench, log, surveys=[replace(DECLARED, bundle=bundle)], **relayed).close()
    relayed["gateway_keys"] = pack_logged(first, log.proof(first))
    prove(bench, log, ENVELOPE)
    client = pinned(bench, log, **relayed)
    gateway.rotate()
    for _ in range(2):
        client.refresh(force=True)
        assert sealed_for(client) == 1
        assert len(events(client)) == 1
    assert GATEWAY_KEYS_PATH in {request.path for request in gateway.opened}
    assert client.report(NAME, "good").status is RECORDED
    # An app that pinned nothing took them; the pin makes them need a proof.
    with bench.client(**relayed) as before:
        before.refresh(force=True)
        assert sealed_for(before) == 2
    assert sealed_for(client) == 1
    gateway.proof = log.proof(gateway.envelope())
    client.refresh(force=True)
    assert sealed_for(client) == 2
    client.close()
    assert sealed_for(pinned(bench, log, **relayed)) == 2


@pytest.mark.parametrize("relayed", [False, True])
def test_d7_requests_are_the_same_bytes_with_a_pin_and_without(
    bench: Bench, log: ShownLog, monkeypatch: pytest.MonkeyPatch, *, relayed: bool
) -> None:
    gateway = Gateway(bench.transport)
    way = {"relay": RELAY, "transport": Relay(gateway)} if relayed else {}
    keys = gateway.envelope()
    successor = bench.transport.publish(manifest(sequence=1), NEXT)
    bench.transport.rotations = [FIRST]
    prove(bench, log, ENVELOPE, successor, FIRST)
    gateway.proof = log.proof(keys)
    sent: list[list[Any]] = []
    reading = LogProof.parse

    def unread(text: str | bytes) -> LogProof:
        raise AssertionError("who pins nothing reads no proof")

    for policy in (None, log.policy()):
        bench.transport.requests.clear()
        gateway.opened.clear()
        monkeypatch.setattr(LogProof, "parse", unread if policy is None else reading)
        bench.path = bench.path.with_name(f"pinned-{policy is not None}")
        given = {"gateway_keys": pack_logged(keys, gateway.proof), **way} if relayed else {}
        client = bench.client(log_policy=policy, manifests=[ENVELOPE], **given)
        for day in range(3):
            bench.clock.time = START + day * DAY
            client.refresh(force=True)
            assert client.report(NAME, "good").status is RECORDED
            client.flush()
        client.close()
        opened = [(call.path, call.headers, len(call.body)) for call in gateway.opened]
        plain = [
            (call.method, call.path, sorted(call.headers.items()), len(call.body))
            for call in bench.transport.requests
        ]
        # Manifests and gateway keys are asked for at once.
        sent.append(sorted(opened) if relayed else plain)
    assert sent[0] == sent[1]
    assert len(sent[0]) >= 7


def test_d12_no_change_of_the_pin_needs_consent_anew(bench: Bench, log: ShownLog) -> None:
    # What was agreed to, what is asked and of whom and at what cost, holds without any witness.
    agreed = bench.client(consent="unset")
    agreed.set_consent("on")
    for policy in (log.policy(), log.policy(3), log.policy(2, (2, 3, 4)), None):
        updated = bench.client(consent="unset", log_policy=policy)
        assert updated.uncovered == ()
        brief = " ".join(updated.explain().brief().split())
        assert "witness" not in brief
        said = " ".join(str(updated.explain()).split())
        assert ("witnesses have seen in the collector's public log" in said) == (policy is not None)


def events(client: Client) -> list[str]:
    entries = entries_of(client.journal(), "event")
    return [entry.detail for entry in entries if entry.event == "not-witnessed"]


def newest_key(bench: Bench, client: Client) -> bytes:
    return engine_of(client).ledger.following.authorities.known(bench.clock.now())[-1]


def sealed_for(client: Client) -> int:
    engine = engine_of(client)
    assert isinstance(engine._keyring, Keyring)
    return engine._keyring.newest(engine.arguments.settings.clock.now()).key_id
