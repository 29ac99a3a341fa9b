"""Golden manifests: of every kind and mode, from their fields to their envelopes."""

from typing import Any

from deniable.counterparts.signing import sign_manifest
from deniable.messages import Manifest
from tests.vectors import scene
from tests.vectors.layout import Case, case, group
from tests.vectors.mechanisms import MEAN, matrix_digest

SIXTEENTH = 2**60
FIFTH = 5 * SIXTEENTH - 1
FIVE_RESPONSES = [
    [*((5 * SIXTEENTH + 1 if x == y else 2 * SIXTEENTH) for y in range(4)), FIFTH] for x in range(4)
]

QUESTIONS = [["plan", "free", "paid"], ["Größe", *"ABCD"]]

MANIFESTS: dict[str, dict[str, object]] = {
    "open": scene.manifest_fields(),
    "certificate": scene.manifest_fields(
        name="tea-certified", nonce=scene.seed("other nonce")[:16], enrolment=scene.CERTIFICATE
    ),
    "blind": scene.BLIND_FIELDS,
    "one issuer, delta, texts beyond ASCII": scene.manifest_fields(
        name="t",
        sequence=2**32 - 1,
        question="Wie oft trinkst du Tee? 🍵",
        categories=["nie", "manchmal", "täglich", "寿司"],
        epsilon="0.5",
        delta="0.000001",
        start=0,
        epoch_seconds=1,
        epochs=1,
        grace_seconds=0,
        origin="http://[::1]:8080",
        enrolment={"mode": "certificate", "issuers": [scene.ISSUER.public_key]},
        minimum_reports=0,
    ),
    "the mean of five numbers, by three rows": scene.manifest_fields(
        categories=["-1", "-0.5", "0", "0.5", "1"],
        mechanism=MEAN,
        epsilon="1.25",
    ),
    "a matrix whose fifth response is no category": scene.manifest_fields(
        mechanism={
            "kind": "matrix",
            "weights": FIVE_RESPONSES,
            "responses": ["rarely", "now and then", "daily", "hourly", "寿司"],
        }
    ),
    "a memoised matrix": scene.manifest_fields(
        mechanism={
            "kind": "matrix",
            "weights": [[(7 if x == y else 3) * SIXTEENTH for y in range(4)] for x in range(4)],
            "responses": [],
        },
        repeat={"kind": "memoised", "epochs": 5},
    ),
    "a subset design": scene.manifest_fields(mechanism={"kind": "subset", "d": 2}),
    "a memoised subset design": scene.manifest_fields(
        mechanism={"kind": "subset", "d": 2}, repeat={"kind": "memoised", "epochs": 5}
    ),
    "a memoised difference set, of some of its points": scene.manifest_fields(
        mechanism={"kind": "difference-set", "v": 16}, repeat={"kind": "memoised", "epochs": 5}
    ),
    "an affine design, of some of its points, with delta": scene.manifest_fields(
        mechanism={"kind": "affine", "q": 3, "m": 2, "s": 1}, delta="0.000001"
    ),
    "one question of two": scene.manifest_fields(
        categories=["plan: free", "plan: paid", *(f"Größe: {each}" for each in "ABCD")],
        mechanism={
            "kind": "one-question",
            "dimensions": QUESTIONS,
            "mechanisms": [["randomised-response"], ["subset", 2]],
        },
    ),
    "two questions at once": scene.manifest_fields(
        categories=[f"{plan} + {size}" for plan in ("free", "paid") for size in "ABCD"],
        mechanism={"kind": "joint", "dimensions": QUESTIONS, "mechanism": ["affine", 3, 2, 1]},
        delta="0.000001",
    ),
    "three levels of ordered answers": scene.manifest_fields(
        categories=list("abcdefg"),
        mechanism={
            "kind": "levels",
            "widths": [4, 2, 1],
            "mechanisms": [["randomised-response"], ["subset", 2], ["affine", 7, 1, 2]],
        },
        delta="0.000001",
    ),
    "texts by two lengths of prefixes": scene.manifest_fields(
        categories=["a", "␣"],
        mechanism={
            "kind": "strings",
            "lengths": [1, 2],
            "hashes": 1_024,
            "values": 2,
            "least": 50,
        },
    ),
    "memoised": scene.manifest_fields(repeat={"kind": "memoised", "epochs": 5}),
    "memoised numbers": scene.manifest_fields(
        categories=["1", "2", "3", "4"],
        mechanism=MEAN,
        repeat={"kind": "memoised", "epochs": 10_000},
    ),
    "two rounds": scene.manifest_fields(
        categories=[f"category {number}" for number in range(20)],
        mechanism={"kind": "two-round", "kept": "2.5", "fresh": ["subset", 1]},
        repeat={"kind": "memoised", "epochs": 7},
    ),
    "texts of most bytes": scene.manifest_fields(
        question="ä" * 512, categories=["never", "寿" * 85 + "a", "i", "\u0131"]
    ),
    "categories that case folding keeps apart": scene.manifest_fields(
        categories=["i", "\u0131", "\u0130", "a", "ä", "\u01f0\u0323", "J\u0323\u030c"]
    ),
    "texts with joiners": scene.manifest_fields(
        question="\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u06cc\u062f\u061f",
        categories=[
            "\u0d9a\u0dca\u200d\u0dbb\u0dd2\u0dba\u0dcf",
            "\u0915\u094d\u200d\u0937",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "1\ufe0f\u20e3",
            "\U0001f1f1\U0001f1f0",
        ],
    ),
    "the widest numbers": scene.manifest_fields(
        name="a" * 64,
        categories=[f"category {number}" for number in range(300)],
        epsilon="40",
        start=2**53 - 2**40 - 10_000 * 2**20 - 1,
        epoch_seconds=2**20,
        epochs=10_000,
        grace_seconds=2**40,
        minimum_reports=2**63 - 1,
    ),
}


def manifests() -> list[Case]:
    """Return the manifests that the authority signed and a device takes, at their time."""
    return [_manifest(name, fields) for name, fields in MANIFESTS.items()]


def groups() -> list[dict[str, Any]]:
    """Return the group of the authority's manifests."""
    keys = {"authority": scene.AUTHORITY.public_key, "authority_seed": scene.seed("authority")}
    return [group("Manifest", manifests(), **keys)]


def _manifest(name: str, fields: dict[str, Any]) -> Case:
    manifest = Manifest.from_payload(scene.pack(fields))
    return case(
        name,
        "WideInteger" if "widest" in name else "Ordinary",
        fields=fields,
        payload=manifest.payload,
        survey_id=manifest.survey_id,
        envelope=sign_manifest(manifest, scene.AUTHORITY),
        matrix_sha256=matrix_digest(manifest.mechanism),
    )
