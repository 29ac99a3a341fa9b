"""Rotations: two signatures, one hand-over a key, and a chain that anybody follows alike."""

from itertools import pairwise, permutations

import pytest

from deniable.counterparts.bodies import pack_rotations
from deniable.counterparts.signing import sign_rotation
from deniable.messages import (
    MAX_ROTATIONS_BYTES,
    Refusal,
    RefusalCode,
    Rotation,
    SigningKey,
    follow_rotations,
    split_rotations,
)
from deniable.messages.logged import MAX_PROOF_BYTES
from deniable.messages.rotation import MAX_ROTATIONS, AuthorityFork

KEYS = [SigningKey(bytes([number]) * 32) for number in range(MAX_ROTATIONS + 2)]
PUBLIC = [key.public_key for key in KEYS]


def rotation(old: int, new: int, sequence: int) -> Rotation:
    return Rotation(PUBLIC[old], PUBLIC[new], sequence)


def chain(length: int, first: int = 1) -> list[Rotation]:
    """Return so many rotations, each from the key before."""
    return [rotation(number, number + 1, first + number) for number in range(length)]


@pytest.mark.parametrize(("old", "new"), [(0, 2), (2, 1), (1, 0)])
def test_other_keys_do_not_sign_a_rotation(old: int, new: int) -> None:
    with pytest.raises(ValueError, match="its own two keys"):
        sign_rotation(rotation(0, 1, 1), KEYS[old], KEYS[new])


@pytest.mark.parametrize("sequence", [-1, 2**32, True, 1.0])
def test_a_sequence_outside_its_domain_is_refused(sequence: int) -> None:
    with pytest.raises(Refusal) as refused:
        rotation(0, 1, sequence)
    assert refused.value.code is RefusalCode.MALFORMED


def test_the_order_in_which_rotations_came_makes_no_difference() -> None:
    for given in permutations(chain(4)):
        assert follow_rotations(PUBLIC[0], given) == tuple(PUBLIC[:5])
        assert follow_rotations(PUBLIC[2], [*given, *given]) == tuple(PUBLIC[2:5])


@pytest.mark.parametrize("first", [0, 1, 7, 2**32 - 3])
def test_the_first_sequence_is_free_and_each_later_one_is_one_more(first: int) -> None:
    rotations = chain(3, first)
    assert follow_rotations(PUBLIC[0], rotations) == tuple(PUBLIC[:4])
    for earlier, later in pairwise(range(3)):
        for sequence in {0, first + earlier, first + later + 1} - {first + later}:
            if sequence >= 2**32:
                continue
            changed = [*rotations[:later], rotation(later, later + 1, sequence)]
            with pytest.raises(Refusal, match="one more"):
                follow_rotations(PUBLIC[0], changed)


@pytest.mark.parametrize("sequence", [1, 2, 5])
def test_two_hand_overs_of_one_key_are_a_fork_that_names_both(sequence: int) -> None:
    first, second = rotation(1, 2, 2), rotation(1, 9, sequence)
    with pytest.raises(AuthorityFork) as fork:
        follow_rotations(PUBLIC[0], [rotation(0, 1, 1), first, second])
    assert {fork.value.first, fork.value.second} == {first, second}


def test_what_does_not_follow_from_the_pinned_key_is_no_concern_of_its_chain() -> None:
    elsewhere = [rotation(7, 8, 1), rotation(7, 9, 1), rotation(8, 7, 2)]
    assert follow_rotations(PUBLIC[0], chain(2) + elsewhere) == tuple(PUBLIC[:3])


def test_a_chain_has_an_end() -> None:
    longest = chain(MAX_ROTATIONS)
    assert follow_rotations(PUBLIC[0], longest) == tuple(PUBLIC[: MAX_ROTATIONS + 1])
    with pytest.raises(Refusal, match="at most"):
        follow_rotations(PUBLIC[0], chain(MAX_ROTATIONS + 1))


def test_the_longest_array_fits_and_comes_back_as_it_was() -> None:
    first = 2**32 - MAX_ROTATIONS - 1  # of the widest sequences
    envelopes = [
        sign_rotation(each, KEYS[number], KEYS[number + 1])
        for number, each in enumerate(chain(MAX_ROTATIONS, first))
    ]
    proofs = [bytes(MAX_PROOF_BYTES)] * MAX_ROTATIONS
    body = pack_rotations(envelopes, proofs)
    assert len(body) <= MAX_ROTATIONS_BYTES
    assert split_rotations(body) == tuple(zip(envelopes, proofs, strict=True))
    assert split_rotations(pack_rotations(envelopes)) == tuple((each, b"") for each in envelopes)
    with pytest.raises(Refusal):
        split_rotations(pack_rotations([*envelopes, envelopes[0]]))
