"""Pinned ids: the app names the manifests that it accepts, and no authority shows it another."""

from dataclasses import replace
from typing import Any

import pytest

from deniable.client import ManifestFault, ManifestRefused, OutcomeStatus, Survey
from deniable.messages import InvalidManifest, sign_manifest
from tests.support.devices import NAME, Bench, fault_of
from tests.support.surveys import AUTHORITY, DECLARED, MANIFEST, manifest

ID = MANIFEST.survey_id.hex()
SUCCESSOR = manifest(sequence=1)


def pinning(*ids: str) -> Survey:
    return replace(DECLARED, pinned_ids=ids)


def test_a_pinned_manifest_is_followed_and_another_is_not(bench: Bench) -> None:
    client = bench.client(surveys=[pinning(ID)])
    bench.transport.publish(SUCCESSOR)
    assert fault_of(client.refresh(force=True)) is ManifestFault.NOT_PINNED
    assert isinstance(client.report(NAME, "good").error, ManifestRefused)
    assert bench.draw.count == 0
    # The one that was refused, though newer, does not keep the pinned one out.
    bench.transport.publish(MANIFEST)
    assert fault_of(client.refresh(force=True)) is None
    assert client.report(NAME, "good").status is OutcomeStatus.RECORDED


def test_several_manifests_may_be_pinned(bench: Bench) -> None:
    client = bench.client(surveys=[pinning(ID, SUCCESSOR.survey_id.hex())], lifetime_epsilon="1000")
    for offered in (MANIFEST, SUCCESSOR):
        bench.transport.publish(offered)
        assert fault_of(client.refresh(force=True)) is None
    bench.transport.publish(manifest(sequence=2))
    assert fault_of(client.refresh(force=True)) is ManifestFault.NOT_PINNED


def test_d2_a_second_manifest_of_a_pinned_ones_sequence_is_still_kept_as_proof(
    bench: Bench,
) -> None:
    client = bench.client(surveys=[pinning(ID)])
    assert fault_of(client.refresh(force=True)) is None
    twin = manifest(nonce=b"another nonce 16")
    bench.transport.publish(twin)
    assert fault_of(client.refresh(force=True)) is ManifestFault.EQUIVOCATION
    assert bench.rows("SELECT survey_id FROM manifests WHERE role = 'equivocating'") == [
        (twin.survey_id,)
    ]


def test_an_app_update_that_pins_another_follows_what_was_accepted_no_more(bench: Bench) -> None:
    bench.ready().close()
    client = bench.client(surveys=[pinning(SUCCESSOR.survey_id.hex())], lifetime_epsilon="1000")
    assert fault_of(client.report(NAME, "good").error) is ManifestFault.NOT_PINNED
    bench.transport.publish(SUCCESSOR)
    assert fault_of(client.refresh(force=True)) is None
    assert client.report(NAME, "good").ok


def test_a_bundle_is_judged_by_the_pins_too(bench: Bench) -> None:
    bundled = [sign_manifest(each, AUTHORITY) for each in (MANIFEST, SUCCESSOR)]
    client = bench.client(surveys=[pinning(ID)], manifests=bundled)
    assert client.report(NAME, "good").ok
    assert bench.rows("SELECT survey_id FROM manifests") == [(MANIFEST.survey_id,)]


def test_a_numeric_survey_can_pin_too() -> None:
    declared = Survey.numeric("n", "How many?", low=0, high=9, max_epsilon="1", pinned_ids=[ID])
    assert declared.pinned_ids == frozenset({ID})
    assert DECLARED.pinned_ids is None


@pytest.mark.parametrize("ids", [[], [ID[:-1]], [ID.upper()], [ID + "\n"], [bytes(32)], 7])
def test_what_is_no_id_cannot_be_pinned(ids: Any) -> None:
    with pytest.raises(InvalidManifest, match="pinned_ids"):
        replace(DECLARED, pinned_ids=ids)


def test_one_text_is_not_several_ids() -> None:
    with pytest.raises(TypeError, match="several ids"):
        replace(DECLARED, pinned_ids=ID)
