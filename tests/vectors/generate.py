"""Write the vectors' files. By hand: ``.venv/bin/python -m tests.vectors.generate``.

What follows from the law of a kind is made: good manifests, mechanisms, samplers. It follows from
names and fixed numbers (scene.py), and Ed25519 is deterministic, so a second run changes nothing.
All other vectors stand in their files for good, and are laid out anew. A vector that does change is
a change of the protocol: devices in the field and collectors no longer agree. Then the version in
the contexts has to change with it.

A new one is a line in its group: ``json.dumps(case("manifest epsilon: above 40", "OutOfDomain",
code="malformed", envelope=manifest_envelope(pack(manifest_fields(epsilon="41")))))``.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgpack

from tests.vectors import golden_manifests, mechanisms, samplers
from tests.vectors.layout import Case, document
from tests.vectors.stored import FOLDER, read

Group = dict[str, Any]
TOPICS: Final = sorted(path.stem for path in FOLDER.glob("*.json"))
MADE: Final[dict[str, Callable[[], list[Group]]]] = {
    "manifests": golden_manifests.groups,
    "mechanisms": mechanisms.groups,
    "samplers": samplers.groups,
}


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


def groups(topic: str) -> list[Group]:
    """Return the groups of a file: what is made, and behind it what stands there for good."""
    stored: list[Group] = read(topic)["testGroups"]
    if topic not in MADE:
        return stored
    made = MADE[topic]()
    if topic == "manifests":
        (good,) = made
        bad = [test for test in stored[0]["tests"] if test["result"] == "invalid"]
        good["tests"] = [*map(with_kinds, [*good["tests"], *bad])]
        made += stored[1:]  # under keys that are no authority's
    return made


def documents() -> dict[str, str]:
    """Return the text of each file."""
    return {
        f"{topic}.json": document(topic, read(topic)["header"][0], *groups(topic))
        for topic in TOPICS
    }


def main() -> None:
    """Write the files and say which of them changed."""
    for name, text in documents().items():
        path = FOLDER / name
        changed = path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
        print(f"{name}: {'CHANGED' if changed else 'unchanged'}")
    print("A changed vector is a protocol change: see the head of tests/vectors/generate.py.")


if __name__ == "__main__":
    main()
