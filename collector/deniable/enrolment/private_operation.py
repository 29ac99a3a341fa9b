"""The private operation of an RSA key, constant in time as far as Python can have it.

The exponentiations are GMP's ``mpz_powm_sec``: the same operations on the same places in memory for
all numbers of a size. They run modulo each prime, which is 3.6 times as fast as modulo the product.
What is around them is not constant in time, and so never sees what was asked: it is multiplied by a
power of a fresh random factor before, and by its inverse afterwards. A fault in one half would tell
the primes (Boneh, DeMillo and Lipton 1997): no result leaves that the public key does not confirm.
"""

import secrets
from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from deniable.enrolment.errors import IssuerError, KeyFileError
from deniable.privacy_pass import EXPONENT, MODULUS_BYTES


class FaultyResult(IssuerError):
    """The processor or the key is broken: a result does not verify, and was not given."""


class PrivateKey:
    """An RSA private key of one epoch; it is neither shown nor pickled.

    Args:
        key: of 2,048 bits, with the exponent 65537.
        below: returns a random number from 0 on, below its argument.

    Attributes:
        modulus: its public half, of 256 bytes.
    """

    __slots__ = ("_below", "_d_p", "_d_q", "_n", "_p", "_q", "_q_inverse", "modulus")

    def __init__(self, key: RSAPrivateKey, below: Callable[[int], int] = secrets.randbelow) -> None:
        try:
            import gmpy2  # who certifies only does without
        except ImportError as error:
            needed = 'a blind issuer needs gmpy2: pip install "deniable[issuer]"'
            raise IssuerError(needed) from error
        numbers = key.private_numbers()
        public = numbers.public_numbers
        if key.key_size != 8 * MODULUS_BYTES or public.e != EXPONENT:
            raise KeyFileError(f"not a key of 2,048 bits with the exponent {EXPONENT}")
        self.modulus: Final = public.n.to_bytes(MODULUS_BYTES)
        self._below = below
        self._n, self._p, self._q = map(gmpy2.mpz, (public.n, numbers.p, numbers.q))
        self._d_p, self._d_q = gmpy2.mpz(numbers.dmp1), gmpy2.mpz(numbers.dmq1)
        self._q_inverse = gmpy2.mpz(numbers.iqmp)

    def __repr__(self) -> str:
        return "PrivateKey(...)"

    def __reduce__(self) -> str:
        raise TypeError("a private key is not pickled")

    def answer(self, blinded: bytes) -> bytes:
        """Return the blind signature of a blinded message, which is below the modulus.

        Raises:
            FaultyResult: if it would not verify.
        """
        import gmpy2

        n, p, q = self._n, self._p, self._q
        message = gmpy2.mpz(int.from_bytes(blinded))
        factor = gmpy2.mpz(1 + self._below(int(n) - 1))
        hidden = message * gmpy2.powmod(factor, EXPONENT, n) % n
        at_p = gmpy2.powmod_sec(hidden % p, self._d_p, p)
        at_q = gmpy2.powmod_sec(hidden % q, self._d_q, q)
        root = at_q + q * ((at_p - at_q) * self._q_inverse % p)
        result = root * gmpy2.invert(factor, n) % n
        if gmpy2.powmod(result, EXPONENT, n) != message:
            raise FaultyResult("a blind signature does not verify; check the key and the machine")
        return int(result).to_bytes(MODULUS_BYTES)
