"""RSA keys of a blind issuer that are the same in each run, its raw signature, hostile ones."""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from math import gcd, isqrt, prod
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateNumbers,
    RSAPublicNumbers,
    rsa_crt_dmp1,
    rsa_crt_dmq1,
    rsa_crt_iqmp,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from deniable.privacy_pass import EXPONENT, MODULUS_BYTES


@dataclass(frozen=True)
class RsaKey:
    """Two primes; not constant in time, and for tests only."""

    p: int
    q: int

    @property
    def modulus(self) -> bytes:
        """Return the public half."""
        return (self.p * self.q).to_bytes(MODULUS_BYTES)

    @cached_property
    def pkcs8(self) -> bytes:
        """Return the private half as other implementations read it."""
        d = pow(EXPONENT, -1, (self.p - 1) * (self.q - 1))
        public = RSAPublicNumbers(EXPONENT, self.p * self.q)
        p, q = self.p, self.q
        crt = rsa_crt_dmp1(d, p), rsa_crt_dmq1(d, q), rsa_crt_iqmp(p, q)
        private = RSAPrivateNumbers(p, q, d, *crt, public).private_key()
        return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a token request, whatever key it names."""
        blinded = int.from_bytes(request[3:])
        at_p, at_q = (pow(blinded, pow(EXPONENT, -1, p - 1), p) for p in (self.p, self.q))
        answer = at_q + self.q * ((at_p - at_q) * pow(self.q, -1, self.p) % self.p)
        return answer.to_bytes(MODULUS_BYTES)


def _read() -> tuple[RsaKey, ...]:
    listed = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))["keys"]
    return tuple(RsaKey(int(key["p"], 16), int(key["q"], 16)) for key in listed)


RSA_KEYS: Final = _read()
"""Four keys."""


def hostile_moduli(honest: RsaKey, other: RsaKey) -> dict[str, bytes]:
    """Return moduli that must be refused beside the other's, made of an honest one."""
    n = int.from_bytes(honest.modulus)
    small = small_primes(1 << 16)
    many = prod(small[1:232])
    last = next(p for p in small if many * p >> 2047)
    hostile = {
        "zero": 0,
        "even": n + 1,
        "of 2,047 bits": n >> 1 | 1,
        "of 232 small primes": many * last,
        "with one factor below 2^16": small[-1] * _rough(n // small[-1]),
        "of another epoch": int.from_bytes(other.modulus),
        "with a factor of another epoch's": honest.p * other.q,
    }
    long = {what: number.to_bytes(MODULUS_BYTES) for what, number in hostile.items()}
    return long | {"of 255 bytes": honest.modulus[1:], "of 257 bytes": b"\0" + honest.modulus}


@cache
def small_primes(most: int) -> list[int]:
    """Return the primes below a number."""
    composite = {n for d in range(2, isqrt(most) + 1) for n in range(d * d, most, d)}
    return [n for n in range(2, most) if n not in composite]


def _rough(least: int) -> int:
    """Return the next number without a prime factor below 2^16."""
    product = prod(small_primes(1 << 16))
    return next(n for n in count(least | 1, 2) if gcd(n, product) == 1)
