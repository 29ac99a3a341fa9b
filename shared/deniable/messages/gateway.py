"""Gateway keys, signed by the authority: with them a collector opens requests from a relay.

Whoever chooses a device's gateway key can read what the device sends and answer in the collector's
name, so a device uses only signed keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from deniable.messages import codec
from deniable.messages.ed25519 import CONTEXT_GATEWAY, SIGNATURE_BYTES, verify_by_chain
from deniable.messages.logged import MAX_PROOF_BYTES
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode
from deniable.messages.texts import check_origin
from deniable.oblivious_http import KeyConfiguration, ObliviousHttpError
from deniable.oblivious_http.encapsulation import decode_list, encode_list

GATEWAY_PATH: Final = "/.well-known/ohttp-gateway"
"""The path at which a collector opens requests (RFC 9540)."""
GATEWAY_KEYS_PATH: Final = "/v1/gateway"
"""The path of the signed keys, for devices; requested through a relay, like everything else."""

MAX_GATEWAY_KEYS: Final = 16
"""The most keys listed at once; each is identified by one byte."""
MAX_GATEWAY_KEYS_BYTES: Final = 2_048
MAX_GATEWAY_ANSWER_BYTES: Final = MAX_GATEWAY_KEYS_BYTES + MAX_PROOF_BYTES + 8
"""The longest ``[envelope, proof]`` of a list of gateway keys."""

ENCAPSULATED_REQUEST_BYTES: Final = 1_024
"""The size of everything that a device sends through a relay."""
MAX_ENCAPSULATED_ANSWER_BYTES: Final = 2 << 20
"""The largest size of an answer to it."""
_LEAST_ANSWER_BYTES: Final = 512

_MAX_SEQUENCE: Final = 2**32 - 1


def encapsulated_answer_bytes(least: int) -> int:
    """Return the size to which an encapsulated answer of at least this many bytes is padded.

    The sizes are 512 · 4^i up to 2 MiB: a relay learns only the size class of an answer.

    Raises:
        ValueError: if the answer is longer than 2 MiB.
    """
    size = _LEAST_ANSWER_BYTES
    while size < least:
        size *= 4
    if size > MAX_ENCAPSULATED_ANSWER_BYTES:
        raise ValueError("an answer through a relay must be at most 2 MiB long")
    return size


@dataclass(frozen=True)
class GatewayKeys:
    """A collector's gateway keys, newest first: devices seal for the newest.

    The sequence grows with every change of the list.
    """

    origin: str
    sequence: int
    configurations: tuple[KeyConfiguration, ...]

    def __post_init__(self) -> None:
        try:
            check_origin(self.origin)
        except InvalidManifest as error:
            raise Refusal(RefusalCode.MALFORMED, "gateway keys must name an origin") from error
        codec.uint(self.sequence, _MAX_SEQUENCE)
        listed = self.configurations
        if not 1 <= len(listed) <= MAX_GATEWAY_KEYS:
            raise Refusal(
                RefusalCode.MALFORMED, f"1 to {MAX_GATEWAY_KEYS} gateway keys must be listed"
            )
        for distinct in ({key.key_id for key in listed}, {key.public_key for key in listed}):
            if len(distinct) != len(listed):
                raise Refusal(RefusalCode.MALFORMED, "a gateway key is listed more than once")

    @cached_property
    def payload(self) -> bytes:
        """Return the canonical bytes that are signed."""
        return codec.encode([self.origin, self.sequence, encode_list(self.configurations)])

    @classmethod
    def from_payload(cls, payload: bytes) -> "GatewayKeys":
        """Read the payload's canonical bytes."""
        origin, sequence, listed = codec.exact_array(codec.decode(payload), 3)
        encoded = codec.binary(listed)
        try:
            configurations = decode_list(encoded)
        except ObliviousHttpError as error:
            raise Refusal(RefusalCode.MALFORMED, str(error)) from error
        if encode_list(configurations) != encoded:
            raise Refusal(RefusalCode.MALFORMED, "a gateway key has unsupported algorithms")
        return cls(codec.text(origin), codec.uint(sequence), configurations)


def open_gateway_keys(envelope: bytes, chain: Sequence[bytes]) -> GatewayKeys:
    """Verify an envelope under any key of an authority's chain, newest last, and read it."""
    if len(envelope) > MAX_GATEWAY_KEYS_BYTES:
        raise Refusal(RefusalCode.MALFORMED, "the list of gateway keys is too long")
    payload_field, signature_field = codec.exact_array(codec.decode(envelope), 2)
    payload = codec.binary(payload_field)
    verify_by_chain(chain, CONTEXT_GATEWAY, payload, codec.binary(signature_field, SIGNATURE_BYTES))
    return GatewayKeys.from_payload(payload)
