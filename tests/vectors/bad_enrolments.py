"""Bad vectors of enrolment: requests that no issuer must sign."""

from collections.abc import Iterator

from deniable.messages import SigningKey, enrolment_statement
from tests.vectors import edwards25519 as curve
from tests.vectors import scene
from tests.vectors.bad_forms import (
    AN_INTEGER,
    FOREIGN,
    MALFORMED,
    NIL,
    array,
    other_bytes,
    other_number,
)
from tests.vectors.layout import Case

SURVEY_ID = scene.CERTIFICATE_SURVEY.survey_id
KEY = scene.report_key(scene.CERTIFICATE_SURVEY).public_key
GOOD = enrolment_statement(SURVEY_ID, scene.EPOCH, KEY)


def forms() -> Iterator[Case]:
    """Return bytes that are no statement, and put every fault into every position of one."""
    bodies = {
        "empty": b"",
        "truncated": GOOD[:-1],
        "bytes behind it": GOOD + b"\0",
        "an array in 16 bits": b"\xdc\x00\x03" + GOOD[1:],
        "two elements": scene.pack([SURVEY_ID, scene.EPOCH]),
        "four elements": scene.pack([SURVEY_ID, scene.EPOCH, KEY, None]),
        "a map": scene.pack({"survey": SURVEY_ID, "epoch": scene.EPOCH, "key": KEY}),
        "as bytes": scene.pack(GOOD),
        "arrays nested 127 deep": b"\x91" * 127 + b"\xc0",
    }
    for what, body in bodies.items():
        yield scene.vector("enrolment", what, MALFORMED, request=body)
    good = [scene.pack(SURVEY_ID), scene.pack(scene.EPOCH), scene.pack(KEY)]
    faults = [
        ("survey_id", FOREIGN | NIL | AN_INTEGER | other_bytes(SURVEY_ID)),
        ("epoch", FOREIGN | NIL | other_number(scene.EPOCH)),
        ("public_key", FOREIGN | NIL | AN_INTEGER | other_bytes(KEY)),
    ]
    for position, (field, values) in enumerate(faults):
        for what, value in values.items():
            body = array(*good[:position], value, *good[position + 1 :])
            yield scene.vector(f"enrolment {field}", what, MALFORMED, request=body)
    yield scene.vector("enrolment", "129 bytes", "too-large", request=GOOD + bytes(129 - len(GOOD)))


def judgements() -> Iterator[Case]:
    """Return well-formed requests that an issuer of the certificate survey must refuse."""
    for times, point in enumerate(curve.small_order_points()):
        body = enrolment_statement(SURVEY_ID, scene.EPOCH, curve.encode(point))
        what = f"torsion point {times}" if times else "the identity"
        yield scene.vector("enrolment key", what, "bad-key", layer="issuer", request=body)
    beyond = (curve.P + 18).to_bytes(32, "little")
    body = enrolment_statement(SURVEY_ID, scene.EPOCH, beyond)
    yield scene.vector("enrolment key", "y = p + 18", "bad-key", layer="issuer", request=body)
    opens, closes = scene.START - 300, scene.START + scene.DAY + scene.GRACE
    faults = [
        (
            "an unknown survey",
            "unknown-survey",
            scene.NOW,
            scene.seed("unknown survey"),
            scene.EPOCH,
        ),
        ("an open survey", "unknown-survey", scene.NOW, scene.OPEN_SURVEY.survey_id, scene.EPOCH),
        ("epoch beyond the last", "out-of-domain", scene.NOW, SURVEY_ID, scene.EPOCHS),
        ("epoch 2^63 - 1", "out-of-domain", scene.NOW, SURVEY_ID, 2**63 - 1),
        ("next epoch", "too-early", scene.NOW, SURVEY_ID, scene.EPOCH + 1),
        ("first epoch, 301 s early", "too-early", opens - 1, SURVEY_ID, 0),
        ("first epoch, at the end of grace", "epoch-closed", closes, SURVEY_ID, 0),
        ("an epoch long closed", "epoch-closed", scene.NOW, SURVEY_ID, 0),
    ]
    sound = SigningKey(scene.seed("attacker")).public_key
    for what, code, now, survey_id, epoch in faults:
        body = enrolment_statement(survey_id, epoch, sound)
        yield scene.vector("enrolment", what, code, layer="issuer", now=now, request=body)
        identity = enrolment_statement(survey_id, epoch, b"\1" + bytes(31))
        what = f"bad-key before {code}: {what}"
        yield scene.vector("enrolment", what, "bad-key", layer="issuer", now=now, request=identity)
