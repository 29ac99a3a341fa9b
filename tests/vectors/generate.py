"""Write the vectors' files. By hand: ``.venv/bin/python -m tests.vectors.generate``.

All that they hold follows from names and fixed numbers (scene.py), and Ed25519 is deterministic, so
a second run changes nothing. A vector that does change is a change of the protocol: devices in the
field and collectors no longer agree. Then the version in the contexts has to change with it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgpack

from tests.vectors import (
    answers,
    bad_enrolments,
    bad_forms,
    bad_gateways,
    bad_judgements,
    bad_manifests,
    bad_rotations,
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

HERE: Final = Path(__file__).parent
SIGNED: Final = {"authority": scene.AUTHORITY.public_key, "authority_seed": scene.seed("authority")}
PUBLISHED: Final = {
    "authority": scene.AUTHORITY.public_key,
    "surveys": {
        "open": scene.manifest_envelope(scene.OPEN_PAYLOAD),
        "certificate": scene.manifest_envelope(scene.CERTIFICATE_PAYLOAD),
        "blind": scene.manifest_envelope(scene.BLIND_PAYLOAD),
    },
}


def timeless(*sources: Callable[[], Iterable[Case]]) -> Iterator[Case]:
    """Yield the tests of sources, without what nobody looks at."""
    for source in sources:
        for test in source():
            yield {name: value for name, value in test.items() if name not in {"layer", "now"}}


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


def by_layer(
    kind: str, good: Iterable[Case], bad: Iterable[Iterable[Case]], **shared: object
) -> list[dict[str, Any]]:
    """Return a group for each layer that judges, the good ones in the last."""
    tests: dict[str, list[Case]] = {}
    for test in chain.from_iterable(bad):
        tests.setdefault(test.pop("layer"), []).append(test)
    tests[[*tests][-1]][:0] = good
    return [group(kind, own, layer=layer, **shared) for layer, own in tests.items()]


def encodings() -> list[dict[str, Any]]:
    """Return the group of msgpack.json."""
    return [group("Msgpack", timeless(msgpack_forms.values, msgpack_forms.others))]


def reports() -> list[dict[str, Any]]:
    """Return the groups of reports.json."""
    forms, judgements = bad_forms, bad_judgements
    bad = (
        forms.envelope_shapes(),
        forms.envelope_forms(),
        forms.payload_shapes(),
        forms.payload_forms(),
        judgements.keys(),
        judgements.signatures(),
        judgements.credentials(),
        judgements.tokens(),
        judgements.surveys(),
    )
    return by_layer("Report", golden_messages.reports(), bad, **PUBLISHED)


def uploads() -> list[dict[str, Any]]:
    """Return the group of uploads.json."""
    return by_layer("Upload", golden_messages.uploads(), [bad_forms.bodies()], **PUBLISHED)


def enrolments() -> list[dict[str, Any]]:
    """Return the groups of enrolments.json."""
    issuer = {"issuer_seed": scene.seed("issuer"), "issuer": scene.ISSUER.public_key}
    bad = (bad_enrolments.forms(), bad_enrolments.judgements())
    return by_layer("Enrolment", golden_messages.enrolments(), bad, **PUBLISHED, **issuer)


def manifests() -> list[dict[str, Any]]:
    """Return the groups of manifests.json: of our authority, and of keys that are none."""
    bad = bad_manifests
    sources = (bad.envelopes, bad.maps, bad.values, bad.sizes, bad.blind_enrolments, bad.mechanisms)
    ours = [*map(with_kinds, timeless(golden_manifests.manifests, *sources))]
    unsound = [
        group("Manifest", [with_kinds(test)], authority=key)
        for key, test in bad.unsound_authorities()
    ]
    return [group("Manifest", ours, **SIGNED), *unsound]


def offered_manifests() -> list[dict[str, Any]]:
    """Return the group of offered_manifests.json."""
    return [group("Manifests", timeless(golden_messages.offers, golden_messages.bad_offers))]


def rotations() -> list[dict[str, Any]]:
    """Return the groups of rotations.json."""
    bad = bad_rotations
    sources = (bad.shapes, bad.payloads, bad.signatures, bad.chains)
    return [
        group("Rotation", golden_messages.rotations()),
        group("Rotations", timeless(golden_messages.published_rotations, *sources), **SIGNED),
    ]


def gateway_keys() -> list[dict[str, Any]]:
    """Return the group of gateway_keys.json."""
    tests = timeless(golden_messages.gateway_keys, bad_gateways.lists)
    return [group("GatewayKeys", tests, **SIGNED)]


TOPICS: Final[dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]]] = {
    "msgpack": ("Encodings: the one of each value, and others that are malformed.", encodings),
    "mechanisms": (
        "Which integers follow from epsilon, delta and the number of categories.",
        mechanisms.groups,
    ),
    "samplers": (
        "What given words make of an answer: 'consumed' of the 'words' are taken, in their order.",
        samplers.groups,
    ),
    "manifests": ("Envelopes of manifests, to be opened under the authority's key.", manifests),
    "offered_manifests": (
        "Bodies of GET /v1/surveys/NAME/manifests: pairs of an envelope and its proof.",
        offered_manifests,
    ),
    "report_keys": (
        "Reports: from the device's secret to the envelope.",
        lambda: [group("ReportKey", golden_messages.report_keys())],
    ),
    "reports": (
        "One report of an upload, judged at 'now' beside these published surveys.",
        reports,
    ),
    "uploads": ("Whole uploads, each to a collector without receipts.", uploads),
    "answers": (
        "What a device makes of the answer to an upload of 'sent' reports (D8).",
        answers.groups,
    ),
    "enrolments": ("Requests to the issuer of the certificate survey.", enrolments),
    "log_proofs": (
        "Proofs of the public log, by a policy of two of three witnesses.",
        log_proofs.groups,
    ),
    "blind_surveys": (
        "Which of several blind surveys a device answers in the epoch that begins at 'starts'.",
        lambda: [group("BlindSurveys", tokens.draws())],
    ),
    "blind_tokens": ("Blind enrolment: from the device's secret to the token.", tokens.groups),
    "sealed_requests": ("What goes through a relay, sealed for the gateway's key.", sealed.groups),
    "rotations": (
        "Rotations of the authority, and the chain that a device follows from a pinned key.",
        rotations,
    ),
    "gateway_keys": (
        "Envelopes of gateway keys, to be opened under the authority's key.",
        gateway_keys,
    ),
}


def documents() -> dict[str, str]:
    """Return the text of each file."""
    topics = TOPICS.items()
    return {f"{topic}.json": document(topic, header, *make()) for topic, (header, make) in topics}


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
