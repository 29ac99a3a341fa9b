"""Who a request counts as: nobody can choose that, and one sender cannot be many."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.directory import Network
from deniable.server.connection_slots import is_among, mark, read_address
from deniable.server.connection_slots import sender as address_of
from tests.support.effort import effort


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    return mark(address_of(peer, forwarded, trusted))


PROXIES = [ip_network(each) for each in ("10.0.0.0/8", "2001:db8:1::/48", "127.0.0.1")]


PEERS = {
    "192.0.2.7": ["192.0.2.7", "::ffff:192.0.2.7", "::FFFF:c000:207"],
    "2001:db8::/64": ["2001:db8::1", "2001:db8:0:0:ffff:ffff:ffff:ffff"],
    "2001:db8:0:1::/64": ["2001:db8:0:1::1"],
    "::/64": ["::1"],
    "fe80::/64": ["fe80::1%eth0"],
    "": ["", "nobody", "192.0.2.07", "192.0.2.7/32", "1" * 5_000],
}


@pytest.mark.parametrize(("expected", "peers"), PEERS.items())
def test_a_sender_is_an_ipv4_address_or_an_ipv6_network(expected: str, peers: list[str]) -> None:
    for peer in peers:
        assert sender(peer, "", []) == mark(read_address(peer)) == expected


@pytest.mark.parametrize("forwarded", ["", "198.51.100.1", "10.0.0.1, 198.51.100.1", ",,", "x"])
def test_a_stranger_s_header_is_not_looked_at(forwarded: str) -> None:
    assert sender("192.0.2.7", forwarded, PROXIES) == "192.0.2.7"
    assert sender("10.0.0.1", forwarded, []) == "10.0.0.1"


FORWARDED = {
    "192.0.2.7": [
        *("192.0.2.7", " 192.0.2.7 ", "192.0.2.7:40000"),
        # Through more proxies of ours, of either kind.
        *("192.0.2.7, 10.9.9.9", "192.0.2.7,10.9.9.9,2001:db8:1::5,127.0.0.1"),
        "192.0.2.7, ::ffff:10.9.9.9",
        # What the sender wrote itself stands to the left of what our proxy saw.
        *("198.51.100.1, 192.0.2.7", "127.0.0.1, 192.0.2.7", "10.0.0.2, 192.0.2.7, 10.9.9.9"),
        *("nonsense, 192.0.2.7", ",,,192.0.2.7"),
    ],
    "2001:db8::/64": ["2001:db8::1", "[2001:db8::1]:40000", "[2001:db8::1]"],
    # What our proxy could not name.
    "": ["unknown", "198.51.100.1, unknown", "198.51.100.1, "],
    # All of them proxies of ours: the farthest one, which sent it itself.
    "10.1.1.1": ["10.1.1.1, 10.2.2.2"],
    "10.0.0.1": [""],
}


@pytest.mark.parametrize(("expected", "headers"), FORWARDED.items())
def test_behind_a_proxy_it_is_the_nearest_that_is_none(expected: str, headers: list[str]) -> None:
    for forwarded in headers:
        assert sender("10.0.0.1", forwarded, PROXIES) == expected
    assert is_among(read_address("::ffff:10.0.0.1"), PROXIES)
    assert sender("::ffff:10.0.0.1", "192.0.2.7", PROXIES) == "192.0.2.7"


@settings(max_examples=effort(100))
@given(st.text(max_size=60), st.ip_addresses(v=4))
def test_nothing_that_a_sender_writes_changes_who_it_is(written: str, seen: IPv4Address) -> None:
    there = sender("10.0.0.1", f"{written}, {seen}", PROXIES)
    trusted = any(seen in network for network in PROXIES)
    assert there == str(seen) or trusted


@settings(max_examples=effort(100))
@given(st.text(), st.text())
def test_garbage_is_never_an_error(peer: str, forwarded: str) -> None:
    everything: list[Network] = [IPv6Network("::/0"), IPv4Network("0.0.0.0/0")]
    for trusted in ([], PROXIES, everything):
        assert isinstance(sender(peer, forwarded, trusted), str)


def test_a_chain_as_long_as_headers_may_be_is_cut() -> None:
    everything = [IPv4Network("0.0.0.0/0")]
    assert sender("10.0.0.1", "192.0.2.7," + "10.0.0.1," * 100_000 + "10.0.0.2", everything) == (
        "10.0.0.1"
    )
    assert sender("10.0.0.1", "," * 500_000, everything) == ""
