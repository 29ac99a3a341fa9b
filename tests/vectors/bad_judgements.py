"""Bad vectors of judgement: well-formed reports of which something else is not good."""

from collections.abc import Iterator
from dataclasses import replace

from deniable.messages import Report, SigningKey, blind_request, enrolment_statement
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_MANIFEST, CONTEXT_REPORT
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors import edwards25519 as curve
from tests.vectors.forgeries import SMALL_ORDER, malleable_signatures, off_the_curve, unsound_keys
from tests.vectors.layout import Case
from tests.vectors.scene import (
    BLIND_SURVEY,
    CERTIFICATE_SURVEY,
    DAY,
    DEVICE_SECRET,
    EPOCH,
    EPOCHS,
    GRACE,
    ISSUER,
    NOW,
    OPEN_SURVEY,
    START,
    credential,
    pack,
    report_envelope,
    report_key,
    report_payload,
    seed,
    token,
    vector,
)

PAYLOAD = report_payload()
MESSAGE = CONTEXT_REPORT + PAYLOAD
ATTACKER_SEED = seed("attacker")
ATTACKER = SigningKey(ATTACKER_SEED)


def assemble(key: bytes, signature: bytes, payload: bytes = PAYLOAD) -> bytes:
    """Return the envelope of a report with no credential."""
    return pack([key, payload, signature, None])


def keys() -> Iterator[Case]:
    """Return keys that nobody owns, each with a signature that its equation accepts."""
    honest = ATTACKER.sign(CONTEXT_REPORT, PAYLOAD)
    for what, key, signature in unsound_keys(MESSAGE, honest):
        yield vector("public key", what, "bad-key", envelope=assemble(key, signature))


def signatures() -> Iterator[Case]:
    """Return signatures that do not match, or match in a way that is not the canonical one."""
    key = ATTACKER.public_key
    honest = ATTACKER.sign(CONTEXT_REPORT, PAYLOAD)
    others = {
        **dict(malleable_signatures(ATTACKER_SEED, CONTEXT_REPORT, PAYLOAD)),
        "a flipped bit in R": bytes([honest[0] ^ 1]) + honest[1:],
        "a flipped bit in S": honest[:32] + bytes([honest[32] ^ 1]) + honest[33:],
        "the top bit of S": honest[:63] + bytes([honest[63] ^ 0x80]),
        "zeros": bytes(64),
        "by another key": report_key().sign(CONTEXT_REPORT, PAYLOAD),
        "of another epoch": ATTACKER.sign(CONTEXT_REPORT, report_payload(epoch=EPOCH - 1)),
        "of another response": ATTACKER.sign(CONTEXT_REPORT, report_payload(response=0)),
        "in the context of manifests": ATTACKER.sign(CONTEXT_MANIFEST, PAYLOAD),
        "in the context of enrolment": ATTACKER.sign(CONTEXT_ENROL, PAYLOAD),
        "without a context": ATTACKER.sign(b"", PAYLOAD),
        "in a context without its NUL": ATTACKER.sign(CONTEXT_REPORT[:-1], PAYLOAD),
    }
    for what, signature in others.items():
        yield vector("signature", what, "bad-signature", envelope=assemble(key, signature))
    envelope = assemble(off_the_curve(), honest)
    yield vector("signature", "under a key off the curve", "bad-signature", envelope=envelope)
    short, identity = assemble(SMALL_ORDER, honest, PAYLOAD[:-1]), assemble(SMALL_ORDER, bytes(64))
    yield vector("order of checks", "malformed before bad-key", "malformed", envelope=short)
    yield vector("order of checks", "bad-key before bad-signature", "bad-key", envelope=identity)


def credentials() -> Iterator[Case]:
    """Return reports of the certificate survey for which no issuer of it vouches."""
    payload, key = report_payload(CERTIFICATE_SURVEY), report_key(CERTIFICATE_SURVEY)
    other = enrolment_statement(CERTIFICATE_SURVEY.survey_id, EPOCH, ATTACKER.public_key)
    given = {
        "missing": None,
        "zeros": bytes(64),
        "by a key that is not listed": credential(by=ATTACKER),
        "by the device itself": credential(by=key),
        "of another epoch": credential(epoch=EPOCH + 1),
        "of another survey": credential(OPEN_SURVEY),
        "of another key": ISSUER.sign(CONTEXT_ENROL, other),
        "in the context of reports": credential(context=CONTEXT_REPORT),
        "S + L": credential()[:32]
        + (int.from_bytes(credential()[32:], "little") + curve.L).to_bytes(32, "little"),
    }
    for what, value in given.items():
        envelope = report_envelope(payload, by=key, credential=value)
        yield vector("credential", what, "not-enrolled", envelope=envelope)
    unsigned = pack([key.public_key, payload, bytes(64), None])
    what = "bad-signature before not-enrolled"
    yield vector("order of checks", what, "bad-signature", envelope=unsigned)
    # Judged by intake, which knows the survey's mode, after the signature.
    for what, value in {"a good one": credential(), "zeros": bytes(64)}.items():
        envelope = report_envelope(credential=value)
        yield vector(
            "credential in open mode", what, "malformed", layer="intake", envelope=envelope
        )
    broken = pack([report_key().public_key, PAYLOAD, bytes(64), credential()])
    what = "bad-signature before a credential in open mode"
    yield vector("order of checks", what, "bad-signature", layer="intake", envelope=broken)


def tokens() -> Iterator[Case]:
    """Return reports of the blind survey whose credential is no token of it."""
    key, good = report_key(BLIND_SURVEY), token()
    elsewhere = replace(BLIND_SURVEY, sequence=2)
    other_issuer = replace(BLIND_SURVEY.enrolment, issuer="other.example")
    modulus = int.from_bytes(RSA_KEYS[EPOCH - 1].modulus)
    given = {
        "missing": None,
        "a certificate": bytes(64),
        "zeros": bytes(256),
        "all bits set": b"\xff" * 256,
        "of another device": token(secret=ATTACKER_SEED),
        "of another epoch": token(epoch=EPOCH + 1),
        "of another survey": token(elsewhere),
        "of another issuer": token(replace(BLIND_SURVEY, enrolment=other_issuer)),
        "the blind signature": RSA_KEYS[EPOCH - 1].answer(
            blind_request(DEVICE_SECRET, BLIND_SURVEY, EPOCH).body
        ),
        "the negative root": (modulus - int.from_bytes(good)).to_bytes(256),
        "a flipped bit": good[:-1] + bytes([good[-1] ^ 1]),
    }
    payload = report_payload(BLIND_SURVEY)
    for what, value in given.items():
        envelope = report_envelope(payload, by=key, credential=value)
        yield vector("token", what, "not-enrolled", layer="intake", envelope=envelope)
    early = report_key(BLIND_SURVEY, 0)
    envelope = report_envelope(report_payload(BLIND_SURVEY, 0), by=early, credential=good)
    what = "before the issuer's first epoch"
    yield vector("token", what, "not-enrolled", layer="intake", now=START, envelope=envelope)
    unsigned = pack([key.public_key, payload, bytes(64), good])
    what = "bad-signature before a token"
    yield vector("order of checks", what, "bad-signature", layer="intake", envelope=unsigned)
    open_report, certified = report_envelope(credential=good), report_payload(CERTIFICATE_SURVEY)
    yield vector("token", "in open mode", "malformed", layer="intake", envelope=open_report)
    envelope = report_envelope(certified, by=report_key(CERTIFICATE_SURVEY), credential=good)
    yield vector("token", "in certificate mode", "not-enrolled", envelope=envelope)


def surveys() -> Iterator[Case]:
    """Return reports that only the surveys and the clock tell apart from good ones."""

    def signed(report: Report) -> bytes:
        return report_envelope(report.payload, by=ATTACKER)

    survey_id, opens, closes = OPEN_SURVEY.survey_id, START - 300, START + DAY + GRACE
    unknown = seed("unknown survey")
    huge = 2**63 - 1
    faults: list[tuple[str, str, int, Report]] = [
        ("survey", "unknown-survey", NOW, Report(unknown, EPOCH, 0)),
        ("survey of zeros", "unknown-survey", NOW, Report(bytes(32), EPOCH, 0)),
        ("epoch beyond the last", "out-of-domain", NOW, Report(survey_id, EPOCHS, 0)),
        ("epoch 2^63 - 1", "out-of-domain", NOW, Report(survey_id, huge, 0)),
        ("next epoch", "too-early", NOW, Report(survey_id, EPOCH + 1, 0)),
        ("last epoch", "too-early", NOW, Report(survey_id, EPOCHS - 1, 0)),
        ("first epoch, 301 s early", "too-early", opens - 1, Report(survey_id, 0, 0)),
        ("first epoch, at the end of grace", "epoch-closed", closes, Report(survey_id, 0, 0)),
        ("an epoch long closed", "epoch-closed", NOW, Report(survey_id, 0, 0)),
        ("response k", "out-of-domain", NOW, Report(survey_id, EPOCH, 4)),
        ("response 2^63 - 1", "out-of-domain", NOW, Report(survey_id, EPOCH, huge)),
    ]
    for what, code, now, report in faults:
        yield vector("judged", what, code, layer="intake", now=now, envelope=signed(report))
        # Each of these is judged before the signature, so a bad one changes nothing.
        unsigned = assemble(ATTACKER.public_key, bytes(64), report.payload)
        what = f"{what}, and the signature is bad"
        yield vector("order of checks", what, code, layer="intake", now=now, envelope=unsigned)
    pairs: list[tuple[str, str, Report]] = [
        ("unknown-survey before out-of-domain", "unknown-survey", Report(unknown, huge, huge)),
        ("too-early before out-of-domain", "too-early", Report(survey_id, EPOCH + 1, 4)),
        ("epoch-closed before out-of-domain", "epoch-closed", Report(survey_id, 0, 4)),
    ]
    for what, code, report in pairs:
        yield vector("order of checks", what, code, layer="intake", envelope=signed(report))
    identity = assemble(SMALL_ORDER, bytes(64), Report(unknown, huge, huge).payload)
    yield vector("order of checks", "bad-key before unknown-survey", "bad-key", envelope=identity)
