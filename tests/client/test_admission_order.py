"""In which order a manifest's faults are judged: signature and place before memory before terms."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from deniable.budget import NANO, Ceiling
from deniable.client import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import (
    NameRecord,
    admit_manifest,
    check_addressee,
    check_declaration,
    open_trusted,
)
from deniable.messages import Enrolment, Repeat, Schedule, SigningKey, sign_manifest
from tests.support.kinds import KINDS
from tests.support.surveys import (
    AUTHORITY,
    CATEGORIES,
    DAY,
    DECLARED,
    MANIFEST,
    ORIGIN,
    START,
    manifest,
)
from tests.support.understated import understated

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
    ManifestFault.MECHANISM: {"specification": KINDS["ordinal"].specification},
    ManifestFault.KEPT_RESPONSES: {"repeat": Repeat("memoised", 4)},
    ManifestFault.UNCERTIFIED: {},
    ManifestFault.ENDED: {},
    ManifestFault.ENROLMENT: {"enrolment": Enrolment("certificate", (AUTHORITY.public_key,))},
    ManifestFault.OVER_BUDGET: {},
}
SEEN = NameRecord((4, manifest(sequence=4).survey_id), frozenset(), 0)


def first_fault(faults: set[ManifestFault]) -> ManifestFault | None:
    """Return the fault for which a manifest that has all of these is refused."""
    length = DAY - 1 if ManifestFault.TOO_SHORT_EPOCHS in faults else DAY
    bound = DAY - 2 if ManifestFault.TOO_LONG_EPOCHS in faults else 400 * DAY
    start = START - 8 * DAY if ManifestFault.ENDED in faults else START
    grace = 91 * DAY if ManifestFault.TOO_LONG_GRACE in faults else DAY
    changes: dict[str, Any] = {"sequence": 5, "schedule": Schedule(start, length, 8, grace)}
    for fault in faults:
        changes |= FAULTS[fault]
    if ManifestFault.TOO_HIGH_DELTA in faults:  # which no manifest of an ordinal kind can have
        changes.pop("specification", None)
    authority = SigningKey(bytes(32)) if ManifestFault.BAD_SIGNATURE in faults else AUTHORITY
    ceiling = Ceiling(0 if ManifestFault.OVER_BUDGET in faults else 1_000 * NANO)
    envelope = sign_manifest(manifest(**changes), authority)
    try:
        offered = open_trusted(envelope, (AUTHORITY.public_key,)).manifest
        check_addressee(offered, DECLARED, ORIGIN)
        if ManifestFault.UNCERTIFIED in faults:
            offered = understated(offered)
        pins = "0" * 64 if ManifestFault.NOT_PINNED in faults else offered.survey_id.hex()
        admit_manifest(
            offered,
            replace(DECLARED, pinned_ids=[pins], max_epoch_seconds=bound),
            SEEN,
            ceiling,
            START,
        )
    except ManifestRefused as refused:
        return refused.fault
    return None


def test_without_a_fault_it_is_admitted() -> None:
    assert first_fault(set()) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_alone_is_the_one_that_is_named(fault: ManifestFault) -> None:
    assert first_fault({fault}) is fault


@pytest.mark.parametrize(("earlier", "later"), list(combinations(FAULTS, 2)))
def test_d2_of_two_faults_the_earlier_one_is_named(
    earlier: ManifestFault, later: ManifestFault
) -> None:
    assert first_fault({earlier, later}) is earlier


@pytest.mark.parametrize("count", range(len(FAULTS)))
def test_d2_the_order_holds_for_all_the_faults_that_remain(count: int) -> None:
    remaining = list(FAULTS)[count:]
    assert first_fault(set(remaining)) is remaining[0]


def test_d2_equivocation_is_named_before_any_term() -> None:
    # Otherwise a second manifest that the app refuses anyway would leave no proof.
    record = NameRecord((0, MANIFEST.survey_id), frozenset({MANIFEST.survey_id}), 0)
    worst = manifest(epsilon="9", categories=CATEGORIES[::-1])
    with pytest.raises(ManifestRefused) as caught:
        admit_manifest(worst, DECLARED, record, Ceiling(0), START)
    assert caught.value.fault is ManifestFault.EQUIVOCATION


def test_d1_the_judges_of_a_manifest_are_given_no_answer() -> None:
    judges: tuple[Callable[..., object], ...] = (
        open_trusted,
        check_addressee,
        admit_manifest,
        check_declaration,
    )
    for judge in judges:
        assert not {"answer", "index", "category", "draw"} & set(judge.__annotations__)


def test_every_fault_but_two_is_in_the_order() -> None:
    # Malformed bytes have no other fault, and equivocation has its own test above.
    missing = set(ManifestFault) - set(FAULTS)
    assert missing == {ManifestFault.MALFORMED, ManifestFault.EQUIVOCATION}


def test_a_refusal_names_its_fault_and_can_be_copied_between_processes() -> None:
    refused = ManifestRefused(ManifestFault.ENDED, "its last epoch is over")
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.fault) == ("ended: its last epoch is over", ManifestFault.ENDED)
