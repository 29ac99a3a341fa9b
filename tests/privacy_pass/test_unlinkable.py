"""A colluding issuer that knows all roots: no request fits one token better than another."""

from collections import Counter
from math import gcd

import pytest

from deniable import privacy_pass
from deniable.messages.blind import blind_request
from deniable.privacy_pass import EXPONENT, InvalidToken, blind, finalise
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors.scene import BLIND_SURVEY, EPOCH


@pytest.mark.parametrize(
    ("exponent", "modulus"),
    [
        (3, 7 * 13),  # divides p - 1 and q - 1: nine roots of each cube
        (3, 5 * 7),  # divides p - 1 alone: three roots
        (3, 5 * 11),  # a sound key: one root
        (5, 3 * 5 * 11),  # three primes
        (3, 7 * 7),  # a square
    ],
)
def test_each_token_fits_each_request_by_exactly_one_factor_whatever_root_was_chosen(
    monkeypatch: pytest.MonkeyPatch, exponent: int, modulus: int
) -> None:
    # Whatever made the issuer choose a root y for the request z of an account, and a device keep
    # it: every token s of the epoch is explained by one of equally likely factors.
    monkeypatch.setattr(privacy_pass, "EXPONENT", exponent)
    units = [number for number in range(modulus) if gcd(number, modulus) == 1]
    roots: dict[int, list[int]] = {}
    for y in units:
        roots.setdefault(pow(y, exponent, modulus), []).append(y)
    fits: Counter[tuple[int, int, int]] = Counter()
    for s in units:
        for factor in units:
            z = int.from_bytes(blind(pow(s, exponent, modulus), modulus, factor))
            fits.update(
                (z, y, s) for y in roots[z] if finalise(bytes([y]), modulus, factor)[0] == s
            )
    assert fits == {(z, y, s): 1 for z, answers in roots.items() for y in answers for s in units}


def test_at_full_size_every_device_could_have_made_every_token() -> None:
    key = RSA_KEYS[EPOCH - BLIND_SURVEY.enrolment.first]
    n = int.from_bytes(key.modulus)
    requests = [blind_request(bytes([device] * 32), BLIND_SURVEY, EPOCH) for device in range(4)]
    answers = [key.answer(request.body) for request in requests]
    tokens = [request.finish(answer) for request, answer in zip(requests, answers, strict=True)]
    for request, answer in zip(requests, answers, strict=True):
        for token in tokens:
            signature = int.from_bytes(token)
            factor = int.from_bytes(answer) * pow(signature, -1, n) % n
            assert blind(pow(signature, EXPONENT, n), n, factor) == request.body[3:]
            assert finalise(answer, n, factor) == token


def test_what_is_no_unit_is_never_sent() -> None:
    modulus = 7 * 13
    for number in range(1, modulus):
        if gcd(number, modulus) == 1:
            blind(number, modulus, number)
            continue
        for encoded, factor in ((number, 1), (1, number)):
            with pytest.raises(InvalidToken):
                blind(encoded, modulus, factor)
    for encoded, factor in ((0, 1), (1, 0), (1, modulus), (1, modulus + 1)):
        with pytest.raises(InvalidToken):
            blind(encoded, modulus, factor)
