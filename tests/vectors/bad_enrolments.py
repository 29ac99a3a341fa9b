"""Bad vectors of enrolment: requests that no issuer must sign."""

from collections.abc import Iterator

from deniable.messages import SigningKey, enrolment_statement
from tests.vectors import edwards25519 as curve
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
from tests.vectors.scene import (
    CERTIFICATE_SURVEY,
    DAY,
    EPOCH,
    EPOCHS,
    GRACE,
    NOW,
    OPEN_SURVEY,
    START,
    pack,
    report_key,
    seed,
    vector,
)

SURVEY_ID = CERTIFICATE_SURVEY.survey_id
KEY = report_key(CERTIFICATE_SURVEY).public_key
GOOD = enrolment_statement(SURVEY_ID, EPOCH, KEY)


def forms() -> Iterator[Case]:
    """Return bytes that are no statement, and put every fault into every position of one."""
    bodies = {
        "empty": b"",
        "truncated": GOOD[:-1],
        "bytes behind it": GOOD + b"\0",
        "an array in 16 bits": b"\xdc\x00\x03" + GOOD[1:],
        "two elements": pack([SURVEY_ID, EPOCH]),
        "four elements": pack([SURVEY_ID, EPOCH, KEY, None]),
        "a map": pack({"survey": SURVEY_ID, "epoch": EPOCH, "key": KEY}),
        "as bytes": pack(GOOD),
        "arrays nested 127 deep": b"\x91" * 127 + b"\xc0",
    }
    for what, body in bodies.items():
        yield vector("enrolment", what, MALFORMED, request=body)
    good = [pack(SURVEY_ID), pack(EPOCH), pack(KEY)]
    faults = [
        ("survey_id", FOREIGN | NIL | AN_INTEGER | other_bytes(SURVEY_ID)),
        ("epoch", FOREIGN | NIL | other_number(EPOCH)),
        ("public_key", FOREIGN | NIL | AN_INTEGER | other_bytes(KEY)),
    ]
    for position, (field, values) in enumerate(faults):
        for what, value in values.items():
            body = array(*good[:position], value, *good[position + 1 :])
            yield vector(f"enrolment {field}", what, MALFORMED, request=body)
    yield vector("enrolment", "129 bytes", "too-large", request=GOOD + bytes(129 - len(GOOD)))


def judgements() -> Iterator[Case]:
    """Return well-formed requests that an issuer of the certificate survey must refuse."""
    for times, point in enumerate(curve.small_order_points()):
        body = enrolment_statement(SURVEY_ID, EPOCH, curve.encode(point))
        what = f"torsion point {times}" if times else "the identity"
        yield vector("enrolment key", what, "bad-key", layer="issuer", request=body)
    beyond = (curve.P + 18).to_bytes(32, "little")
    body = enrolment_statement(SURVEY_ID, EPOCH, beyond)
    yield vector("enrolment key", "y = p + 18", "bad-key", layer="issuer", request=body)
    opens, closes = START - 300, START + DAY + GRACE
    faults = [
        ("an unknown survey", "unknown-survey", NOW, seed("unknown survey"), EPOCH),
        ("an open survey", "unknown-survey", NOW, OPEN_SURVEY.survey_id, EPOCH),
        ("epoch beyond the last", "out-of-domain", NOW, SURVEY_ID, EPOCHS),
        ("epoch 2^63 - 1", "out-of-domain", NOW, SURVEY_ID, 2**63 - 1),
        ("next epoch", "too-early", NOW, SURVEY_ID, EPOCH + 1),
        ("first epoch, 301 s early", "too-early", opens - 1, SURVEY_ID, 0),
        ("first epoch, at the end of grace", "epoch-closed", closes, SURVEY_ID, 0),
        ("an epoch long closed", "epoch-closed", NOW, SURVEY_ID, 0),
    ]
    sound = SigningKey(seed("attacker")).public_key
    for what, code, now, survey_id, epoch in faults:
        body = enrolment_statement(survey_id, epoch, sound)
        yield vector("enrolment", what, code, layer="issuer", now=now, request=body)
        identity = enrolment_statement(survey_id, epoch, b"\1" + bytes(31))
        what = f"bad-key before {code}: {what}"
        yield vector("enrolment", what, "bad-key", layer="issuer", now=now, request=identity)
