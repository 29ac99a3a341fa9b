"""Vectors of the public log: proofs with cosignatures that a policy accepts."""

from collections.abc import Iterator
from dataclasses import replace

from deniable import logs
from deniable.messages import SigningKey
from deniable.messages.logged import log_entry
from deniable.public_log.publish.tree import inclusion_path, root_hash
from tests.vectors.layout import Case, case
from tests.vectors.scene import NOW, OPEN_PAYLOAD, manifest_envelope, seed

ORIGIN = "collector.example/log"
LOG_KEY = SigningKey(seed("log"))
WITNESSES = {f"witness{i}.example": SigningKey(seed(f"witness {i}")) for i in range(3)}
MANIFEST = manifest_envelope(OPEN_PAYLOAD)
LONG = bytes(65_536)
ENTRIES = [MANIFEST, *(b"entry %d" % number for number in range(1, 1_000)), log_entry(LONG)]
LEAVES = [logs.leaf_hash(entry) for entry in ENTRIES]


def policy() -> str:
    """Return a policy: two of three witnesses."""
    lines = [f"log {logs.VerifierKey(ORIGIN, logs.LOG, LOG_KEY.public_key)}"]
    for number, (name, key) in enumerate(WITNESSES.items()):
        lines.append(f"witness w{number} {logs.VerifierKey(name, logs.COSIGNER, key.public_key)}")
    return "\n".join([*lines, "group g 2 w0 w1 w2", "quorum g", ""])


def proof(
    index: int, size: int = len(LEAVES), witnesses: tuple[int, ...] = (0, 1)
) -> logs.LogProof:
    """Return a proof by the log's first so many entries, cosigned by some witnesses."""
    checkpoint = logs.Checkpoint(ORIGIN, size, root_hash(LEAVES[:size]))
    names = [*WITNESSES]
    lines = [
        logs.cosign(checkpoint, names[number], WITNESSES[names[number]], NOW)
        for number in witnesses
    ]
    signed = logs.sign_checkpoint(checkpoint, LOG_KEY).with_signatures(lines)
    return logs.LogProof(index, inclusion_path(LEAVES[:size], index), signed)


def proofs() -> Iterator[Case]:
    """Return proofs that the policy accepts."""
    signed = proof(0).checkpoint
    stranger = logs.cosign(signed.checkpoint, "other.example", SigningKey(bytes(32)), NOW)
    others = replace(proof(0), checkpoint=proof(0).checkpoint.with_signatures([stranger]))
    for what, envelope, given, names in (
        ("the first of all", MANIFEST, proof(0), [0, 1]),
        ("the only one", MANIFEST, proof(0, 1), [0, 1]),
        ("one in the middle", ENTRIES[617], proof(617), [0, 1]),
        ("one beside none", ENTRIES[2], proof(2, 3), [0, 1]),
        ("an envelope of 65,536 bytes", LONG, proof(1_000), [0, 1]),
        ("three cosignatures", MANIFEST, proof(0, witnesses=(2, 0, 1)), [0, 1, 2]),
        ("a signature of somebody else's", MANIFEST, others, [0, 1]),
    ):
        yield case(
            f"log proof: {what}",
            "Ordinary",
            envelope=envelope,
            proof=given.text,
            entry=log_entry(envelope),
            witnesses=[f"witness{number}.example" for number in names],
        )
