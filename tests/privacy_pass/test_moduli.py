"""Moduli that no honest issuer has, refused; and what one of them would have told."""

from math import gcd
from random import Random

import pytest

from deniable.privacy_pass import (
    MODULUS_BYTES,
    InvalidModulus,
    InvalidToken,
    blind,
    check_moduli,
    encode,
)
from tests.support.rsa_keys import RSA_KEYS, hostile_moduli, small_primes

HOSTILE = hostile_moduli(RSA_KEYS[0], RSA_KEYS[1])
BESIDE_ANOTHER = {"of another epoch", "with a factor of another epoch's"}


def test_honest_moduli_pass_one_by_one_and_together() -> None:
    check_moduli(key.modulus for key in RSA_KEYS)
    for key in RSA_KEYS:
        check_moduli([key.modulus])


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_modulus_is_refused(what: str) -> None:
    other = RSA_KEYS[1].modulus
    for moduli in ((other, HOSTILE[what]), (HOSTILE[what], other)):
        with pytest.raises(InvalidModulus):
            check_moduli(moduli)
    if what in BESIDE_ANOTHER:
        check_moduli([HOSTILE[what]])  # sound by itself
    else:
        with pytest.raises(InvalidModulus):
            check_moduli([HOSTILE[what]])


def test_the_limit_of_a_factor_is_two_to_the_sixteen() -> None:
    assert small_primes(1 << 16)[-1] == 65_521
    # 65,537 is the next prime, times 65,521's cofactor rounded to the same length.
    rest = int.from_bytes(HOSTILE["with one factor below 2^16"]) // 65_521
    check_moduli([(65_537 * rest).to_bytes(MODULUS_BYTES)])


def test_a_modulus_of_small_primes_would_mark_devices_and_blinding_refuses_it() -> None:
    """The divisors that a message shares with the modulus outlast any factor that is a unit."""
    chance, n = Random(9474), int.from_bytes(HOSTILE["of 232 small primes"])
    accounts = range(200)
    messages = [encode(chance.randbytes(98), chance.randbytes(48)) for _ in accounts]
    sent = []
    for message in messages:
        factor = next(r for r in iter(lambda: chance.randrange(n), None) if gcd(r, n) == 1)
        sent.append(message * pow(factor, 65537, n) % n)
        if gcd(message, n) > 1:
            with pytest.raises(InvalidToken):
                blind(message, n, factor)
    # What the issuer saw of an account and what the collector sees of a report share a mark, and
    # most marks are of one account alone: this matcher would find it.
    marks = [gcd(blinded, n) for blinded in sent]
    assert marks == [gcd(message, n) for message in messages]
    assert len(set(marks)) > len(accounts) / 2
