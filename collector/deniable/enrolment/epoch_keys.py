"""A blind issuer's private keys for one survey name: a file per epoch, erased when it is over.

K1. A key is created once. Creating keys again after a crash reuses the existing ones.
K2. Files are for their owner only, and durable before a public half is written.
K3. An erased key was overwritten in place, and removed from the directory, before that is reported.
    Copies in a backup, a snapshot, a journal or the flash below the file system are not erased.
"""

import json
import os
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from deniable.enrolment.record import IssuerError
from deniable.key_files import (
    KeyFileError,
    create_whole,
    read_private,
    replace_file,
    synchronise,
)
from deniable.privacy_pass import EXPONENT, MODULUS_BYTES

# The private operation of an RSA key, constant in time as far as Python allows. The exponentiations
# are GMP's ``mpz_powm_sec``: the same operations on the same memory locations for all numbers of a
# size. They run modulo each prime, which is 3.6 times as fast as modulo the product. The
# surrounding code is not constant in time, and so never sees the request itself: it is multiplied
# by a power of a fresh random factor before, and by its inverse afterwards. A fault in one half
# would reveal the primes (Boneh, DeMillo and Lipton 1997), so every result is verified with the
# public key before it leaves.


class FaultyResult(IssuerError):
    """The processor or the key is faulty: a result did not verify, and was not returned."""


class PrivateKey:
    """An RSA private key of one epoch.

    Args:
        key: a key of 2,048 bits, with the exponent 65537.
        below: returns a random number from 0 on, below its argument.

    Attributes:
        modulus: its public half, of 256 bytes.
    """

    __slots__ = ("_below", "_d_p", "_d_q", "_n", "_p", "_q", "_q_inverse", "modulus")

    def __init__(self, key: RSAPrivateKey, below: Callable[[int], int] = secrets.randbelow) -> None:
        try:
            import gmpy2  # not needed for certificates
        except ImportError as error:
            needed = 'a blind issuer needs gmpy2: pip install "deniable[issuer]"'
            raise IssuerError(needed) from error
        numbers = key.private_numbers()
        public = numbers.public_numbers
        if key.key_size != 8 * MODULUS_BYTES or public.e != EXPONENT:
            raise KeyFileError(f"the key does not have 2,048 bits and the exponent {EXPONENT}")
        self.modulus: Final = public.n.to_bytes(MODULUS_BYTES)
        self._below = below
        self._n, self._p, self._q = map(gmpy2.mpz, (public.n, numbers.p, numbers.q))
        self._d_p, self._d_q = gmpy2.mpz(numbers.dmp1), gmpy2.mpz(numbers.dmq1)
        self._q_inverse = gmpy2.mpz(numbers.iqmp)

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
            raise FaultyResult("a blind signature is invalid; check the key and the machine")
        return int(result).to_bytes(MODULUS_BYTES)


# The public halves of a blind issuer's keys, in a file for the survey's publisher. It is JSON:
# ``{"first": epoch, "keys": [modulus, …]}``, moduli as 512 hex digits, one for each epoch from the
# first on. Halves of past epochs stay, so the list only grows.


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """Moduli of 256 bytes, for consecutive epochs from the first on."""

    first: int = 0
    moduli: tuple[bytes, ...] = ()

    @property
    def end(self) -> int:
        """Return the number of the first epoch after them."""
        return self.first + len(self.moduli)

    def of(self, first: int, end: int) -> tuple[bytes, ...]:
        """Return the listed moduli of some epochs."""
        return self.moduli[max(0, first - self.first) : max(0, end - self.first)]

    @classmethod
    def read(cls, file: Path) -> "PublicKeys":
        """Read a file; the moduli are returned unchecked, and judged where they are used.

        Raises:
            KeyFileError: if it cannot be read, or has the wrong form.
        """
        try:
            listed = json.loads(file.read_text("utf-8"))
            first, moduli = listed["first"], tuple(map(bytes.fromhex, listed["keys"]))
        except OSError as error:
            raise KeyFileError(f"{file}: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise KeyFileError(f"{file} was not written by `deniable issuer keys`") from error
        sizes = {len(modulus) for modulus in moduli}
        if type(first) is not int or first < 0 or sizes != {MODULUS_BYTES}:
            raise KeyFileError(f"{file} does not list 2,048-bit keys by epoch")
        return cls(first, moduli)

    def text(self) -> str:
        """Return the text of the public file."""
        keys = [modulus.hex() for modulus in self.moduli]
        return json.dumps({"first": self.first, "keys": keys}, indent=1) + "\n"


PUBLIC_FILE: Final = "issuer-keys.json"
"""The file of the public halves, in the directory of the private ones."""


class EpochKeys:
    """The directory of one survey name's keys; safe to share between threads and processes.

    Raises:
        KeyFileError: if it is missing or invalid.
    """

    def __init__(self, directory: Path) -> None:
        self.directory: Final = directory
        self._read: dict[bytes, PrivateKey] = {}
        self.public = PublicKeys()
        self.renew()

    def renew(self) -> None:
        """Read the keys that were added since."""
        self.public = PublicKeys.read(self.directory / PUBLIC_FILE)

    def holds(self, modulus: bytes) -> bool:
        """Return whether the private half of a modulus is here, and not erased."""
        return modulus in self.public.moduli and self._file(modulus).exists()

    def key(self, modulus: bytes) -> PrivateKey:
        """Return the private half of a modulus that is listed here.

        Raises:
            KeyFileError: if it is erased, readable by others, or has a different modulus.
        """
        if (key := self._read.get(modulus)) is None:
            file = self._file(modulus)
            key = PrivateKey(_read_key(file))
            if key.modulus != modulus:
                raise KeyFileError(f"{file} is not the key that {PUBLIC_FILE} lists")
            self._read[modulus] = key
        return key

    def erase(self, moduli: Collection[bytes]) -> None:
        """Erase those private halves of moduli that are here.

        Raises:
            KeyFileError: if a file cannot be overwritten or removed.
        """
        for modulus in self.public.moduli:
            if modulus in moduli:
                self._read.pop(modulus, None)
                file = self._file(modulus)
                try:
                    _erase(file)
                except OSError as error:
                    raise KeyFileError(f"{file} cannot be erased: {error.strerror}") from error

    def _file(self, modulus: bytes) -> Path:
        return _key_file(self.directory, self.public.first + self.public.moduli.index(modulus))


def create_epoch_keys(directory: Path, epochs: int, first: int | None = None) -> PublicKeys:
    """Create keys for this many epochs, after those in the directory; return all public halves.

    Args:
        directory: created if missing.
        epochs: the number, from 1 on.
        first: the number of the first epoch; if there are keys, the one after the last.

    Raises:
        KeyFileError: if they cannot be written, or would leave a gap.
    """
    public_file = directory / PUBLIC_FILE
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        listed = PublicKeys(first or 0)
        if public_file.exists():
            listed = PublicKeys.read(public_file)
            if first not in {None, listed.end}:
                raise KeyFileError(
                    f"{directory} has keys of epochs {listed.first} to {listed.end - 1}; the "
                    f"next must begin at epoch {listed.end}"
                )
        files = [_key_file(directory, epoch) for epoch in range(listed.end, listed.end + epochs)]
        made = tuple(_modulus(_created(file)) for file in files)
        synchronise(directory)
        public = PublicKeys(listed.first, listed.moduli + made)
        replace_file(public_file, public.text().encode(), mode=0o644)
    except OSError as error:
        raise KeyFileError(f"{directory} cannot be written: {error.strerror}") from error
    return public


def _created(file: Path) -> RSAPrivateKey:
    # The longest part; no key is listed before all exist.
    key = generate_private_key(EXPONENT, 8 * MODULUS_BYTES)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key if create_whole(file, pem) else _read_key(file)


def _read_key(file: Path) -> RSAPrivateKey:
    try:
        # Each of its results is verified, so checking its primes is unnecessary.
        key = load_pem_private_key(
            read_private(file), password=None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"{file} is not an unencrypted PEM private key") from error
    if not isinstance(key, RSAPrivateKey):
        raise KeyFileError(f"{file} is not an RSA key")
    return key


def _erase(file: Path) -> None:
    """Overwrite a file in place, and remove it, if it exists."""
    with suppress(FileNotFoundError):
        with file.open("r+b") as stream:
            stream.write(bytes(os.fstat(stream.fileno()).st_size))
            stream.flush()
            os.fsync(stream.fileno())
        file.unlink()
        synchronise(file.parent)


def _key_file(directory: Path, epoch: int) -> Path:
    return directory / f"epoch-{epoch:05}.pem"


def _modulus(key: RSAPrivateKey) -> bytes:
    return key.public_key().public_numbers().n.to_bytes(MODULUS_BYTES)
