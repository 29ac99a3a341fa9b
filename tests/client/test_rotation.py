"""The authority's key is rotated: devices follow from the key that the app pins, and for good."""

import json
from operator import attrgetter
from types import SimpleNamespace

import pytest

from deniable.client import (
    HttpAnswer,
    ManifestFault,
    NotReady,
    OutcomeStatus,
    Refresh,
    TransportError,
)
from deniable.client.client import Client, engine_of
from deniable.client.console import as_json
from deniable.counterparts.bodies import pack_rotations
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Manifest, SigningKey
from tests.support.devices import (
    NAME,
    PORTAL,
    UNREACHABLE,
    Bench,
    FakeTransport,
    entries_of,
    fault_of,
    why,
)
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, START, manifest, rotation

NEXT, LAST, THIEF = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))
LONG_LIFE = {"lifetime_epsilon": "1000"}


FIRST, SECOND = rotation(AUTHORITY, NEXT), rotation(NEXT, LAST, 2)


def newest(bench: Bench, client: Client) -> bytes:
    return engine_of(client).ledger.following.authorities.known(bench.clock.now())[-1]


def seen(client: Client) -> list[SimpleNamespace]:
    return entries_of(client.journal(), "rotation")


def offer(
    bench: Bench, client: Client, offered: Manifest, signer: SigningKey
) -> ManifestFault | None:
    """Let the collector publish a manifest; return what the client says of it."""
    bench.transport.publish(offered, signer)
    return fault_of(client.refresh(force=True))


def asked(bench: Bench) -> list[tuple[str, str | None]]:
    """Return what was fetched, and what each request told; forget it."""
    requests, bench.transport.requests = bench.transport.requests, []
    return [(request.path, request.headers.get("If-None-Match")) for request in requests]


def rotated(bench: Bench, **changes: object) -> Client:
    """Return a client that has followed FIRST, and holds MANIFEST of sequence 0 since before."""
    client = bench.ready(**LONG_LIFE, **changes)
    bench.transport.rotations = [FIRST]
    bench.transport.publish(manifest(sequence=1), NEXT)
    assert client.refresh(force=True) == Refresh((NAME,), {})
    return client


def test_rotations_are_asked_for_only_when_a_signature_is_not_known(bench: Bench) -> None:
    client = bench.ready()
    client.refresh(force=True)
    path = f"/v1/surveys/{NAME}/manifests"
    assert [what for what, _ in asked(bench)] == [path, path]
    bench.transport.rotations = [FIRST]
    bench.transport.publish(MANIFEST, NEXT)
    client.refresh(force=True)
    assert asked(bench) == [(path, None), ("/v1/authority", None)]
    client.refresh(force=True)
    assert asked(bench) == [(path, None)]
    assert offer(bench, client, manifest(sequence=3), THIEF) is ManifestFault.BAD_SIGNATURE
    assert asked(bench) == [(path, None), ("/v1/authority", None)]


def test_d2_what_an_earlier_key_signed_stays_valid_and_nothing_new_is(bench: Bench) -> None:
    client = bench.reported(**LONG_LIFE)
    bench.transport.rotations = [FIRST]
    assert offer(bench, client, MANIFEST, NEXT) is None
    bench.clock.time += DAY
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED
    bench.transport.publish(MANIFEST, AUTHORITY)  # a collector that did not sign it anew
    assert client.refresh(force=True) == Refresh((NAME,), {})
    assert offer(bench, client, manifest(sequence=1), AUTHORITY) is ManifestFault.BAD_SIGNATURE


def test_d2_a_rotation_resets_no_memory_of_sequences_and_no_thief_can(bench: Bench) -> None:
    bench.transport.publish(manifest(sequence=5))
    client = bench.ready(**LONG_LIFE)
    bench.transport.rotations = [FIRST]
    for sequence, signer, found in (
        (4, NEXT, ManifestFault.ROLLED_BACK),
        (5, NEXT, ManifestFault.EQUIVOCATION),
        (6, NEXT, None),
        (2**32 - 1, AUTHORITY, ManifestFault.BAD_SIGNATURE),
        (7, NEXT, None),
    ):
        twin = manifest(sequence=sequence, nonce=b"another nonce 16")
        assert offer(bench, client, twin, signer) is found


def test_what_was_followed_is_listed_with_the_time_at_which_it_was_seen(bench: Bench) -> None:
    client = rotated(bench)
    bench.clock.time = START + 3 * DAY
    bench.transport.rotations = [FIRST, SECOND]
    assert offer(bench, client, manifest(sequence=2), LAST) is None
    assert client.report(NAME, "good").ok
    keys = [key.public_key.hex() for key in (AUTHORITY, NEXT, LAST)]
    entries = [
        (START, keys[0], keys[1], 1, "followed", FIRST),
        (START + 3 * DAY, keys[1], keys[2], 2, "followed", SECOND),
    ]
    rotations = attrgetter("at", "old_key", "new_key", "sequence", "role", "content")
    assert [*map(rotations, seen(client))] == entries
    journal = client.journal()
    shown = str(journal)
    assert keys[2] in shown
    assert "sequence 2: followed" in shown
    assert "fork" not in shown
    listed = json.loads(as_json(journal))["entries"]
    contents = [e["facts"]["content"] for e in listed if e["kind"] == "rotation"]
    assert contents == [FIRST.hex(), SECOND.hex()]
    signers = {entry.authority for entry in entries_of(journal, "manifest")}
    assert signers == set(keys[1:])  # of those without reports the one replaced last is kept


@pytest.mark.parametrize("sequence", [1, 2, 7])
def test_d2_a_second_hand_over_of_a_key_is_kept_as_a_proof(bench: Bench, sequence: int) -> None:
    client = rotated(bench)
    forking = rotation(AUTHORITY, THIEF, sequence)
    for published in ([FIRST, forking], [forking]):
        bench.transport.rotations = published
        assert offer(bench, client, manifest(sequence=2), THIEF) is ManifestFault.BAD_SIGNATURE
        assert newest(bench, client) == NEXT.public_key
        assert [each.content for each in seen(client) if each.role == "forking"] == [forking]
        assert forking.hex()[:64] in str(client.journal())
    bench.transport.publish(manifest(sequence=2), NEXT)
    assert client.refresh(force=True).errors == {}


def test_d2_of_a_key_that_forked_before_it_was_left_no_hand_over_is_followed(bench: Bench) -> None:
    client = bench.ready()
    bench.transport.publish(manifest(sequence=1), NEXT)
    forking = rotation(AUTHORITY, THIEF)
    for published in ([FIRST, forking], [FIRST], [forking]):
        bench.transport.rotations = published
        assert fault_of(client.refresh(force=True)) is ManifestFault.BAD_SIGNATURE
        assert newest(bench, client) == AUTHORITY.public_key
        assert {(each.content, each.role) for each in seen(client)} == {
            (FIRST, "forking"),
            (forking, "forking"),
        }


def test_proofs_of_forks_do_not_fill_the_disk(bench: Bench) -> None:
    client = rotated(bench)
    bench.transport.publish(manifest(sequence=2), THIEF)
    for sequence in range(2, 12):
        bench.transport.rotations = [rotation(AUTHORITY, THIEF, sequence)]
        client.refresh(force=True)
        bench.clock.time += DAY / 2
    assert len(seen(client)) == 1 + 4


class WithoutAuthority(FakeTransport):
    """Answers whoever asks for rotations in another way."""

    answer_to_authority: HttpAnswer | TransportError = HttpAnswer(404, {}, b"")

    def _manifest(self, path: str) -> HttpAnswer:
        if path != "/v1/authority":
            return super()._manifest(path)
        if isinstance(self.answer_to_authority, TransportError):
            raise self.answer_to_authority
        return self.answer_to_authority


@pytest.mark.parametrize(
    "answer",
    [HttpAnswer(404, {}, b""), HttpAnswer(200, {}, b"\x90"), PORTAL],
    ids=["none", "no rotation", "a captive portal's page (D8)"],
)
def test_where_nothing_was_rotated_the_signature_is_bad(bench: Bench, answer: HttpAnswer) -> None:
    bench.transport = WithoutAuthority()
    bench.transport.answer_to_authority = answer
    assert offer(bench, bench.client(), MANIFEST, NEXT) is ManifestFault.BAD_SIGNATURE


@pytest.mark.parametrize("answer", [UNREACHABLE, HttpAnswer(503, {}, b"")])
def test_rotations_are_asked_again_soon(bench: Bench, answer: HttpAnswer | TransportError) -> None:
    bench.transport = transport = WithoutAuthority()
    transport.answer_to_authority = answer
    transport.publish(MANIFEST, NEXT)
    client = bench.client()
    assert isinstance(why(client.refresh(force=True)), NotReady)
    transport.answer_to_authority = HttpAnswer(200, {}, pack_rotations([FIRST]))
    bench.clock.time += 1200
    engine_of(client).refresh_when_due()
    assert client.report(NAME, "good").ok


def test_a_bundle_may_bear_any_key_of_the_chain(bench: Bench) -> None:
    rotated(bench).close()
    for key in (AUTHORITY, NEXT):
        offered = manifest(sequence=3 + (key is NEXT))
        client = bench.client(manifests=[sign_manifest(offered, key)], **LONG_LIFE)
        engine_of(client).manifests.offer_bundled(engine_of(client).arguments.declared(NAME))
        assert engine_of(client).ledger.following.was_accepted(offered.survey_id, NAME, START)
        client.close()


@pytest.mark.parametrize("pinned", [NEXT, LAST])
def test_an_update_that_pins_a_later_key_goes_on(bench: Bench, pinned: SigningKey) -> None:
    bench.transport.publish(manifest(sequence=5))
    client = bench.ready(**LONG_LIFE)
    bench.transport.rotations = [FIRST, SECOND]
    assert offer(bench, client, manifest(sequence=6), LAST) is None
    client.close()
    updated = bench.client(authority=pinned.public_key, **LONG_LIFE)
    assert newest(bench, updated) == LAST.public_key
    assert updated.report(NAME, "good").ok  # what was accepted is followed
    assert offer(bench, updated, manifest(sequence=4), LAST) is ManifestFault.ROLLED_BACK


def test_an_app_update_that_pins_a_key_outside_of_the_chain_trusts_none_of_it(bench: Bench) -> None:
    # The remedy after a theft: the thief has rotated to a key of their own.
    client = bench.ready(**LONG_LIFE)
    bench.transport.rotations = [rotation(AUTHORITY, THIEF)]
    assert offer(bench, client, manifest(sequence=2**32 - 1), THIEF) is None
    client.close()
    bench.transport.rotations = [FIRST]
    updated = bench.client(authority=NEXT.public_key, **LONG_LIFE)
    assert isinstance(updated.report(NAME, "good").error, NotReady)
    assert offer(bench, updated, manifest(sequence=1), NEXT) is None
    assert newest(bench, updated) == NEXT.public_key


def test_what_is_remembered_of_a_later_key_is_the_chains_once_followed(bench: Bench) -> None:
    # Pinned first is the later key, then, by an older version of the app, the earlier one.
    bench.transport.publish(manifest(sequence=5), NEXT)
    bench.client(authority=NEXT.public_key, **LONG_LIFE).refresh(force=True)
    bench.transport.rotations = [FIRST]
    older = bench.client(**LONG_LIFE)
    assert offer(bench, older, manifest(sequence=4), NEXT) is ManifestFault.ROLLED_BACK
    assert older.report(NAME, "good").ok


def test_rotations_whose_bytes_rotted_are_asked_for_again(bench: Bench) -> None:
    rotated(bench).close()
    with engine_of(bench.client()).state.transaction(START) as connection:
        connection.execute("UPDATE authorities SET envelope = x'90'")
    bench.transport.publish(manifest(sequence=2), NEXT)
    again = bench.client(**LONG_LIFE)
    assert isinstance(again.report(NAME, "good").error, NotReady)  # a later key signed it
    again.refresh(force=True)
    assert newest(bench, again) == NEXT.public_key
