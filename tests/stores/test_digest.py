"""The digest that seals vouch for: one value for all stores, pinned byte by byte."""

from hashlib import sha256

from deniable.stores import Counts, counts_digest
from tests.stores.places import ISSUER, OTHER_ISSUER

ID = bytes(range(32))


def test_the_digest_is_of_canonical_msgpack() -> None:
    counts: Counts = {OTHER_ISSUER: {1: 300}, None: {0: 2}, ISSUER: {1: 1, 0: 7}}
    written = (
        b"\x93"  # an array of 3
        + (b"\xc4\x20" + ID)  # the survey's id
        + b"\x05"  # the epoch
        + b"\x94"  # 4 that are not zero, in order
        + (b"\x93\xc4\x00" + b"\x00\x02")  # nobody vouched, response 0, 2 reports
        + (b"\x93\xc4\x20" + ISSUER + b"\x00\x07")
        + (b"\x93\xc4\x20" + ISSUER + b"\x01\x01")
        + (b"\x93\xc4\x20" + OTHER_ISSUER + b"\x01\xcd\x01\x2c")
    )
    assert counts_digest(ID, 5, counts) == sha256(written).digest()


def test_zeros_and_the_order_of_issuers_do_not_matter() -> None:
    some: Counts = {None: {0: 1, 1: 0}, ISSUER: {1: 2}}
    assert counts_digest(ID, 0, some) == counts_digest(
        ID, 0, {ISSUER: {2: 0, 1: 2}, OTHER_ISSUER: {}, None: {0: 1}}
    )
