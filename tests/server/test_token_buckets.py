"""Token buckets: what one sender may send, in bounded memory, by a clock that tests move."""

from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.messages import pack_upload
from deniable.server.sender_limits import TokenBuckets
from tests.server.collector import problem, running
from tests.support.clock import FakeClock


def buckets(rate: float, burst: float, most: int = 1_000) -> tuple[TokenBuckets, FakeClock]:
    clock = FakeClock(0.0)
    return TokenBuckets(rate, burst, clock, most), clock


@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(1, 9)), max_size=60),
)
def test_a_batch_is_taken_whole_as_soon_as_so_much_has_flowed_in_for_its_sender(
    rate: int, burst: int, requests: list[tuple[str, int, int]]
) -> None:
    made, clock = buckets(rate, burst)
    held = {"a": float(burst), "b": float(burst)}
    for sender, quarters, tokens in requests:
        clock.time += quarters / 4  # which floats add up exactly
        held = {each: min(burst, left + rate * quarters / 4) for each, left in held.items()}
        passes = tokens <= held[sender]
        assert made.take(sender, tokens) is passes
        held[sender] -= tokens * passes


def test_no_rate_is_no_limit_and_only_so_many_are_remembered() -> None:
    made, _ = buckets(rate=0, burst=0)
    assert all(made.take("a", 1e9) for _ in range(100))
    assert len(made._buckets) == 0
    made, clock = buckets(rate=1, burst=2, most=100)
    for sender in range(1_000):
        clock.time += 0.001
        assert made.take(sender)
        assert len(made._buckets) <= 100


def test_whoever_was_heard_of_longest_ago_is_forgotten_first() -> None:
    made, _ = buckets(rate=1, burst=1, most=2)
    assert made.take("steady")
    for sender in range(100):  # one stranger between each two of its requests
        assert made.take(sender)
        assert not made.take("steady"), "strangers bought it a full bucket"
    assert made.take("other")
    assert made.take("another")
    assert made.take("steady"), "it was silent for longer than the other two"


LARGE = b"\xc5\xea\x60" + bytes(60_000)
BATCH = b"\xdc\x01\x00" + b"\xc0" * 256  # as many elements as one request may hold


@pytest.mark.parametrize(
    ("trusted", "statuses"), [([], [200, 429, 429]), (["127.0.0.1"], [200, 200, 429])]
)
async def test_an_address_is_limited_and_only_a_trusted_proxy_says_whose_it_is(
    tmp_path: Path, trusted: list[str], statuses: list[int]
) -> None:
    # So slow that no second batch fits, however long the test takes; the first always does.
    settings = {"address_rate": 1e-6, "trusted_proxies": tuple(map(ip_network, trusted))}
    async with running(tmp_path, **settings) as collector:
        answers = [
            await collector.upload(BATCH, {"X-Forwarded-For": sender})
            for sender in ("192.0.2.1", "192.0.2.2", "198.51.100.9, 192.0.2.1")
        ]
        assert [answer.status for answer in answers] == statuses
        assert await problem(answers[-1]) == (429, "rate-limited")
    # What is full by its bytes costs as much as by its reports.
    async with running(tmp_path, address_rate=1e-6) as collector:
        answers = [await collector.upload(pack_upload([LARGE])) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 429]
