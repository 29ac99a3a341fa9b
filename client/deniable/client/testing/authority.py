"""Who signs a fake collector's manifests: honest ones, and those that no honest operator signs."""

import os
from dataclasses import replace

from deniable.client.testing.misbehaviour import FORGERIES, AnyMisbehaviour, Misbehaviour
from deniable.messages import Manifest, Rotation, SigningKey, sign_manifest, sign_rotation

__all__ = ["FakeAuthority"]


class FakeAuthority:
    """A key of its own, and every manifest that it ever signed.

    Attributes:
        public_key: 64 hex digits; the first key's, however often it is rotated.
        rotations: how it was, as signed.
    """

    def __init__(self) -> None:
        self._key = SigningKey(os.urandom(32))
        self._signed: dict[bytes, Manifest] = {}
        self._published: dict[str, list[Manifest]] = {}
        self.public_key = self._key.public_key.hex()
        self.rotations: list[bytes] = []

    def publish(self, manifest: Manifest) -> bytes:
        """Sign a manifest as the newest of its name; return the envelope."""
        self._published.setdefault(manifest.name, []).insert(0, manifest)
        return self.sign(manifest)

    def sign(self, manifest: Manifest) -> bytes:
        """Return a manifest's envelope; a device may follow it from now on."""
        self._signed[manifest.survey_id] = manifest
        return sign_manifest(manifest, self._key)

    def rotate(self) -> None:
        """Hand over to a new key, which signs from now on."""
        old, self._key = self._key, SigningKey(os.urandom(32))
        sequence = len(self.rotations) + 1
        rotation = Rotation(old.public_key, self._key.public_key, sequence)
        self.rotations.append(sign_rotation(rotation, old, self._key))

    def newest(self, name: str) -> Manifest | None:
        """Return what was published last under a name, if anything was."""
        return next(iter(self.published(name)), None)

    def published(self, name: str) -> list[Manifest]:
        """Return what was published under a name, the newest first."""
        return self._published.get(name, [])

    def known(self, survey_id: bytes) -> Manifest | None:
        """Return a manifest that was ever signed."""
        return self._signed.get(survey_id)

    def forge(self, misbehaviour: AnyMisbehaviour, published: Manifest) -> bytes:
        """Return the envelope of another manifest than the published one.

        Raises:
            ValueError: for a misbehaviour that is no forgery.
        """
        if misbehaviour not in FORGERIES:
            raise ValueError(f"{misbehaviour} signs nothing")
        other = replace(published, nonce=os.urandom(16))
        if misbehaviour is Misbehaviour.WRONG_SIGNATURE:
            return sign_manifest(other, SigningKey(os.urandom(32)))
        if misbehaviour is Misbehaviour.WRONG_ORIGIN:
            return self.sign(replace(other, origin="https://elsewhere.example"))
        if misbehaviour is Misbehaviour.ROLLED_BACK:
            return self.sign(replace(other, sequence=published.sequence - 1))
        return self.sign(other)  # with the same sequence: an equivocation
