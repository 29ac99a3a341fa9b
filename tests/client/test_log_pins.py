"""The proofs that a pinned log asks for: enough of the pinned witnesses have seen it (D2)."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from deniable.client import Client, ManifestEntry, ManifestFault, OutcomeStatus
from deniable.client.optional.pins import LogPin
from deniable.logs import leaf_hash, sign_checkpoint
from deniable.messages import pack_logged, sign_manifest
from deniable.messages.bundle import make_bundle
from deniable.public_log.publish.witnesses import consistency_path
from tests.support.devices import NAME, Bench, fault_of
from tests.support.effort import THOROUGH, some
from tests.support.fake_witness import FakeWitness, Refused
from tests.support.surveys import AUTHORITY, DAY, DECLARED, MANIFEST, ORIGIN, START, manifest
from tests.support.witnessed import (
    ENVELOPE,
    NOT_WITNESSED,
    WITNESSES,
    ShownLog,
    check_refused,
    name_of,
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
        ("", "no policy of a log"),
        (log.policy(1), "more than half"),  # one of three
        (policy_text(key, four, 2), "more than half"),
        (policy_text(key, twice, 2), "one key"),
        (policy_text(key, log_too, 2), "one key"),
        (log.policy().replace("quorum all", "quorum none"), "without witnesses"),
        (ShownLog("elsewhere.example/log").policy(), "must name the log 127.0.0.1:8377/log, not"),
        (f"log {ShownLog('elsewhere.example/log', 7).log_key}\n{log.policy()}", "not elsewhere"),
        (policy_text(key, keys, 2)[:-2], "policy"),
    ):
        with pytest.raises(ValueError, match=reason) as caught:
            bench.client(log_policy=text)
        assert "deniable log policy" in str(caught.value)
    for given in (log.policy().encode(), bench.path, 3):
        with pytest.raises(TypeError, match="log_policy must be a text"):
            bench.client(log_policy=given)


INSUFFICIENT: Final[dict[str, Callable[[ShownLog], bytes]]] = {
    "none": lambda _: b"",
    "garbage": lambda _: b"\xff\x00",
    "a text": lambda _: b"c2sp.org/tlog-proof@v1\nindex 0\n\n",
    "one cosignature": lambda log: log.proof(ENVELOPE, (0,)),
    "unpinned witnesses": lambda log: log.proof(ENVELOPE, (0, 3, 4)),
    "of another entry": lambda log: log.proof(sign_manifest(manifest(sequence=9), AUTHORITY)),
}


def manifests(client: Client) -> list[ManifestEntry]:
    return [entry for entry in client.journal().entries if isinstance(entry, ManifestEntry)]


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
    shown = " ".join(client.explain().brief().split())
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


class Operator:
    """An operator who would show two devices two histories, and three honest witnesses."""

    def __init__(self, draws: random.Random) -> None:
        self.draws = draws
        self.histories = [ShownLog(), ShownLog()]  # one log by its key, of two minds
        first = self.histories[0]
        self.witnesses = [
            FakeWitness(name_of(number), first.log_key, key=first.witnesses[number], now=START)
            for number in range(3)
        ]
        self.proofs: list[list[tuple[bytes, bytes]]] = [[], []]  # of entries of one history alone

    def act(self) -> None:
        """Publish in one history, and ask witnesses for all that may bring a cosignature."""
        which = self.draws.randrange(2)
        log = self.histories[which]
        entry = sign_manifest(manifest(nonce=self.draws.randbytes(16)), AUTHORITY)
        if self.draws.random() < 0.3:
            for both in self.histories:
                both.append(entry)
        else:
            log.append(entry)
        lines: list[str] = []
        for number in self.draws.sample(range(3), self.draws.randint(1, 3)):
            lines += self.ask(self.witnesses[number], log)
        signed = sign_checkpoint(log.checkpoint(), log.key).with_signatures(lines)
        other = self.histories[1 - which].leaves
        if leaf_hash(entry) not in other:
            self.proofs[which].append((entry, log.proof_under(entry, signed)))

    def ask(self, witness: FakeWitness, log: ShownLog) -> list[str]:
        newest = witness.newest.get(log.origin)
        old = newest.checkpoint.size if newest else 0
        if old > len(log.leaves):
            return []
        signed = sign_checkpoint(log.checkpoint(), log.key)
        try:
            return [witness.cosign(old, consistency_path(log.leaves, old), signed)]
        except Refused:
            return []


def test_d2_two_devices_with_one_pin_are_never_shown_two_histories() -> None:
    draws, shown = random.Random(2), 0
    for _ in range(60 if THOROUGH else 30):
        operator = Operator(draws)
        for _ in range(12):
            operator.act()
        log = operator.histories[0]
        pin = LogPin.of(log.policy(), ORIGIN)
        taken = [
            [entry for entry, proof in proofs if not pin.why_not(entry, proof)]
            for proofs in operator.proofs
        ]
        assert not (taken[0] and taken[1])
        shown += bool(taken[0] or taken[1])
    assert shown > (20 if THOROUGH else 10)
