"""RSA keys of a blind issuer that are the same in each run, and its raw signature."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a token request, whatever key it names."""
        d = pow(EXPONENT, -1, (self.p - 1) * (self.q - 1))
        return pow(int.from_bytes(request[3:]), d, self.p * self.q).to_bytes(MODULUS_BYTES)


def _read() -> tuple[RsaKey, ...]:
    listed = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))["keys"]
    return tuple(RsaKey(int(key["p"], 16), int(key["q"], 16)) for key in listed)


RSA_KEYS: Final = _read()
"""Four keys."""
