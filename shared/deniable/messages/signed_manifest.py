"""The manifest's envelope: signed, verified before it is read, and several of them in one answer.

Whoever is not the authority can make anybody hash up to 1 MiB, and nothing more: the signature is
over bytes whose place in the envelope follows from its length alone, so that nothing is decoded
before it is verified. Decoding costs some 70 times a payload's size.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from deniable.messages import codec
from deniable.messages.ed25519 import (
    CONTEXT_MANIFEST,
    SIGNATURE_BYTES,
    SigningKey,
    verify_by_chain,
)
from deniable.messages.logged import LoggedEnvelope, pack_all_logged, split_logged
from deniable.messages.manifest import MAX_MANIFEST_BYTES, Manifest
from deniable.messages.refusals import Refusal, RefusalCode

MAX_MANIFESTS: Final = 16
"""How many manifests of a name a collector offers at once."""

MAX_MANIFESTS_BYTES: Final = (2 << 20) - 1_024
"""The longest answer that offers them: sealed for a relay, it has 2 MiB at most."""

_PAIR: Final = b"\x92"
_SIGNATURE_HEADER: Final = bytes((0xC4, SIGNATURE_BYTES))

_BIN_FORMS: Final = (("c4", 1, 0), ("c5", 2, 1 << 8), ("c6", 4, 1 << 16))
"""msgpack's forms of bytes: first byte, bytes of the length, and the least length to use it for."""


def sign_manifest(manifest: Manifest, authority: SigningKey) -> bytes:
    """Return the signed envelope ``[payload, signature]``."""
    signature = authority.sign(CONTEXT_MANIFEST, manifest.payload)
    return codec.encode([manifest.payload, signature])


def open_manifest(envelope: bytes, authority: bytes) -> Manifest:
    """Verify a manifest's envelope under the authority's public key, and then read it."""
    return open_manifest_of_chain(envelope, (authority,))[0]


def open_manifest_of_chain(envelope: bytes, chain: Sequence[bytes]) -> tuple[Manifest, bytes]:
    """Verify an envelope under any key of an authority's chain, the newest last, and then read it.

    Returns:
        The manifest, and the key that signed it.
    """
    payload, signature = _split(envelope)
    signer = verify_by_chain(chain, CONTEXT_MANIFEST, payload, signature)
    return Manifest.from_payload(payload), signer


def pack_manifests(envelopes: Sequence[bytes], proofs: Sequence[bytes] = ()) -> bytes:
    """Return the array of ``[envelope, proof]``, the newest first, that a collector offers.

    That is of as many as fit. Proofs may be left out.
    """
    packed, pairs = b"", pack_all_logged(envelopes, proofs)
    for most in range(min(len(pairs), MAX_MANIFESTS), -1, -1):
        packed = codec.array_header(most) + b"".join(pairs[:most])
        if len(packed) <= MAX_MANIFESTS_BYTES:
            break
    return packed


def split_manifests(body: bytes) -> list[LoggedEnvelope]:
    """Return the envelopes of an offered array, neither verified nor decoded, and their proofs."""
    if len(body) > MAX_MANIFESTS_BYTES:
        raise Refusal(RefusalCode.TOO_LARGE, "manifests of a name have at most 2 MiB together")
    return list(_pairs(codec.split_array(body, MAX_MANIFESTS)))


def _pairs(elements: Iterator[bytes]) -> Iterator[LoggedEnvelope]:
    for element in elements:
        try:
            yield split_logged(element)
        except Refusal:  # it is refused when it is opened, and leaves the others alone
            yield LoggedEnvelope(element, b"")


def _split(envelope: bytes) -> tuple[bytes, bytes]:
    """Return payload and signature of a canonical envelope, whose length fixes where they are."""
    end = len(envelope) - SIGNATURE_BYTES - len(_SIGNATURE_HEADER)
    for first, width, least in _BIN_FORMS:
        header = _PAIR + bytes.fromhex(first)
        start = len(header) + width
        length = end - start
        if least <= length <= min(MAX_MANIFEST_BYTES, (1 << 8 * width) - 1):
            framed = envelope.startswith(header + length.to_bytes(width, "big"))
            if framed and envelope[end:-SIGNATURE_BYTES] == _SIGNATURE_HEADER:
                return envelope[start:end], envelope[-SIGNATURE_BYTES:]
    raise Refusal(RefusalCode.MALFORMED, "not an envelope of at most 1 MiB and a signature")
