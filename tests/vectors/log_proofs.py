"""Vectors of the public log: proofs with cosignatures that a policy accepts, and others."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from deniable import logs
from deniable.messages import SigningKey
from deniable.messages.logged import log_entry
from deniable.public_log.publish.tree import inclusion_path, root_hash
from tests.vectors.layout import Case, case, group
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


def groups() -> list[dict[str, Any]]:
    """Return the group of log_proofs.json."""
    return [group("LogProof", [*good(), *bad()], policy=policy())]


def proof(
    index: int,
    size: int = len(LEAVES),
    *,
    by: SigningKey = LOG_KEY,
    witnesses: tuple[int, ...] = (0, 1),
    origin: str = ORIGIN,
    cosigned: logs.Checkpoint | None = None,
) -> logs.LogProof:
    """Return a proof by the log's first so many entries, cosigned by some witnesses."""
    checkpoint = logs.Checkpoint(origin, size, root_hash(LEAVES[:size]))
    names = [*WITNESSES]
    lines = [
        logs.cosign(cosigned or checkpoint, names[number], WITNESSES[names[number]], NOW)
        for number in witnesses
    ]
    signed = logs.sign_checkpoint(checkpoint, by).with_signatures(lines)
    return logs.LogProof(index, inclusion_path(LEAVES[:size], index), signed)


def good() -> Iterator[Case]:
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


def bad() -> Iterator[Case]:
    """Return proofs that prove nothing to an app with this policy."""
    honest, thief = proof(617), SigningKey(seed("thief"))
    path, checkpoint = honest.path, honest.checkpoint.checkpoint
    entry, first = ENTRIES[617], base64.b64encode(path[0]).decode()
    stale = proof(617, cosigned=proof(617, 700).checkpoint.checkpoint)
    again = logs.cosign(checkpoint, *next(iter(WITNESSES.items())), NOW + 1)
    once = proof(617, witnesses=(0,)).text
    twice = f"{once}{again}\n"
    proofs: dict[str, tuple[str, bytes, str]] = {
        "of another entry": ("WrongPath", ENTRIES[618], honest.text),
        "another index": ("WrongPath", entry, replace(honest, index=616).text),
        "an index beyond": ("WrongPath", entry, replace(honest, index=1_001).text),
        "a path without its end": ("WrongPath", entry, replace(honest, path=path[:-1]).text),
        "a path that is longer": ("WrongPath", entry, replace(honest, path=(*path, path[0])).text),
        "another hash": ("WrongPath", entry, replace(honest, path=(bytes(32), *path[1:])).text),
        "no path": ("WrongPath", entry, replace(honest, path=()).text),
        "an inner node as an entry": (
            "WrongPath",
            LEAVES[616] + LEAVES[617],
            replace(honest, index=308, path=path[1:]).text,
        ),
        "one cosignature": ("Unwitnessed", entry, once),
        "no cosignature": ("Unwitnessed", entry, proof(617, witnesses=()).text),
        "one witness, two times": ("Unwitnessed", entry, twice),
        "cosignatures of an older checkpoint": ("Unwitnessed", entry, stale.text),
        "signed by another log key": ("Forged", entry, proof(617, by=thief).text),
        "another log": ("Forged", entry, proof(617, origin="other.example/log").text),
        "another size": (
            "Forged",
            entry,
            honest.text.replace(f"\n{checkpoint.size}\n", f"\n{checkpoint.size + 1}\n"),
        ),
        "empty": ("WrongLength", entry, ""),
        "truncated": ("WrongLength", entry, honest.text[:-2]),
        "another form": ("WrongShape", entry, honest.text.replace("@v1", "@v2", 1)),
        "without its index": ("WrongShape", entry, honest.text.replace("index 617\n", "", 1)),
        "an index with a zero in front": (
            "NotCanonical",
            entry,
            honest.text.replace("index 617", "index 0617", 1),
        ),
        "lines that end in CR LF": ("NotCanonical", entry, honest.text.replace("\n", "\r\n")),
        "a hash without its padding": (
            "NotCanonical",
            entry,
            honest.text.replace(first, first.rstrip("=")),
        ),
    }
    for what, (flag, envelope, text) in proofs.items():
        yield case(f"log proof: {what}", flag, code="not-witnessed", envelope=envelope, proof=text)
