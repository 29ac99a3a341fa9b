"""The public halves of a blind issuer's keys, in a file that goes to whoever publishes the survey.

It is JSON: ``{"first": epoch, "keys": [modulus, …]}``, moduli as 512 hex digits, one for each epoch
from the first on. Halves of epochs that are over stay: a list that goes on is one that grows.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from deniable.enrolment.errors import KeyFileError
from deniable.privacy_pass import MODULUS_BYTES


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """Moduli of 256 bytes, of consecutive epochs from the first on."""

    first: int = 0
    moduli: tuple[bytes, ...] = ()

    @property
    def end(self) -> int:
        """Return the number of the first epoch behind them."""
        return self.first + len(self.moduli)

    def of(self, first: int, end: int) -> tuple[bytes, ...]:
        """Return the moduli of some epochs, as far as they are listed."""
        return self.moduli[max(0, first - self.first) : max(0, end - self.first)]

    @classmethod
    def read(cls, file: Path) -> "PublicKeys":
        """Read a file; the moduli are as they stand there, to be judged where they are used.

        Raises:
            KeyFileError: if it cannot be read, or has another form.
        """
        try:
            listed = json.loads(file.read_text("utf-8"))
            first, moduli = listed["first"], tuple(map(bytes.fromhex, listed["keys"]))
        except OSError as error:
            raise KeyFileError(f"{file}: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise KeyFileError(f"{file} is not what `deniable issuer keys` writes") from error
        sizes = {len(modulus) for modulus in moduli}
        if type(first) is not int or first < 0 or sizes != {MODULUS_BYTES}:
            raise KeyFileError(f"{file} does not list keys of 2,048 bits by their epochs")
        return cls(first, moduli)

    def text(self) -> str:
        """Return the text of such a file."""
        keys = [modulus.hex() for modulus in self.moduli]
        return json.dumps({"first": self.first, "keys": keys}, indent=1) + "\n"
