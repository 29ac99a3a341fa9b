"""HPKE against the vectors of RFC 9180, appendix A.1.1."""

import pytest

from deniable.oblivious_http import KeyConfiguration, ObliviousHttpError, PrivateKey
from deniable.oblivious_http.encapsulation import ALGORITHMS, Exchange, seal_request
from deniable.server.sealed_requests import open_request

h = bytes.fromhex
INFO = b"Ode on a Grecian Urn"
EPHEMERAL = PrivateKey(h("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"))
KEY = PrivateKey(h("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
MESSAGE = b"Beauty is truth, truth beauty"
ENCAPSULATED = h("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
SEALED = h(
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
)
EXPORTED = {
    b"": "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee",
    b"\0": "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5",
    b"TestContext": "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931",
}
SMALL_ORDER = (
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)
"""u coordinates of the points of order 1, 2, 4 and 8 on the curve and its twist (RFC 7748, 6.1)."""


def exchange(agreed: bytes) -> Exchange:
    return Exchange(agreed, ENCAPSULATED, KEY.public_key, INFO)


def test_the_vectors_of_the_standard_are_met() -> None:
    assert EPHEMERAL.public_key == ENCAPSULATED
    sender = exchange(EPHEMERAL.agree(KEY.public_key))
    receiver = exchange(KEY.agree(ENCAPSULATED))
    assert sender.aead.encrypt(sender.nonce, MESSAGE, b"Count-0") == SEALED
    assert receiver.aead.decrypt(receiver.nonce, SEALED, b"Count-0") == MESSAGE
    for purpose, exported in EXPORTED.items():
        assert sender.export(purpose, 32) == receiver.export(purpose, 32) == h(exported)


@pytest.mark.parametrize("key", [*map(h, SMALL_ORDER), *map(bytes, (0, 31, 33))])
def test_a_key_of_small_order_or_of_no_32_bytes_agrees_on_nothing(key: bytes) -> None:
    with pytest.raises(ObliviousHttpError):
        KEY.agree(key)
    with pytest.raises(ObliviousHttpError):
        seal_request(KeyConfiguration(1, key), b"")
    with pytest.raises(ObliviousHttpError):
        open_request({1: KEY}, b"\1" + ALGORITHMS + key + bytes(32))
    if len(key) != 32:
        with pytest.raises(ValueError, match="32"):
            PrivateKey(key)
