"""Policies and the proofs that they accept."""

from deniable.messages import SigningKey
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    Checkpoint,
    LogPolicy,
    LogProof,
    VerifierKey,
    cosign,
    inclusion_path,
    leaf_hash,
    root_hash,
    sign_checkpoint,
)

ORIGIN = "telemetry.example.org/log"
LOG_KEY = SigningKey(bytes(range(32)))
WITNESSES = [SigningKey(bytes([number]) * 32) for number in range(3)]
ENTRIES = [b"entry %d" % number for number in range(1000)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]


def policy_text(quorum: int = 2) -> str:
    keys = (
        VerifierKey(f"witness{number}.example", COSIGNER, key.public_key)
        for number, key in enumerate(WITNESSES)
    )
    witnesses = "".join(f"witness w{number} {key}\n" for number, key in enumerate(keys))
    log = VerifierKey(ORIGIN, LOG, LOG_KEY.public_key)
    return f"# ours\n\nlog {log}\n{witnesses}group all {quorum} w0 w1 w2\nquorum all\n"


def proof(index: int, cosigners: int = 3) -> LogProof:
    checkpoint = Checkpoint(ORIGIN, len(LEAVES), root_hash(LEAVES))
    lines = [
        cosign(checkpoint, f"witness{number}.example", key, 1_700_000_000)
        for number, key in enumerate(WITNESSES[:cosigners])
    ]
    signed = sign_checkpoint(checkpoint, LOG_KEY).with_signatures(lines)
    return LogProof(index, inclusion_path(LEAVES, index), signed)


def test_a_proof_with_a_quorum_is_accepted() -> None:
    policy = LogPolicy.parse(policy_text())
    text = proof(617).text
    assert LogProof.parse(text).text == text
    assert len(policy.check(ENTRIES[617], LogProof.parse(text.encode()))) == 3
