"""Which manifests may be followed (D1 to D3): every fault, one step in and out, and their order."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import pytest

from deniable.budget import NANO, pure_cost
from deniable.client import ManifestFault, ManifestRefused, Survey
from deniable.client.ledger.admission import (
    NameRecord,
    SignedManifest,
    admit_manifest,
    check_addressee,
    open_trusted,
)
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Enrolment, Manifest, Repeat, Schedule, SigningKey, Specification
from deniable.messages.texts import simulated_name
from tests.support.kinds import KINDS
from tests.support.surveys import (
    AUTHORITY,
    CATEGORIES,
    DAY,
    DECLARED,
    MANIFEST,
    ORIGIN,
    QUESTION,
    START,
    manifest,
)
from tests.support.understated import understated

UNSEEN = NameRecord(None, frozenset(), 0)
PLENTY = 1_000 * NANO
SEEN = NameRecord((4, manifest(sequence=4).survey_id), frozenset(), 0)
STRANGER = SigningKey(b"somebody else's seed, 32 bytes..")
SIGNED = sign_manifest(MANIFEST, AUTHORITY)


def lasting(seconds: int, grace: int = DAY) -> dict[str, Any]:
    return {"schedule": Schedule(START, seconds, 8, grace)}


def fault(call: Callable[..., object], *arguments: object) -> ManifestFault | None:
    try:
        call(*arguments)
    except ManifestRefused as refused:
        return refused.fault
    return None


def judge(
    offered: Manifest = MANIFEST,
    survey: Survey = DECLARED,
    record: NameRecord = UNSEEN,
    ceiling: int = PLENTY,
    now: float = START,
) -> ManifestFault | None:
    return fault(admit_manifest, offered, survey, record, ceiling, now)


def read(
    envelope: bytes, authority: bytes = AUTHORITY.public_key, origin: str = ORIGIN
) -> ManifestFault | None:
    def opened() -> None:
        opened = open_trusted(envelope, (authority,))
        check_addressee(opened.manifest, DECLARED, origin)
        assert opened.signer == authority

    return fault(opened)


def test_a_sound_manifest_is_read_and_admitted() -> None:
    opened = open_trusted(SIGNED, (AUTHORITY.public_key,))
    assert opened == SignedManifest(MANIFEST, AUTHORITY.public_key, SIGNED)
    assert read(SIGNED) is None
    assert judge() is None


def test_d2_what_is_no_envelope_with_a_manifest_is_malformed() -> None:
    payload = MANIFEST.payload.replace(b"randomised-response", b"randomised_response")
    assert payload != MANIFEST.payload
    broken = manifest()
    broken.__dict__["payload"] = payload
    cut = (b"", b"\x00", SIGNED[:-1], SIGNED + b"\x00", b"<html>log in</html>", b"\x92\xc0\xc0")
    for envelope in (*cut, sign_manifest(broken, AUTHORITY)):
        assert read(envelope) is ManifestFault.MALFORMED


def test_d2_one_changed_bit_or_another_signer_is_a_bad_signature() -> None:
    for offset in (-1, -64, 200):
        changed = bytearray(SIGNED)
        changed[offset] ^= 1
        assert read(bytes(changed)) is ManifestFault.BAD_SIGNATURE
    assert read(sign_manifest(MANIFEST, STRANGER)) is ManifestFault.BAD_SIGNATURE
    assert read(sign_manifest(MANIFEST, STRANGER), STRANGER.public_key) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("http://127.0.0.1:8378", "http://127.0.0.1", "https://127.0.0.1:8377"),
        *("http://[::1]:8377", "https://collector.example"),
    ],
)
def test_d2_the_origin_is_compared_byte_for_byte(origin: str) -> None:
    other = sign_manifest(manifest(origin=origin), AUTHORITY)
    assert read(other) is read(SIGNED, origin=origin) is ManifestFault.WRONG_ORIGIN
    assert read(other, origin=origin) is None


def test_d2_a_simulated_survey_is_refused_also_by_an_app_that_declares_it() -> None:
    name = simulated_name(MANIFEST.name)
    assert judge(manifest(name=name), replace(DECLARED, name=name)) is ManifestFault.WRONG_NAME
    other = MANIFEST.name + "-simulated"
    assert judge(manifest(name=other), replace(DECLARED, name=other)) is None


def test_d2_a_sequence_below_a_seen_one_is_a_rollback_and_an_equal_one_equivocation() -> None:
    assert judge(manifest(sequence=3), record=SEEN) is ManifestFault.ROLLED_BACK
    assert judge(manifest(sequence=5), record=SEEN) is None
    assert judge(manifest(sequence=4), record=SEEN) is None
    other = manifest(sequence=4, nonce=b"\1" + bytes(15))
    assert judge(other, record=SEEN) is ManifestFault.EQUIVOCATION
    # Named before any term: a second manifest that the app refuses anyway would leave no proof.
    record = NameRecord((0, MANIFEST.survey_id), frozenset({MANIFEST.survey_id}), 0)
    worst = manifest(epsilon="9", categories=CATEGORIES[::-1])
    assert judge(worst, record=record, ceiling=0) is ManifestFault.EQUIVOCATION


def test_d2_a_manifest_has_ended_with_its_last_epoch_and_need_not_have_begun() -> None:
    assert judge(now=START - 400 * DAY) is None
    assert judge(now=MANIFEST.schedule.end - 1) is None
    assert judge(now=MANIFEST.schedule.end) is ManifestFault.ENDED


TWO_ROUND = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})
GRACE = 90 * DAY + 1
KEPT = {"repeat": Repeat("memoised", 4)}
KEPT_TWICE = {**KEPT, "specification": TWO_ROUND}
SLACK, MORE = "0.000000000000000001", "1.000000000000000001"
TERMS: list[tuple[ManifestFault, dict[str, Any], dict[str, Any]]] = [
    *(
        (ManifestFault.NOT_AS_DECLARED, changes, changes)
        for changes in (
            {"question": QUESTION + "!"},
            {"question": QUESTION.upper()},
            {"categories": CATEGORIES[:-1]},
            {"categories": (*CATEGORIES, "no answer")},
            {"categories": tuple(reversed(CATEGORIES))},
            {"categories": ("Very poor", *CATEGORIES[1:])},
        )
    ),
    (ManifestFault.TOO_HIGH_EPSILON, {"epsilon": MORE}, {"max_epsilon": MORE}),
    (ManifestFault.TOO_HIGH_DELTA, {"delta": SLACK}, {"max_delta": SLACK}),
    (ManifestFault.TOO_SHORT_EPOCHS, lasting(DAY - 1), {"min_epoch_seconds": DAY - 1}),
    (ManifestFault.TOO_LONG_EPOCHS, lasting(400 * DAY + 1), {"max_epoch_seconds": 401 * DAY}),
    (ManifestFault.TOO_LONG_GRACE, lasting(DAY, GRACE), {"max_grace_seconds": GRACE}),
    (ManifestFault.KEPT_RESPONSES, KEPT, {"max_kept_epsilon": "1"}),
    (ManifestFault.KEPT_RESPONSES, KEPT_TWICE, {"max_kept_epsilon": "2"}),
]
"""The fault of a manifest with such terms, and what an app declares that accepts them."""


@pytest.mark.parametrize(("fault", "changes", "accepting"), TERMS)
def test_d1_d2_terms_are_as_declared_to_the_letter_and_within_what_the_app_says(
    fault: ManifestFault, changes: dict[str, Any], accepting: dict[str, Any]
) -> None:
    assert judge(manifest(**changes)) is fault
    assert judge(manifest(**changes), replace(DECLARED, **accepting)) is None


def test_d1_d2_every_ceiling_may_be_reached() -> None:
    assert judge(survey=replace(DECLARED, max_epsilon="1")) is None
    for reached in (lasting(DAY), lasting(400 * DAY), lasting(DAY, 90 * DAY)):
        assert judge(manifest(**reached)) is None
    for changes, most in ((KEPT, "0.999"), (KEPT_TWICE, "1.999")):
        survey = replace(DECLARED, max_kept_epsilon=most)
        assert judge(manifest(**changes), survey) is ManifestFault.KEPT_RESPONSES


def test_d2_only_declared_kinds_are_taken_but_symmetric_ones_always() -> None:
    near = manifest(specification=KINDS["matrix"].specification)
    assert judge(near) is ManifestFault.MECHANISM
    assert judge(near, replace(DECLARED, mechanisms=["mean"])) is ManifestFault.MECHANISM
    for kinds in (["matrix"], ["matrix", "mean"]):
        assert judge(near, replace(DECLARED, mechanisms=kinds)) is None
        assert judge(MANIFEST, replace(DECLARED, mechanisms=kinds)) is None


def test_d2_the_guarantee_is_recomputed_from_the_integers_that_will_be_sampled() -> None:
    assert judge(understated()) is ManifestFault.UNCERTIFIED
    assert judge(understated(), replace(DECLARED, max_epsilon="2")) is ManifestFault.UNCERTIFIED
    assert judge(manifest(epsilon="2"), replace(DECLARED, max_epsilon="2")) is None


def test_d3_a_manifest_reserves_all_its_epochs_and_fits_exactly_or_not() -> None:
    cost = 8 * pure_cost(MANIFEST.mechanism)
    assert admit_manifest(MANIFEST, DECLARED, UNSEEN, cost, START) == cost
    assert judge(ceiling=cost - 1) is ManifestFault.OVER_BUDGET
    beside = NameRecord(None, frozenset(), 1)
    assert judge(record=beside, ceiling=cost) is ManifestFault.OVER_BUDGET
    assert judge(record=beside, ceiling=cost + 1) is None


def test_d3_epochs_that_are_over_or_decided_are_not_reserved() -> None:
    cost = pure_cost(MANIFEST.mechanism)
    for record, epochs in ((UNSEEN, 5), (NameRecord(decided=4), 3)):
        assert admit_manifest(MANIFEST, DECLARED, record, epochs * cost, START + 3 * DAY)


def test_d2_responses_are_kept_for_no_more_epochs_than_the_app_bounds() -> None:
    survey = replace(DECLARED, max_kept_epsilon="2")
    for specification in (MANIFEST.specification, TWO_ROUND):
        for epochs, fault in ((53, None), (54, ManifestFault.KEPT_RESPONSES)):
            long = manifest(repeat=Repeat("memoised", epochs), specification=specification)
            assert judge(long, survey) is fault
            assert judge(long, replace(survey, max_kept_epochs=54)) is None


# In the order in which they are judged; what makes a manifest have each, unless it takes more.
FAULTS: Mapping[ManifestFault, Mapping[str, Any]] = {
    ManifestFault.BAD_SIGNATURE: {},
    ManifestFault.WRONG_NAME: {"name": "another"},
    ManifestFault.WRONG_ORIGIN: {"origin": "https://elsewhere.example"},
    ManifestFault.ROLLED_BACK: {"sequence": 3},
    ManifestFault.NOT_PINNED: {},
    ManifestFault.NOT_AS_DECLARED: {"categories": CATEGORIES[::-1]},
    ManifestFault.TOO_HIGH_EPSILON: {"epsilon": "1.5"},
    ManifestFault.TOO_HIGH_DELTA: {"delta": "0.01"},
    ManifestFault.TOO_SHORT_EPOCHS: {},
    ManifestFault.TOO_LONG_EPOCHS: {},
    ManifestFault.TOO_LONG_GRACE: {},
    ManifestFault.MECHANISM: {"specification": KINDS["matrix"].specification},
    ManifestFault.KEPT_RESPONSES: {"repeat": Repeat("memoised", 4)},
    ManifestFault.UNCERTIFIED: {},
    ManifestFault.ENDED: {},
    ManifestFault.ENROLMENT: {"enrolment": Enrolment("certificate", (AUTHORITY.public_key,))},
    ManifestFault.OVER_BUDGET: {},
}


def first_fault(faults: set[ManifestFault]) -> ManifestFault | None:
    """Return the fault for which a manifest that has all of these is refused."""
    length = DAY - 1 if ManifestFault.TOO_SHORT_EPOCHS in faults else DAY
    bound = DAY - 2 if ManifestFault.TOO_LONG_EPOCHS in faults else 400 * DAY
    start = START - 8 * DAY if ManifestFault.ENDED in faults else START
    grace = 91 * DAY if ManifestFault.TOO_LONG_GRACE in faults else DAY
    changes: dict[str, Any] = {"sequence": 5, "schedule": Schedule(start, length, 8, grace)}
    for each in faults:
        changes |= FAULTS[each]
    authority = STRANGER if ManifestFault.BAD_SIGNATURE in faults else AUTHORITY
    envelope = sign_manifest(manifest(**changes), authority)
    if met := read(envelope):
        return met
    offered = open_trusted(envelope, (AUTHORITY.public_key,)).manifest
    if ManifestFault.UNCERTIFIED in faults:
        offered = understated(offered)
    pins = "0" * 64 if ManifestFault.NOT_PINNED in faults else offered.survey_id.hex()
    survey = replace(DECLARED, pinned_ids=[pins], max_epoch_seconds=bound)
    return judge(offered, survey, SEEN, 0 if ManifestFault.OVER_BUDGET in faults else PLENTY)


@pytest.mark.parametrize(("earlier", "later"), list(combinations_with_replacement(FAULTS, 2)))
def test_d2_of_two_the_earlier_fault_is_named(earlier: ManifestFault, later: ManifestFault) -> None:
    assert first_fault({earlier, later}) is earlier


def test_every_fault_but_three_is_in_the_order() -> None:
    # Malformed bytes have no other fault, equivocation has its own test above, and what witnesses
    # have not seen those of pinned logs.
    assert set(ManifestFault) - set(FAULTS) == {
        *(ManifestFault.MALFORMED, ManifestFault.EQUIVOCATION, ManifestFault.NOT_WITNESSED)
    }


def test_a_refusal_names_its_fault_and_can_be_copied_between_processes() -> None:
    refused = ManifestRefused(ManifestFault.ENDED, "the survey's last epoch has ended")
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.fault) == (
        "ended: the survey's last epoch has ended",
        ManifestFault.ENDED,
    )
