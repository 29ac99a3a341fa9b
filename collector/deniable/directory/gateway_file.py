"""The collector's gateway keys, in one file: their private halves, and their signed list.

1. The file is replaced as a whole, and readable by its owner only: list and keys go together.
2. A private key is kept until all surveys are over, including grace, that were published while
   devices sealed for it: their bundles contain it.

It is copied to each machine that serves the same collector.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from deniable.counterparts.signing import sign_gateway_keys
from deniable.key_files import KeyFileError, replace_file
from deniable.messages import Manifest, Refusal, SigningKey
from deniable.messages.gateway import MAX_GATEWAY_KEYS, GatewayKeys, open_gateway_keys
from deniable.oblivious_http import KeyConfiguration, PrivateKey

_FORMAT: Final = "deniable-gateway-1"
_KEY_IDS: Final = 256
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class GatewayFile:
    """The signed list of a collector's gateway keys, with their private halves by identifier.

    ``needed_until`` has the Unix seconds until which each replaced key is kept.
    """

    signed: bytes
    private_bytes: Mapping[int, bytes] = field(repr=False)
    needed_until: Mapping[int, int]

    def private_keys(self) -> dict[int, PrivateKey]:
        """Return the private keys by their identifiers."""
        return {number: PrivateKey(secret) for number, secret in self.private_bytes.items()}

    def opened(self, chain: Sequence[bytes]) -> GatewayKeys:
        """Return the list; KeyFileError if its signature or the private halves are not its own."""
        try:
            keys = open_gateway_keys(self.signed, chain)
        except Refusal as refusal:
            raise KeyFileError(
                f"the authority did not sign the gateway's keys: {refusal}"
            ) from refusal
        held = {number: key.public_key for number, key in self.private_keys().items()}
        if held != {key.key_id: key.public_key for key in keys.configurations}:
            raise KeyFileError("the gateway's private keys do not match its signed list")
        return keys


def read_gateway_file(file: Path) -> GatewayFile:
    """Read the file.

    Raises:
        FileNotFoundError: if there is none: the collector has no gateway.
        KeyFileError: if it cannot be read, or is not a file of gateway keys.
    """
    try:
        document = json.loads(file.read_bytes())
        if document["format"] != _FORMAT:
            raise ValueError(_FORMAT)
        read = GatewayFile(
            bytes.fromhex(document["signed"]),
            {int(number): bytes.fromhex(key) for number, key in document["private_keys"].items()},
            {int(number): int(end) for number, end in document["needed_until"].items()},
        )
        read.private_keys()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KeyFileError(f"{file}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise KeyFileError(f"{file} was not made by `deniable gateway new`") from error
    return read


def write_gateway_file(file: Path, gateway: GatewayFile) -> None:
    """Replace the file, durably and atomically."""
    document = {
        "format": _FORMAT,
        "signed": gateway.signed.hex(),
        "private_keys": {number: key.hex() for number, key in gateway.private_bytes.items()},
        "needed_until": dict(gateway.needed_until),
    }
    try:
        replace_file(file, json.dumps(document, indent=2).encode())
    except OSError as error:
        raise KeyFileError(f"{file} cannot be written: {error.strerror}") from error


def first_gateway(origin: str, authority: SigningKey, now: float) -> GatewayFile:
    """Return a collector's first gateway key, signed.

    Its sequence is the time in Unix seconds: above any in a file that was lost.
    """
    secret = secrets.token_bytes(_KEY_BYTES)
    keys = GatewayKeys(origin, int(now), (KeyConfiguration(0, PrivateKey(secret).public_key),))
    return GatewayFile(sign_gateway_keys(keys, authority), {0: secret}, {})


def rotated_gateway(
    gateway: GatewayFile,
    keys: GatewayKeys,
    authority: SigningKey,
    surveys: Iterable[Manifest],
    now: float,
) -> GatewayFile:
    """Return the gateway with a new key in front, and without the keys that are no longer needed.

    Its sequence is above any in a newer file that this one, if restored, may have replaced.

    Args:
        gateway: The current file.
        keys: Its opened list.
        authority: The key that signs now.
        surveys: All that were published while the list's first key was current; with none, only
            the new key remains.
        now: In Unix seconds.

    Raises:
        KeyFileError: if too many keys are needed for one more to be listed.
    """
    newest, *_ = keys.configurations
    over = max(
        (survey.schedule.end + survey.schedule.grace_seconds for survey in surveys), default=0
    )
    needed = dict.fromkeys(gateway.private_bytes, over) | dict(gateway.needed_until)
    needed[newest.key_id] = over
    kept = tuple(key for key in keys.configurations if needed[key.key_id] > now)
    if len(kept) == MAX_GATEWAY_KEYS:
        raise KeyFileError(
            f"running surveys need {MAX_GATEWAY_KEYS} gateway keys; "
            "rotate when one of these surveys ends"
        )
    number = newest.key_id
    while number in gateway.private_bytes:  # not the number of a key erased now
        number = (number + 1) % _KEY_IDS
    secret = secrets.token_bytes(_KEY_BYTES)
    listed = (KeyConfiguration(number, PrivateKey(secret).public_key), *kept)
    sequence = max(keys.sequence + 1, int(now))
    signed = sign_gateway_keys(GatewayKeys(keys.origin, sequence, listed), authority)
    held = {number: secret} | {key.key_id: gateway.private_bytes[key.key_id] for key in kept}
    return GatewayFile(signed, held, {key.key_id: needed[key.key_id] for key in kept})


def sign_gateway_anew(
    gateway: GatewayFile, chain: Sequence[bytes], authority: SigningKey
) -> GatewayFile:
    """Return the same keys, signed by the authority's next key."""
    return replace(gateway, signed=sign_gateway_keys(gateway.opened(chain), authority))
