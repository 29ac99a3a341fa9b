"""Canonical msgpack: one value, one encoding, exact types; hostile bytes refused cheaply."""

import tracemalloc
from collections.abc import Callable

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.messages import Refusal, RefusalCode, codec
from tests.support.effort import effort
from tests.support.refusals import code_of

PROPERTY = settings(max_examples=effort(300))

values = st.recursive(
    st.one_of(st.integers(0, 2**63 - 1), st.text(max_size=40), st.binary(max_size=300), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=20), st.dictionaries(st.text(max_size=8), inner, max_size=20)
    ),
    max_leaves=30,
)

# Any bytes, and bytes that nearly are a message: a valid one with a few of its bytes replaced.
mutated = st.builds(
    lambda value, where, what: (
        (data := msgpack.packb(value))[: where % len(data)] + what + data[where % len(data) + 1 :]
    ),
    values,
    st.integers(0, 10_000),
    st.binary(max_size=6),
)


@PROPERTY
@given(values)
def test_what_is_encoded_is_decoded(value: object) -> None:
    assert codec.decode(codec.encode(value)) == value


@PROPERTY
@given(st.one_of(st.binary(max_size=200), mutated, values.map(msgpack.packb)))
@example(bytes.fromhex("c3"))
@example(bytes.fromhex("cb3ff0000000000000"))
def test_what_is_decoded_has_no_other_encoding(data: bytes) -> None:
    code = code_of(codec.decode, data)
    assert code in {None, RefusalCode.MALFORMED}
    if code is None:
        assert codec.encode(codec.decode(data)) == data


def test_claimed_lengths_are_not_believed_to_the_point_of_allocating_them() -> None:
    # 64 KiB of arrays in arrays, each claiming as many elements as there are bytes. A decoder
    # that made room for all of them at once would ask for 8 × 65,000 × 1,020 bytes = 530 MB
    # (msgpack 1.1.0 was measured to); 128 MiB is 2,000 times the input, and generous.
    data = (b"\xdd" + (65_000).to_bytes(4, "big")) * 1_020
    data += bytes(65_536 - len(data))
    tracemalloc.start()
    try:
        code = code_of(codec.decode, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code is RefusalCode.MALFORMED
    assert peak < 128 * 2**20


# Values that come through decode(), since they are their own canonical encoding, and that only the
# readers of exact types refuse. In Python [True, 1.0] == [1, 1].
UNWANTED: list[object] = [
    *(True, False, None, 1.0, 0.0, -0.0, float("nan"), float("inf"), -1, -(2**63), 2**63),
    *(2**64 - 1, msgpack.ExtType(5, b"12345678"), msgpack.Timestamp(1_800_000_000, 0)),
]
READERS: list[Callable[[object], object]] = [
    codec.uint,
    codec.text,
    codec.binary,
    lambda value: codec.exact_array(value, 1),
    lambda value: codec.exact_map(value, ("a",)),
]


@pytest.mark.parametrize("reader", range(len(READERS)))
def test_each_reader_takes_its_own_kind_only(reader: int) -> None:
    kinds: list[object] = [7, "text", b"bytes", [7], {"a": 7}]
    for kind, value in enumerate([*kinds, *UNWANTED]):
        code = code_of(READERS[reader], codec.decode(msgpack.packb(value)))
        assert code is (None if kind == reader else RefusalCode.MALFORMED), value


@pytest.mark.parametrize("length", [0, 31, 33])
def test_bytes_have_exactly_the_length_of_their_field(length: int) -> None:
    assert codec.uint(9, most=9) == 9
    assert code_of(codec.uint, 10, 9) is RefusalCode.MALFORMED
    assert codec.binary(bytes(32), 32) == bytes(32)
    assert code_of(codec.binary, bytes(length), 32) is RefusalCode.MALFORMED
    assert code_of(codec.exact_array, [0] * length, 32) is RefusalCode.MALFORMED


def test_maps_have_exactly_the_listed_keys_in_the_listed_order() -> None:
    keys = ("a", "b")
    assert codec.exact_map({"a": 1, "b": 2}, keys) == {"a": 1, "b": 2}
    for wrong in ({"b": 2, "a": 1}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, b"b": 2}, {}):
        assert code_of(codec.exact_map, wrong, keys) is RefusalCode.MALFORMED


def test_a_refusal_repeats_nothing_of_the_bytes() -> None:
    for data in (b"\xa6marker\x00", b"\xc4\x07marker", msgpack.packb({"marker": 1}) + b"x"):
        with pytest.raises(Refusal) as refusal:
            codec.decode(data)
        assert "marker" not in str(refusal.value)
