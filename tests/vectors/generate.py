"""Write the vectors' files. By hand: ``.venv/bin/python -m tests.vectors.generate``.

The good ones follow from names and fixed numbers (scene.py), and Ed25519 is deterministic, so a
second run changes nothing. The bad ones stand in their files for good, and are laid out anew. A
vector that does change is a change of the protocol: devices in the field and collectors no longer
agree. Then the version in the contexts has to change with it.

A new bad one is a line in its group: ``json.dumps(case("manifest epsilon: above 40", "OutOfDomain",
code="malformed", envelope=manifest_envelope(pack(manifest_fields(epsilon="41")))))``.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgpack

from tests.vectors import (
    answers,
    golden_manifests,
    golden_messages,
    log_proofs,
    mechanisms,
    msgpack_forms,
    samplers,
    scene,
    sealed,
    tokens,
)
from tests.vectors.layout import Case, document, group
from tests.vectors.stored import read

HERE: Final = Path(__file__).parent
Group = dict[str, Any]
SIGNED: Final = {"authority": scene.AUTHORITY.public_key, "authority_seed": scene.seed("authority")}
PUBLISHED: Final = {
    "authority": scene.AUTHORITY.public_key,
    "surveys": {
        "open": scene.manifest_envelope(scene.OPEN_PAYLOAD),
        "certificate": scene.manifest_envelope(scene.CERTIFICATE_PAYLOAD),
        "blind": scene.manifest_envelope(scene.BLIND_PAYLOAD),
    },
}
ISSUER: Final = {"issuer_seed": scene.seed("issuer"), "issuer": scene.ISSUER.public_key}


def with_kinds(test: Case) -> Case:
    """Return a test of a manifest with what a device must follow to judge it, null if unclear."""
    fields: object = None
    with suppress(ValueError, TypeError, msgpack.UnpackException):
        fields = msgpack.unpackb(msgpack.unpackb(bytes.fromhex(test["envelope"]))[0])
    return test | {
        name: kind_of(fields, field, key)
        for name, field, key in (
            ("kind", "mechanism", "kind"),
            ("repeat", "repeat", "kind"),
            ("enrolment", "enrolment", "mode"),
        )
    }


def kind_of(fields: object, field: str, key: str) -> str | None:
    """Return the text that says of which kind a field of a manifest is, if there is one."""
    value = fields.get(field) if isinstance(fields, dict) else None
    kind = value.get(key) if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def one(
    kind: str, make: Callable[[], Iterable[Case]], **shared: object
) -> Callable[[], list[Group]]:
    """Return what makes the one group of good tests of a file."""
    return lambda: [group(kind, make(), **shared)]


def rotations() -> list[Group]:
    """Return the groups of rotations.json."""
    published = golden_messages.published_rotations()
    return [
        group("Rotation", golden_messages.rotations()),
        group("Rotations", published, **SIGNED),
    ]


TOPICS: Final[dict[str, tuple[str, Callable[[], list[Group]]]]] = {
    "msgpack": (
        "Encodings: the one of each value, and others that are malformed.",
        one("Msgpack", msgpack_forms.values),
    ),
    "mechanisms": (
        "Which integers follow from epsilon, delta and the number of categories.",
        mechanisms.groups,
    ),
    "samplers": (
        "What given words make of an answer: 'consumed' of the 'words' are taken, in their order.",
        samplers.groups,
    ),
    "manifests": (
        "Envelopes of manifests, to be opened under the authority's key.",
        one("Manifest", golden_manifests.manifests, **SIGNED),
    ),
    "offered_manifests": (
        "Bodies of GET /v1/surveys/NAME/manifests: pairs of an envelope and its proof.",
        one("Manifests", golden_messages.offers),
    ),
    "report_keys": (
        "Reports: from the device's secret to the envelope.",
        one("ReportKey", golden_messages.report_keys),
    ),
    "reports": (
        "One report of an upload, judged at 'now' beside these published surveys.",
        one("Report", golden_messages.reports, layer="intake", **PUBLISHED),
    ),
    "uploads": (
        "Whole uploads, each to a collector without receipts.",
        one("Upload", golden_messages.uploads, layer="messages", **PUBLISHED),
    ),
    "answers": (
        "What a device makes of the answer to an upload of 'sent' reports (D8).",
        one("UploadAnswer", answers.answers),
    ),
    "enrolments": (
        "Requests to the issuer of the certificate survey.",
        one("Enrolment", golden_messages.enrolments, layer="issuer", **PUBLISHED, **ISSUER),
    ),
    "log_proofs": (
        "Proofs of the public log, by a policy of two of three witnesses.",
        one("LogProof", log_proofs.proofs, policy=log_proofs.policy()),
    ),
    "blind_surveys": (
        "Which of several blind surveys a device answers in the epoch that begins at 'starts'.",
        one("BlindSurveys", tokens.draws),
    ),
    "blind_tokens": ("Blind enrolment: from the device's secret to the token.", tokens.groups),
    "sealed_requests": ("What goes through a relay, sealed for the gateway's key.", sealed.groups),
    "rotations": (
        "Rotations of the authority, and the chain that a device follows from a pinned key.",
        rotations,
    ),
    "gateway_keys": (
        "Envelopes of gateway keys, to be opened under the authority's key.",
        one("GatewayKeys", golden_messages.gateway_keys, **SIGNED),
    ),
}


def with_bad(topic: str, made: list[Group]) -> list[Group]:
    """Return groups of good tests with the bad ones that stand in their file behind them."""
    groups = [*made]
    for number, stored in enumerate(read(topic)["testGroups"]):
        shared = {name: value for name, value in stored.items() if name != "tests"}
        bad = [test for test in stored["tests"] if test["result"] == "invalid"]
        for each in groups:
            if {name: value for name, value in each.items() if name != "tests"} == shared:
                each["tests"] += bad
                break
        else:
            groups[number:number] = [stored | {"tests": bad}] * bool(bad)
    if topic == "manifests":
        groups = [each | {"tests": [*map(with_kinds, each["tests"])]} for each in groups]
    return groups


def documents() -> dict[str, str]:
    """Return the text of each file."""
    return {
        f"{topic}.json": document(topic, header, *with_bad(topic, make()))
        for topic, (header, make) in TOPICS.items()
    }


def main() -> None:
    """Write the files and say which of them changed."""
    for name, text in documents().items():
        path = HERE / name
        changed = not path.exists() or path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
        print(f"{name}: {'CHANGED' if changed else 'unchanged'}")
    print("A changed vector is a protocol change: see the head of tests/vectors/generate.py.")


if __name__ == "__main__":
    main()
