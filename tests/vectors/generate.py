"""Write golden.json and bad.json. By hand: ``.venv/bin/python -m tests.vectors.generate``.

Everything in them follows from names and fixed numbers (scene.py), and Ed25519 is deterministic, so
a second run changes nothing. A vector that does change is a change of the protocol: devices in the
field and collectors no longer agree. Then the version in the contexts has to change with it.
"""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tests.vectors import bad_enrolments, bad_forms, bad_judgements, bad_manifests, bad_rotations
from tests.vectors.golden import golden
from tests.vectors.scene import (
    AUTHORITY,
    BLIND_PAYLOAD,
    CERTIFICATE_PAYLOAD,
    OPEN_PAYLOAD,
    Vector,
    manifest_envelope,
)

HERE = Path(__file__).parent

GOLDEN_NOTE = (
    "Made by tests/vectors/generate.py. Bytes are lower-case hex; integers that may exceed 2^53 "
    "are strings. A changed vector is a protocol change."
)
BAD_NOTE = (
    "Made by tests/vectors/generate.py. Each vector must be refused with its code at its time (in "
    "Unix seconds). 'body' is a whole upload, 'envelope' one report of an upload, 'manifest' a "
    "manifest's envelope under the authority, 'rotations' a published array of rotations, to be "
    "verified and followed from the authority, 'enrolment' a request to an issuer of the "
    "certificate survey. Layer 'messages' needs no more than the message "
    "(and the issuers of its survey); layers 'intake' and 'issuer' need the surveys and the clock. "
    "A changed vector is a protocol change."
)


def bad() -> dict[str, object]:
    """Return everything that goes into bad.json."""
    sources: Iterable[Iterable[Vector]] = (
        bad_forms.bodies(),
        bad_forms.envelope_shapes(),
        bad_forms.envelope_forms(),
        bad_forms.payload_shapes(),
        bad_forms.payload_forms(),
        bad_judgements.keys(),
        bad_judgements.signatures(),
        bad_judgements.credentials(),
        bad_judgements.tokens(),
        bad_judgements.surveys(),
        bad_manifests.envelopes(),
        bad_manifests.maps(),
        bad_manifests.values(),
        bad_manifests.blind_enrolments(),
        bad_manifests.mechanisms(),
        bad_enrolments.forms(),
        bad_enrolments.judgements(),
        bad_rotations.shapes(),
        bad_rotations.payloads(),
        bad_rotations.signatures(),
        bad_rotations.chains(),
    )
    vectors = list(chain.from_iterable(sources))
    for name, times in Counter(vector["name"] for vector in vectors).items():
        assert times == 1, f"{times} vectors are called {name}"
    return {
        "authority": AUTHORITY.public_key.hex(),
        "surveys": {
            "open": manifest_envelope(OPEN_PAYLOAD).hex(),
            "certificate": manifest_envelope(CERTIFICATE_PAYLOAD).hex(),
            "blind": manifest_envelope(BLIND_PAYLOAD).hex(),
        },
        "vectors": vectors,
    }


def documents() -> dict[str, str]:
    """Return the text of each file."""
    contents = {
        "golden.json": {"note": GOLDEN_NOTE} | golden(),
        "bad.json": {"note": BAD_NOTE} | bad(),
    }
    return {
        name: json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        for name, content in contents.items()
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
