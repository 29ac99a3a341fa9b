"""Splitting an upload into its elements: what is wrong in one of them stays its own."""

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import Refusal, codec
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(300))
MOST = 256


DEFECTIVE = [
    *("cc00", "dc000101", "a1ff", "82a16101a16102"),  # not minimal, not UTF-8, a key twice
    *("8101a161", "819101a161", "cb7ff8000000000000"),  # a key that is no text, NaN
    *("d6ff00000000", "c7010561", "cfffffffffffffffff", "c0"),  # a timestamp
    "91" * 500 + "c0",
]


@pytest.mark.parametrize("defect", DEFECTIVE)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_defect_in_one_element_leaves_the_others_alone(defect: str, position: int) -> None:
    good = [codec.encode([1, b"one"]), codec.encode([2, b"two"])]
    elements = [*good[:position], bytes.fromhex(defect), *good[position:]]
    body = codec.array_header(3) + b"".join(elements)
    assert list(codec.split_array(body, MOST)) == elements


@PROPERTY
@given(
    st.lists(
        st.one_of(st.integers(), st.text(), st.binary(), st.lists(st.none())).filter(
            lambda value: not isinstance(value, int) or -(2**63) <= value < 2**64
        ),
        min_size=1,
        max_size=40,
    )
)
def test_elements_are_split_where_they_were_joined(values: list[object]) -> None:
    elements = [msgpack.packb(value) for value in values]
    assert list(codec.split_array(msgpack.packb(values), MOST)) == elements


@PROPERTY
@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(bytes.__add__, st.sampled_from([b"\x91", b"\x93", b"\xdc\x00\x14"]), st.binary()),
    )
)
def test_what_is_split_can_be_joined_again(body: bytes) -> None:
    try:
        elements = list(codec.split_array(body, MOST))
    except Refusal:
        return
    assert 1 <= len(elements) <= MOST
    assert codec.array_header(len(elements)) + b"".join(elements) == body


@pytest.mark.parametrize("length", [1, 15, 16, 255, 256])
def test_1_to_256_elements_are_taken(length: int) -> None:
    body = codec.array_header(length) + b"\xc0" * length
    assert list(codec.split_array(body, MOST)) == [b"\xc0"] * length
