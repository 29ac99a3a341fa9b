"""The ways in which the tester looks: for bytes on disk, and at how often a response comes."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

import pytest
from scipy.stats import binom

from deniable.conformance.scenarios.noise import binomial_tail as tail
from deniable.conformance.stage import written_forms

NEEDLE = bytes(range(200, 232))


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize(
    "write",
    [
        bytes,
        lambda data: data.hex().encode(),
        b64encode,
        urlsafe_b64encode,
        lambda data: json.dumps([*data]).encode(),
    ],
)
def test_bytes_are_seen_in_whatever_form_they_stand(
    write: Callable[[bytes], bytes], before: int, after: int
) -> None:
    content = write(bytes(before) + NEEDLE + bytes(after))
    assert any(form in content for form in written_forms(NEEDLE))
    other = write(bytes(before) + NEEDLE[::-1] + bytes(after))
    assert not any(form in other for form in written_forms(NEEDLE))


@pytest.mark.parametrize("chance", [0.02, 0.2, 0.5, 0.9])
def test_a_tail_is_that_of_the_binomial_distribution(chance: float) -> None:
    for count in range(0, 241, 8):
        exact = 2 * min(binom.cdf(count, 240, chance), binom.sf(count - 1, 240, chance))
        assert tail(count, 240, chance) == pytest.approx(min(1.0, exact), rel=1e-6, abs=1e-200)
