"""HPKE against the vectors of RFC 9180, appendix A.1.1."""

import pytest

from deniable.oblivious_http import ObliviousHttpError, PrivateKey
from deniable.oblivious_http.encapsulation import Sender
from deniable.server.sealed_requests import Receiver

h = bytes.fromhex
INFO = b"Ode on a Grecian Urn"
EPHEMERAL = PrivateKey(h("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"))
KEY = PrivateKey(h("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
MESSAGE = b"Beauty is truth, truth beauty"
SEALED = {
    0: "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
    1: "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6eab251c03d0c22a56b8ca42c2063b84",
    2: "498dfcabd92e8acedc281e85af1cb4e3e31c7dc394a1ca20e173cb72516491588d96a19ad4a683518973dcc180",
    4: "583bd32bc67a5994bb8ceaca813d369bca7b2a42408cddef5e22f880b631215a09fc0012bc69fccaa251c0246d",
    255: "7175db9717964058640a3a11fb9007941a5d1757fda1a"
    "6935c805c21af32505bf106deefec4a49ac38d71c9e0a",
    256: "957f9800542b0b8891badb026d79cc54597cb2d225b54"
    "c00c5238c25d05c30e3fbeda97d2e0e1aba483a2df9f2",
}
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


def test_the_vectors_of_the_standard_are_met() -> None:
    sender = Sender(KEY.public_key, INFO, EPHEMERAL)
    assert sender.encapsulated == h(
        "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
    )
    receiver = Receiver(KEY, sender.encapsulated, INFO)
    for number in range(257):
        associated = b"Count-%d" % number
        sealed = sender.seal(MESSAGE, associated)
        assert sealed.hex() == SEALED.get(number, sealed.hex())
        assert receiver.open(sealed, associated) == MESSAGE
    for context, exported in EXPORTED.items():
        assert sender.export(context, 32) == receiver.export(context, 32) == h(exported)


def test_what_did_not_open_leaves_its_number_to_the_next() -> None:
    sender = Sender(KEY.public_key, INFO, EPHEMERAL)
    receiver = Receiver(KEY, sender.encapsulated, INFO)
    sealed = sender.seal(MESSAGE)
    for altered in (sealed[:-1] + bytes((sealed[-1] ^ 1,)), sealed[:15], b"", sender.seal(MESSAGE)):
        with pytest.raises(ObliviousHttpError):
            receiver.open(altered)
    assert receiver.open(sealed) == MESSAGE


@pytest.mark.parametrize("key", [*map(h, SMALL_ORDER), *map(bytes, (0, 31, 33))])
def test_a_key_of_small_order_or_of_no_32_bytes_agrees_on_nothing(key: bytes) -> None:
    for makes in (lambda: Receiver(KEY, key, INFO), lambda: Sender(key, INFO, EPHEMERAL)):
        with pytest.raises(ObliviousHttpError):
            makes()
    if len(key) != 32:
        with pytest.raises(ObliviousHttpError):
            PrivateKey(key)
