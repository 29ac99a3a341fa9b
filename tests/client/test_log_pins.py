"""The proofs that a pinned log asks for: enough of the pinned witnesses have seen it (D2)."""

import random
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest

from deniable.client import Client, ManifestFault, OutcomeStatus
from deniable.client.optional.pins import LogPin
from deniable.counterparts.bodies import pack_logged
from deniable.counterparts.signing import sign_manifest
from deniable.messages.bundle import make_bundle
from tests.support.devices import NAME, Bench, entries_of, fault_of
from tests.support.effort import some
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, ORIGIN, START, manifest
from tests.support.witnessed import (
    ENVELOPE,
    NOT_WITNESSED,
    WITNESSES,
    ShownLog,
    check_refused,
    pinned,
    policy_text,
    prove,
)

RECORDED = OutcomeStatus.RECORDED


def test_a_policy_of_no_log_of_this_collector_is_refused(bench: Bench, log: ShownLog) -> None:
    keys, key = dict(enumerate(log.witnesses[:3])), log.log_key
    twice = {0: log.witnesses[0], 1: log.witnesses[0], 2: log.witnesses[2]}
    log_too = {0: log.witnesses[0], 1: log.witnesses[1], 2: log.key}
    four = dict(enumerate(log.witnesses[:4]))
    for text, reason in (
        ("", "must be the policy of a log"),
        (log.policy(1), "more than half"),  # one of three
        (policy_text(key, four, 2), "more than half"),
        (policy_text(key, twice, 2), "the same key"),
        (policy_text(key, log_too, 2), "the same key"),
        (log.policy().replace("quorum all", "quorum none"), "a quorum is required"),
        (ShownLog("elsewhere.example/log").policy(), "must name the log 127.0.0.1:8377/log, not"),
        (f"log {ShownLog('elsewhere.example/log', 7).log_key}\n{log.policy()}", "not elsewhere"),
        (policy_text(key, keys, 2)[:-2], "policy"),
    ):
        with pytest.raises(ValueError, match=reason) as caught:
            bench.client(log_policy=text)
        assert "deniable log policy" in str(caught.value)
    for given in (log.policy().encode(), bench.path, 3):
        with pytest.raises(TypeError, match="log_policy must be the policy's text"):
            bench.client(log_policy=given)


INSUFFICIENT: Final[dict[str, Callable[[ShownLog], bytes]]] = {
    "none": lambda _: b"",
    "garbage": lambda _: b"\xff\x00",
    "a text": lambda _: b"c2sp.org/tlog-proof@v1\nindex 0\n\n",
    "one cosignature": lambda log: log.proof(ENVELOPE, (0,)),
    "unpinned witnesses": lambda log: log.proof(ENVELOPE, (0, 3, 4)),
    "of another entry": lambda log: log.proof(sign_manifest(manifest(sequence=9), AUTHORITY)),
}


def manifests(client: Client) -> list[SimpleNamespace]:
    return entries_of(client.journal(), "manifest")


@pytest.mark.parametrize("how", ["fetched", "passed", "bundled"])
@pytest.mark.parametrize("what", some([*INSUFFICIENT]))
def test_d2_what_is_unseen_is_unanswered(bench: Bench, log: ShownLog, what: str, how: str) -> None:
    proof = INSUFFICIENT[what](log)
    if how == "fetched":
        bench.transport.proofs[ENVELOPE] = proof
        client = pinned(bench, log)
        assert fault_of(client.refresh(force=True)) is NOT_WITNESSED
    else:
        bench.transport.manifests.clear()
        given: dict[str, Any] = {"manifests": [pack_logged(ENVELOPE, proof)]}
        if how == "bundled":
            bundle = make_bundle([ENVELOPE], AUTHORITY.public_key, proofs=[proof])
            given = {"surveys": [replace(DECLARED, bundle=bundle)]}
        client = pinned(bench, log, **given)
    check_refused(bench, client)
    (entry,) = manifests(client)
    assert (entry.role, entry.reason.partition(":")[0]) == ("refused", "not-witnessed")
    shown = " ".join(str(client.explain()).split())
    assert "This survey waits until independent witnesses have seen it" in shown
    assert "not-witnessed" not in shown
    # An app that pins no log looks at no proof; and for this one, what is shown later is enough.
    unpinned = bench.client(state=bench.path.with_name("unpinned"), manifests=[ENVELOPE])
    assert unpinned.report(NAME, "good").status is RECORDED
    prove(bench, log, ENVELOPE)
    bench.transport.publish(MANIFEST)
    refreshed = client.refresh(force=True)
    assert (refreshed.ready, refreshed.errors, refreshed.declined) == ((NAME,), {}, {})
    assert client.report(NAME, "good").status is RECORDED


def test_d2_a_verdict_is_how_many_pinned_witnesses_cosigned_at_any_time(log: ShownLog) -> None:
    # Nobody looks at the times: a device's clock may be wrong, and what is in a log stays there.
    draws = random.Random(1)
    for _ in range(100):
        known = draws.sample(range(WITNESSES), draws.randint(1, WITNESSES))
        quorum = draws.randint(len(known) // 2 + 1, len(known))
        cosigners = draws.sample(range(WITNESSES), draws.randint(0, WITNESSES))
        pin = LogPin.of(log.policy(quorum, known), ORIGIN)
        at = draws.choice((1, START - 9_000 * DAY, 2**62, draws.randrange(1, 2**40)))
        enough = len(set(cosigners) & set(known)) >= quorum
        assert (not pin.why_not(ENVELOPE, log.proof(ENVELOPE, cosigners, at))) == enough


def test_d2_two_of_a_sequence_are_proof_witnessed_or_not(bench: Bench, log: ShownLog) -> None:
    twin = manifest(nonce=b"another nonce 16")
    prove(bench, log, ENVELOPE)
    for first, second in ((MANIFEST, twin), (twin, MANIFEST)):
        bench.path = bench.path.with_name(f"first-{first.nonce.hex()}")
        client = pinned(bench, log)
        bench.transport.publish(first)
        client.refresh(force=True)
        bench.transport.publish(second)
        assert fault_of(client.refresh(force=True)) is ManifestFault.EQUIVOCATION
        assert sum(entry.contradicted is not None for entry in manifests(client)) == 1
        assert client.report(NAME, "good").ok == (first is MANIFEST)


def test_a_proof_that_was_enough_for_one_survey_is_not_for_another(log: ShownLog) -> None:
    pin, proof = LogPin.of(log.policy(), ORIGIN), log.proof(ENVELOPE)
    other = sign_manifest(manifest(sequence=1), AUTHORITY)
    for _ in range(2):
        assert not pin.why_not(ENVELOPE, proof)
        assert "does not lead" in pin.why_not(other, proof)


def test_d2_no_two_histories_are_believed_unless_too_many_lie(bench: Bench, log: ShownLog) -> None:
    """k > (n + f) / 2: of three with one dishonest, two are too few and three are enough."""
    fork = ShownLog()
    mine, theirs = (sign_manifest(manifest(nonce=bytes([n]) * 16), AUTHORITY) for n in (1, 2))
    proofs = log.proof(mine, (0, 1)), fork.proof(theirs, (1, 2))  # 1 cosigns whatever comes
    for quorum, deceived in ((2, True), (3, False)):
        pin = LogPin.of(log.policy(quorum), ORIGIN)
        verdicts = [pin.why_not(mine, proofs[0]), pin.why_not(theirs, proofs[1])]
        assert (verdicts == ["", ""]) is deceived
