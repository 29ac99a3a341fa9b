"""A public log inside a test, with three witnesses: keys of its own, in memory."""

import os
from collections.abc import Callable
from typing import Final

from deniable.messages import SigningKey, log_entry, pack_logged
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    Checkpoint,
    Log,
    LogPolicy,
    LogProof,
    VerifierKey,
    Witness,
    cosign,
    inclusion_path,
    leaf_hash,
    log_origin,
    root_hash,
    sign_checkpoint,
)

_WITNESSES: Final = ("one.example", "two.example", "three.example")


class FakeLog:
    """The log of a collector: whatever it is asked a proof of, it appends."""

    def __init__(self, collector: str, now: Callable[[], float]) -> None:
        self.cosigning = len(_WITNESSES)  # how many of the witnesses cosign
        self._now = now
        self._origin = log_origin(collector)
        self._key = SigningKey(os.urandom(32))
        self._witnesses = {name: SigningKey(os.urandom(32)) for name in _WITNESSES}
        self._leaves: list[bytes] = []

    @property
    def policy(self) -> str:
        """Return the policy that an app pins: two of the three witnesses."""
        log = Log(VerifierKey(self._origin, LOG, self._key.public_key))
        witnesses = (
            Witness(name, VerifierKey(name, COSIGNER, key.public_key))
            for name, key in self._witnesses.items()
        )
        return LogPolicy((log,), tuple(witnesses), 2).text

    def logged(self, envelope: bytes) -> bytes:
        """Return ``[envelope, proof]``, as ``Client(manifests=[...])`` takes it beside a policy."""
        return pack_logged(envelope, self.proof(envelope))

    def proof(self, envelope: bytes) -> bytes:
        """Return the proof that an envelope is in the log, as those that cosign now have seen."""
        leaf = leaf_hash(log_entry(envelope))
        if leaf not in self._leaves:
            self._leaves.append(leaf)
        index = self._leaves.index(leaf)
        checkpoint = Checkpoint(self._origin, len(self._leaves), root_hash(self._leaves))
        lines = [
            cosign(checkpoint, name, key, int(self._now()))
            for name, key in [*self._witnesses.items()][: self.cosigning]
        ]
        signed = sign_checkpoint(checkpoint, self._key).with_signatures(lines)
        return LogProof(index, inclusion_path(self._leaves, index), signed).text.encode()
