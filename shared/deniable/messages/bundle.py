"""The bundle: a file with which an app declares a survey and answers it before going online.

It is JSON, readable by people before they build it into an app::

    {
      "format": "deniable-survey-1",
      "origin": "https://telemetry.example.org",
      "authority": "…",                         the public key that signed, in hex
      "declaration": {"name": "theme", …},      what Survey(…), or .numeric or .several, takes
      "manifests": ["…"],                       signed, in base64: the newest first
      "proofs": ["…"],                          each manifest's, that it is in the public log
      "gateway": "…",                           signed keys in hex, for a relay
      "gateway_proof": "…"                      that these are in the public log
    }

The entries after the manifests are optional. The earlier ones follow from the manifests and their
signer, and are compared with them when read. An app that pins witnesses checks the proofs.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deniable.messages.manifest import Manifest, open_manifest
from deniable.messages.refusals import Refusal
from deniable.messages.texts import format_value

_FORMAT: Final = "deniable-survey-1"
_EXPORT: Final = "export it again with `deniable survey export NAME --out FILE`"

# Limits that an app accepts by default. They are the device's own defaults; a test compares them.
_MIN_EPOCH_SECONDS: Final = 86_400
_MAX_EPOCH_SECONDS: Final = 400 * 86_400
_MAX_GRACE_SECONDS: Final = 90 * 86_400
_MAX_KEPT_EPOCHS: Final = 53

Declaration = dict[str, Any]
"""Keywords of ``Survey``, or with ``low``, ``high`` and ``step`` of ``Survey.numeric``, or with
``dimensions`` of ``Survey.several``, as JSON."""


class InvalidBundle(ValueError):
    """The file is not what ``deniable survey export`` wrote."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A survey to be built into an app: signed manifests, newest first, and derived data.

    ``opened`` are the same manifests, read after verifying their signatures.
    """

    origin: str
    authority: bytes
    declaration: Declaration
    manifests: tuple[bytes, ...]
    gateway: bytes | None = None
    proofs: tuple[bytes, ...] = ()  # one per manifest, or none
    gateway_proof: bytes = b""
    opened: tuple[Manifest, ...] = field(default=(), repr=False, compare=False)

    def to_json(self) -> bytes:
        """Return the file."""
        document = {
            "format": _FORMAT,
            "origin": self.origin,
            "authority": self.authority.hex(),
            "declaration": self.declaration,
            "manifests": [b64encode(envelope).decode() for envelope in self.manifests],
        }
        if self.proofs:
            document["proofs"] = [proof.decode() for proof in self.proofs]
        if self.gateway is not None:
            document["gateway"] = self.gateway.hex()
        if self.gateway_proof:
            document["gateway_proof"] = self.gateway_proof.decode()
        return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def make_bundle(
    envelopes: Sequence[bytes],
    authority: bytes,
    gateway: bytes | None = None,
    *,
    proofs: Sequence[bytes] = (),
    gateway_proof: bytes = b"",
) -> Bundle:
    """Return the bundle of signed manifests, newest first, after verifying them.

    Raises:
        InvalidBundle: if the manifests are invalid, do not belong together, or have another signer.
    """
    try:
        manifests = [open_manifest(envelope, authority) for envelope in envelopes]
        keys = None
        if gateway is not None:
            from deniable.messages.gateway import open_gateway_keys  # only for a relay

            keys = open_gateway_keys(gateway, (authority,))
    except Refusal as refusal:
        raise InvalidBundle(
            f"part of the bundle was not signed by the authority ({refusal}); {_EXPORT}"
        ) from refusal
    surveys = {
        (
            manifest.name,
            manifest.question,
            manifest.all_answers,
            manifest.dimensions,
            manifest.origin,
        )
        for manifest in manifests
    }
    if len(surveys) != 1 or (keys is not None and keys.origin != manifests[0].origin):
        raise InvalidBundle(f"all manifests must be for one survey and collector; {_EXPORT}")
    if len(proofs) not in {0, len(manifests)}:
        raise InvalidBundle(f"the bundle must have a proof for each manifest; {_EXPORT}")
    newest = manifests[0]
    return Bundle(
        newest.origin,
        authority,
        declaration_of(newest),
        tuple(envelopes),
        gateway,
        tuple(proofs) if any(proofs) else (),
        gateway_proof,
        tuple(manifests),
    )


def read_bundle(data: bytes) -> Bundle:
    """Read a file, and verify that all of it follows from the authority's signatures."""
    try:
        document = json.loads(data)
        authority = bytes.fromhex(document["authority"])
        envelopes = [b64decode(text, validate=True) for text in document["manifests"]]
        gateway = bytes.fromhex(document["gateway"]) if "gateway" in document else None
        proofs = [proof.encode() for proof in document.get("proofs", ())]
        gateway_proof = document.get("gateway_proof", "").encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidBundle(f"the file is not a bundle; {_EXPORT}") from error
    bundle = make_bundle(envelopes, authority, gateway, proofs=proofs, gateway_proof=gateway_proof)
    if json.loads(bundle.to_json()) != document:
        raise InvalidBundle(
            f"the bundle differs from its signed manifests; {_EXPORT}, and declare any differences "
            "with keywords of Survey.bundled"
        )
    return bundle


def declaration_of(manifest: Manifest) -> Declaration:
    """Return the narrowest declaration that accepts a manifest."""
    declared: Declaration = {"name": manifest.name, "question": manifest.question}
    if manifest.dimensions:
        declared["dimensions"] = {name: answers for name, *answers in manifest.dimensions}
    elif manifest.kind.texts:
        declared["alphabet"] = list(manifest.categories)
    elif manifest.values is None:
        declared["categories"] = list(manifest.categories)
    else:
        step = format_value(manifest.values[1] - manifest.values[0])
        declared |= {"low": manifest.categories[0], "high": manifest.categories[-1], "step": step}
    declared["max_epsilon"] = manifest.epsilon
    if manifest.delta != "0":
        declared["max_delta"] = manifest.delta
    if not manifest.mechanism.privacy.alike:
        declared["mechanisms"] = [manifest.kind.name]
    if manifest.kept_epsilon is not None:
        declared["max_kept_epsilon"] = manifest.kept_epsilon
    if (manifest.repeat.epochs or 0) > _MAX_KEPT_EPOCHS:
        declared["max_kept_epochs"] = manifest.repeat.epochs
    if manifest.enrolment.mode == "blind":
        declared["enrolment"] = "blind"
    if manifest.schedule.epoch_seconds < _MIN_EPOCH_SECONDS:
        declared["min_epoch_seconds"] = manifest.schedule.epoch_seconds
    if manifest.schedule.epoch_seconds > _MAX_EPOCH_SECONDS:
        declared["max_epoch_seconds"] = manifest.schedule.epoch_seconds
    if manifest.schedule.grace_seconds > _MAX_GRACE_SECONDS:
        declared["max_grace_seconds"] = manifest.schedule.grace_seconds
    return declared
