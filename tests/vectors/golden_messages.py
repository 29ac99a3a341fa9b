"""Golden messages: keys, reports, uploads, enrolments, rotations and gateway keys."""

from collections.abc import Iterator
from itertools import zip_longest

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.messages import (
    GatewayKeys,
    RefusalCode,
    Report,
    Rotation,
    SignedReport,
    SigningKey,
    UploadAnswer,
    pack_manifests,
    pack_rotations,
    pack_upload,
    sign_gateway_keys,
    sign_report,
    sign_rotation,
)
from deniable.oblivious_http import KeyConfiguration, PrivateKey
from tests.vectors.layout import Case, case
from tests.vectors.scene import (
    AUTHORITY,
    BLIND_SURVEY,
    CERTIFICATE_PAYLOAD,
    DAY,
    DEVICE_SECRET,
    EPOCH,
    GRACE,
    NOW,
    OPEN_PAYLOAD,
    OPEN_SURVEY,
    RESPONSE,
    START,
    credential,
    manifest_envelope,
    pack,
    report_envelope,
    report_key,
    seed,
    token,
)
from tests.vectors.scene import CERTIFICATE_SURVEY as CERTIFIED

REPORTS: dict[str, tuple[bytes, Report, bytes | None]] = {
    "open": (DEVICE_SECRET, Report(OPEN_SURVEY.survey_id, EPOCH, RESPONSE), None),
    "certificate": (DEVICE_SECRET, Report(CERTIFIED.survey_id, EPOCH, RESPONSE), credential()),
    "blind": (DEVICE_SECRET, Report(BLIND_SURVEY.survey_id, EPOCH, RESPONSE), token()),
    "next epoch": (DEVICE_SECRET, Report(OPEN_SURVEY.survey_id, EPOCH + 1, RESPONSE), None),
    "zeros": (bytes(32), Report(bytes(32), 0, 0), None),
    "the last category of the largest survey": (
        bytes(range(32)),
        Report(bytes(range(32, 64)), 9_999, 65_535),
        None,
    ),
    "the widest numbers": (b"\xff" * 32, Report(b"\xff" * 32, 2**63 - 1, 2**63 - 1), bytes(64)),
}


def report_keys() -> Iterator[Case]:
    """Return reports, from the device's secret to the envelope."""
    for name, (secret, report, vouched) in REPORTS.items():
        envelope = sign_report(secret, report, vouched)
        signed = SignedReport.from_envelope(envelope)
        info = b"deniable/report-key/v1\0" + report.epoch.to_bytes(8, "big")
        yield case(
            name,
            "WideInteger" if "widest" in name else "Ordinary",
            device_secret=secret,
            survey_id=report.survey_id,
            epoch=str(report.epoch),
            response=str(report.response),
            signing_seed=HKDF(SHA256(), 32, salt=report.survey_id, info=info).derive(secret),
            public_key=signed.public_key,
            payload=report.payload,
            signature=signed.signature,
            credential=vouched,
            envelope=envelope,
        )


def offers() -> Iterator[Case]:
    """Return what a collector offers of a name: pairs of envelopes and proofs, perhaps empty."""
    first, second = manifest_envelope(OPEN_PAYLOAD), manifest_envelope(CERTIFICATE_PAYLOAD)
    for what, envelopes, proofs in (
        ("one", [first], []),
        ("two, the second with a proof", [first, second], [b"", b"c2sp.org/tlog-proof@v1"]),
    ):
        pairs = [list(pair) for pair in zip_longest(envelopes, proofs, fillvalue=b"")]
        body = pack_manifests(envelopes, proofs)
        yield case(f"offered manifests: {what}", "Ordinary", body=body, offered=pairs)


def reports() -> Iterator[Case]:
    """Return reports that a collector takes, at the first and last second of their epochs too."""
    times = {
        "open": (NOW, "Ordinary"),
        "certificate": (NOW, "Ordinary"),
        "blind": (NOW, "Ordinary"),
        "next epoch": (NOW + DAY, "Ordinary"),
    }
    for name, (now, flag) in times.items():
        yield case(f"taken: {name}", flag, now=now, envelope=sign_report(*REPORTS[name]))
    first = report_envelope(epoch=0)
    for what, now in {
        "300 s before the epoch": START - 300,
        "at the last second of grace": START + DAY + GRACE - 1,
    }.items():
        yield case(f"taken: {what}", "Boundary", "Clock", now=now, envelope=first)
    for response in range(4):
        envelope = sign_report(seed("device"), Report(OPEN_SURVEY.survey_id, EPOCH, response))
        yield case(f"taken: response {response}", "Ordinary", now=NOW, envelope=envelope)


def uploads() -> Iterator[Case]:
    """Return uploads that get an answer: each report in them is judged by itself."""
    good = report_envelope()
    other = report_envelope(response=RESPONSE - 1)
    another, third = (
        sign_report(seed(f"device {number}"), Report(OPEN_SURVEY.survey_id, EPOCH, number))
        for number in range(2)
    )
    bad, twice = RefusalCode.MALFORMED, RefusalCode.REPORT_CONFLICT
    given = {
        "one report": ([good], UploadAnswer(1, 0)),
        "the same report twice": ([good, good], UploadAnswer(1, 1)),
        "one report 256 times": ([good] * 256, UploadAnswer(1, 255)),
        "nil between two reports": ([another, b"\xc0", third], UploadAnswer(2, 0, ((1, bad),))),
        "another response under one key": ([good, other, good], UploadAnswer(1, 1, ((1, twice),))),
    }
    for what, (envelopes, answer) in given.items():
        flag = "Conflict" if twice in dict(answer.refused).values() else "Ordinary"
        text = answer.to_json().decode()
        yield case(f"upload: {what}", flag, now=NOW, body=pack_upload(envelopes), answer=text)


def enrolments() -> Iterator[Case]:
    """Return the request for a certificate, and its answer."""
    public_key = report_key(CERTIFIED).public_key
    yield case(
        "the device's key",
        "Ordinary",
        now=NOW,
        survey_id=CERTIFIED.survey_id,
        epoch=str(EPOCH),
        public_key=public_key,
        request=pack([CERTIFIED.survey_id, EPOCH, public_key]),
        answer=pack(credential()),
        credential=credential(),
    )


ROTATIONS = [
    ("authority", "next authority", 1),
    ("next authority", "last authority", 2),
    ("last authority", "another authority", 3),
]


def rotations() -> Iterator[Case]:
    """Return rotations, from the seeds of both keys to the envelope."""
    for old_name, new_name, sequence in ROTATIONS:
        old, new = SigningKey(seed(old_name)), SigningKey(seed(new_name))
        rotation = Rotation(old.public_key, new.public_key, sequence)
        yield case(
            f"rotation: number {sequence}",
            "Ordinary",
            old_seed=seed(old_name),
            new_seed=seed(new_name),
            old_key=old.public_key,
            new_key=new.public_key,
            sequence=str(sequence),
            payload=rotation.payload,
            envelope=sign_rotation(rotation, old, new),
        )


def published_rotations() -> Iterator[Case]:
    """Return what a collector publishes, and the keys that a device follows from the authority."""
    envelopes = [bytes.fromhex(rotation["envelope"]) for rotation in rotations()]
    keys = [AUTHORITY.public_key.hex(), *(rotation["new_key"] for rotation in rotations())]
    for what, listed, followed in (
        ("none", [], keys[:1]),
        ("all", envelopes, keys),
        ("all, the newest first", envelopes[::-1], keys),
        ("all, twice", envelopes * 2, keys),
        ("those of another key", envelopes[1:], keys[:1]),
    ):
        body = pack_rotations(listed)
        yield case(f"published rotations: {what}", "Ordinary", body=body, keys=followed)


GATEWAY = {identifier: PrivateKey(seed(f"gateway key {identifier}")) for identifier in (1, 0)}
"""A gateway's keys: of two, the first is the one that devices seal for."""


def gateway_keys() -> Iterator[Case]:
    """Return the signed list of a gateway's keys."""
    listed = tuple(KeyConfiguration(key_id, key.public_key) for key_id, key in GATEWAY.items())
    signed = GatewayKeys(OPEN_SURVEY.origin, 1, listed)
    yield case(
        "two keys",
        "Ordinary",
        private_keys={str(key_id): seed(f"gateway key {key_id}") for key_id in GATEWAY},
        origin=signed.origin,
        sequence=str(signed.sequence),
        configurations=[
            {"key_id": key.key_id, "public_key": key.public_key} for key in signed.configurations
        ],
        payload=signed.payload,
        envelope=sign_gateway_keys(signed, AUTHORITY),
    )
