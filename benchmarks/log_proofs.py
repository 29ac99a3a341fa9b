"""Proofs of a log of 1,000 entries with three cosignatures: their size, and what checking takes."""

import os
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from benchmarks.rounds import interleave, processor_seconds_each
from benchmarks.table import Row, show
from deniable.logs import (
    COSIGNER,
    LOG,
    Checkpoint,
    Log,
    LogPolicy,
    LogProof,
    VerifierKey,
    Witness,
    cosign,
    leaf_hash,
    sign_checkpoint,
)
from deniable.messages import SigningKey
from deniable.public_log.publish.tree import inclusion_path, root_hash

_ORIGIN: Final = "telemetry.example.org/log"
_ENTRIES: Final = [os.urandom(400) for _ in range(1_000)]
_LEAVES: Final = [leaf_hash(entry) for entry in _ENTRIES]
_CHECKS: Final = 200


def run() -> None:
    """Measure and print."""
    log_key, *witness_keys = (SigningKey(os.urandom(32)) for _ in range(4))
    witnesses = tuple(
        Witness(f"w{number}", VerifierKey(f"w{number}.example.org", COSIGNER, key.public_key))
        for number, key in enumerate(witness_keys)
    )
    vkey = VerifierKey(_ORIGIN, LOG, log_key.public_key)
    policy = LogPolicy((Log(vkey),), witnesses, 2)
    checkpoint = Checkpoint(_ORIGIN, len(_LEAVES), root_hash(_LEAVES))
    lines = [
        cosign(checkpoint, witness.key.name, key, 1_800_000_000)
        for witness, key in zip(witnesses, witness_keys, strict=True)
    ]
    signed = sign_checkpoint(checkpoint, log_key).with_signatures(lines)
    text = LogProof(617, inclusion_path(_LEAVES, 617), signed).text
    message = checkpoint.body.encode()
    signature = log_key.sign(b"", message)

    def bare() -> None:
        for _ in range(4):
            Ed25519PublicKey.from_public_bytes(log_key.public_key).verify(signature, message)

    found = interleave(
        {
            "ours": processor_seconds_each(
                lambda: policy.check(_ENTRIES[617], LogProof.parse(text)), _CHECKS
            ),
            "bare": processor_seconds_each(bare, _CHECKS),
            "path": processor_seconds_each(lambda: inclusion_path(_LEAVES, 617), _CHECKS),
        }
    )
    show(
        f"a log's proof: 1,000 entries, three cosignatures, {len(text.encode()):,} bytes",
        [
            Row("read and checked", found["ours"].scaled(1e3), "ms"),
            Row("÷ its four signatures by OpenSSL", found["ours"] / found["bare"]),
            Row("a path, made of the leaves", found["path"].scaled(1e3), "ms"),
        ],
    )
