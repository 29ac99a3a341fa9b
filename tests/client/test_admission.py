"""Which manifests may be followed (D1, D2, D3): every fault, one step inside and one outside."""

from dataclasses import replace
from typing import Any

import pytest

from deniable.budget import NANO, Ceiling, pure_cost
from deniable.client import ManifestFault, ManifestRefused, Survey
from deniable.client.ledger.admission import (
    NameRecord,
    SignedManifest,
    admit_manifest,
    check_addressee,
    check_declaration,
    open_trusted,
)
from deniable.messages import (
    Manifest,
    Repeat,
    Schedule,
    SigningKey,
    Specification,
    sign_manifest,
    simulated_name,
)
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
PLENTY = Ceiling(1_000 * NANO)
SEEN = NameRecord((4, manifest(sequence=4).survey_id), frozenset(), 0)
STRANGER = SigningKey(b"somebody else's seed, 32 bytes..")
SLACK = "0.000000000000000001"


def lasting(seconds: int, grace: int = DAY) -> dict[str, Any]:
    return {"schedule": Schedule(START, seconds, 8, grace)}


def judge(
    offered: Manifest = MANIFEST,
    survey: Survey = DECLARED,
    record: NameRecord = UNSEEN,
    ceiling: Ceiling = PLENTY,
    now: float = START,
) -> ManifestFault | None:
    try:
        admit_manifest(offered, survey, record, ceiling, now)
    except ManifestRefused as refused:
        return refused.fault
    return None


def read(
    envelope: bytes, authority: bytes = AUTHORITY.public_key, origin: str = ORIGIN
) -> ManifestFault | None:
    try:
        opened = open_trusted(envelope, (authority,))
        check_addressee(opened.manifest, DECLARED, origin)
        assert opened.signer == authority
    except ManifestRefused as refused:
        return refused.fault
    return None


SIGNED = sign_manifest(MANIFEST, AUTHORITY)


def test_a_sound_manifest_is_read_and_admitted() -> None:
    opened = open_trusted(SIGNED, (AUTHORITY.public_key,))
    assert opened == SignedManifest(MANIFEST, AUTHORITY.public_key, SIGNED)
    assert read(SIGNED) is None
    assert judge() is None


@pytest.mark.parametrize(
    "envelope",
    [b"", b"\x00", SIGNED[:-1], SIGNED + b"\x00", b"<html>log in</html>", b"\x92\xc0\xc0"],
)
def test_d2_what_is_no_envelope_is_malformed(envelope: bytes) -> None:
    assert read(envelope) is ManifestFault.MALFORMED


def test_d2_a_signed_payload_that_is_no_manifest_is_malformed() -> None:
    payload = MANIFEST.payload.replace(b"randomised-response", b"randomised_response")
    assert payload != MANIFEST.payload
    broken = manifest()
    broken.__dict__["payload"] = payload
    assert read(sign_manifest(broken, AUTHORITY)) is ManifestFault.MALFORMED


@pytest.mark.parametrize("offset", [-1, -64, 200])
def test_d2_one_changed_bit_is_a_bad_signature(offset: int) -> None:
    changed = bytearray(SIGNED)
    changed[offset] ^= 1
    assert read(bytes(changed)) is ManifestFault.BAD_SIGNATURE


def test_d2_only_the_apps_authority_may_sign() -> None:
    assert read(sign_manifest(MANIFEST, STRANGER)) is ManifestFault.BAD_SIGNATURE
    assert read(sign_manifest(MANIFEST, STRANGER), STRANGER.public_key) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://127.0.0.1:8378",
        "http://127.0.0.1",
        "https://127.0.0.1:8377",
        "http://[::1]:8377",
        "https://collector.example",
    ],
)
def test_d2_the_origin_is_compared_byte_for_byte(origin: str) -> None:
    assert read(sign_manifest(manifest(origin=origin), AUTHORITY)) is ManifestFault.WRONG_ORIGIN
    assert read(SIGNED, origin=origin) is ManifestFault.WRONG_ORIGIN
    assert read(sign_manifest(manifest(origin=origin), AUTHORITY), origin=origin) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"question": QUESTION + "!"},
        {"question": QUESTION.upper()},
        {"categories": CATEGORIES[:-1]},
        {"categories": (*CATEGORIES, "no answer")},
        {"categories": tuple(reversed(CATEGORIES))},
        {"categories": ("Very poor", *CATEGORIES[1:])},
    ],
)
def test_d1_question_and_categories_must_match_to_the_letter(changes: dict[str, Any]) -> None:
    assert judge(manifest(**changes)) is ManifestFault.NOT_AS_DECLARED
    assert judge(manifest(**changes), replace(DECLARED, **changes)) is None


def test_d2_a_rehearsal_is_refused_also_by_an_app_that_declares_it() -> None:
    name = simulated_name(MANIFEST.name)
    assert judge(manifest(name=name), replace(DECLARED, name=name)) is ManifestFault.WRONG_NAME
    other = MANIFEST.name + "-simulated"
    assert judge(manifest(name=other), replace(DECLARED, name=other)) is None


def test_d2_a_sequence_below_one_that_was_seen_is_a_rollback() -> None:
    assert judge(manifest(sequence=3), record=SEEN) is ManifestFault.ROLLED_BACK
    assert judge(manifest(sequence=5), record=SEEN) is None


def test_d2_an_equal_sequence_with_another_id_is_equivocation() -> None:
    again = manifest(sequence=4)
    assert judge(again, record=SEEN) is None
    other = manifest(sequence=4, nonce=b"\1" + bytes(15))
    assert judge(other, record=SEEN) is ManifestFault.EQUIVOCATION


@pytest.mark.parametrize(("now", "fault"), [(-1, None), (0, ManifestFault.ENDED)])
def test_d2_a_manifest_has_ended_with_its_last_epoch(now: int, fault: ManifestFault | None) -> None:
    assert judge(now=MANIFEST.schedule.end + now) is fault


def test_d2_a_manifest_that_has_not_begun_may_be_accepted() -> None:
    assert judge(now=START - 400 * DAY) is None


@pytest.mark.parametrize(
    ("changes", "fault", "accepting"),
    [
        (
            {"epsilon": "1.000000000000000001"},
            ManifestFault.TOO_HIGH_EPSILON,
            {"max_epsilon": "1.000000000000000001"},
        ),
        ({"delta": SLACK}, ManifestFault.TOO_HIGH_DELTA, {"max_delta": SLACK}),
        (lasting(DAY - 1), ManifestFault.TOO_SHORT_EPOCHS, {"min_epoch_seconds": DAY - 1}),
        (lasting(400 * DAY + 1), ManifestFault.TOO_LONG_EPOCHS, {"max_epoch_seconds": 401 * DAY}),
        (
            lasting(DAY, 90 * DAY + 1),
            ManifestFault.TOO_LONG_GRACE,
            {"max_grace_seconds": 90 * DAY + 1},
        ),
    ],
)
def test_d2_a_ceiling_is_exceeded_only_where_the_app_says_so(
    changes: dict[str, Any], fault: ManifestFault, accepting: dict[str, Any]
) -> None:
    assert judge(manifest(**changes)) is fault
    assert judge(manifest(**changes), replace(DECLARED, **accepting)) is None


def test_d2_every_ceiling_may_be_reached() -> None:
    assert judge(survey=replace(DECLARED, max_epsilon="1")) is None
    for reached in (lasting(DAY), lasting(400 * DAY), lasting(DAY, 90 * DAY)):
        assert judge(manifest(**reached)) is None


def test_d2_only_declared_kinds_are_taken_but_symmetric_ones_always() -> None:
    near = manifest(specification=KINDS["ordinal"].specification)
    assert judge(near) is ManifestFault.MECHANISM
    assert judge(near, replace(DECLARED, mechanisms=["numeric"])) is ManifestFault.MECHANISM
    for kinds in (["ordinal"], ["ordinal", "numeric"]):
        assert judge(near, replace(DECLARED, mechanisms=kinds)) is None
        assert judge(MANIFEST, replace(DECLARED, mechanisms=kinds)) is None


def test_d2_the_guarantee_is_recomputed_from_the_integers_that_will_be_sampled() -> None:
    assert judge(understated()) is ManifestFault.UNCERTIFIED
    assert judge(understated(), replace(DECLARED, max_epsilon="2")) is ManifestFault.UNCERTIFIED
    assert judge(manifest(epsilon="2"), replace(DECLARED, max_epsilon="2")) is None


def test_d3_a_manifest_reserves_all_its_epochs_and_fits_exactly_or_not() -> None:
    cost = 8 * pure_cost(MANIFEST.mechanism)
    assert admit_manifest(MANIFEST, DECLARED, UNSEEN, Ceiling(cost), START) == cost
    assert judge(ceiling=Ceiling(cost - 1)) is ManifestFault.OVER_BUDGET
    beside = NameRecord(None, frozenset(), 1)
    assert judge(record=beside, ceiling=Ceiling(cost)) is ManifestFault.OVER_BUDGET
    assert judge(record=beside, ceiling=Ceiling(cost + 1)) is None


def test_d3_epochs_that_are_over_or_decided_are_not_reserved() -> None:
    each = pure_cost(MANIFEST.mechanism)
    decided = NameRecord(decided=4)
    for record, now, epochs in ((UNSEEN, START + 3 * DAY, 5), (decided, START + 3 * DAY, 3)):
        assert admit_manifest(MANIFEST, DECLARED, record, Ceiling(epochs * each), now)


KEPT = Repeat("memoised", 4)
TWO_ROUND = Specification("two-round", {"kept": "2"})


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"repeat": KEPT}, None),
        ({"repeat": KEPT}, "0.999"),
        ({"repeat": KEPT, "specification": TWO_ROUND}, None),
        ({"repeat": KEPT, "specification": TWO_ROUND}, "1.999"),
    ],
)
def test_d1_responses_are_kept_only_within_what_the_app_declared(
    changes: dict[str, Any], most: str | None
) -> None:
    survey = replace(DECLARED, max_kept_epsilon=most)
    with pytest.raises(ManifestRefused) as refused:
        check_declaration(manifest(**changes), survey)
    assert refused.value.fault is ManifestFault.KEPT_RESPONSES


def test_d1_responses_may_be_kept_up_to_what_the_app_declared() -> None:
    check_declaration(manifest(repeat=KEPT), replace(DECLARED, max_kept_epsilon="1"))
    both = manifest(repeat=KEPT, specification=TWO_ROUND)
    check_declaration(both, replace(DECLARED, max_kept_epsilon="2"))


def test_d2_responses_are_kept_for_no_more_epochs_than_the_app_bounds() -> None:
    survey = replace(DECLARED, max_kept_epsilon="2")
    for specification in (MANIFEST.specification, TWO_ROUND):
        for epochs, fault in ((53, None), (54, ManifestFault.KEPT_RESPONSES)):
            long = manifest(repeat=Repeat("memoised", epochs), specification=specification)
            assert judge(long, survey) is fault
            assert judge(long, replace(survey, max_kept_epochs=54)) is None
