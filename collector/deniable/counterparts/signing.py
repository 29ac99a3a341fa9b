"""Signatures of authorities: on manifests, gateway keys and rotations."""

from typing import TYPE_CHECKING

from deniable.messages import Manifest, Rotation, SigningKey, codec
from deniable.messages.ed25519 import (
    CONTEXT_AUTHORITY,
    CONTEXT_AUTHORITY_ACCEPT,
    CONTEXT_GATEWAY,
    CONTEXT_MANIFEST,
)

if TYPE_CHECKING:  # only for a relay
    from deniable.messages import GatewayKeys


def sign_manifest(manifest: Manifest, authority: SigningKey) -> bytes:
    """Return the signed envelope ``[payload, signature]``."""
    signature = authority.sign(CONTEXT_MANIFEST, manifest.payload)
    return codec.encode([manifest.payload, signature])


def sign_rotation(rotation: Rotation, old: SigningKey, new: SigningKey) -> bytes:
    """Return the envelope ``[payload, old signature, new signature]``."""
    if (old.public_key, new.public_key) != (rotation.old_key, rotation.new_key):
        raise ValueError("a rotation must be signed by its own two keys")
    payload = rotation.payload
    accepted = new.sign(CONTEXT_AUTHORITY_ACCEPT, payload)
    return codec.encode([payload, old.sign(CONTEXT_AUTHORITY, payload), accepted])


def sign_gateway_keys(keys: "GatewayKeys", authority: SigningKey) -> bytes:
    """Return the signed envelope ``[payload, signature]``."""
    return codec.encode([keys.payload, authority.sign(CONTEXT_GATEWAY, keys.payload)])
