"""Golden vectors: what every implementation of the protocol must arrive at, byte by byte."""

from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from deniable.mechanisms import Mechanism, RandomisedResponse, SurveyMechanism, TwoRound
from deniable.mechanisms.design import DesignMechanism
from deniable.mechanisms.dimensions import combined
from deniable.messages import (
    GatewayKeys,
    Manifest,
    Report,
    Rotation,
    SignedReport,
    SigningKey,
    Specification,
    blind_request,
    blind_token_input,
    pack_rotations,
    sign_gateway_keys,
    sign_manifest,
    sign_report,
    sign_rotation,
)
from deniable.oblivious_http import KeyConfiguration, PrivateKey
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors.scene import (
    AUTHORITY,
    BLIND_FIELDS,
    BLIND_SURVEY,
    CERTIFICATE,
    CERTIFICATE_SURVEY,
    DEVICE_SECRET,
    EPOCH,
    ISSUER,
    NOW,
    OPEN_SURVEY,
    RESPONSE,
    credential,
    manifest_fields,
    pack,
    report_key,
    seed,
    token,
)

MECHANISMS = [
    (2, "0.1", "0"),
    (2, "1", "0"),
    (2, "5", "0"),
    (2, "40", "0"),
    (2, "0.000000000000000001", "0"),
    (2, "0", "0.5"),
    (3, "0.5", "0"),
    (3, "1.098612288668109691", "0"),
    (4, "1", "0"),
    (5, "1", "0"),
    (5, "1", "0.000001"),
    (5, "0", "0.000000000000000001"),
    (10, "2.5", "0"),
    (16, "4", "0.25"),
    (100, "0.01", "0"),
    (256, "3", "0.000000001"),
    (1_000, "12.345678901234567891", "0"),
    (4_096, "8", "0.999999999999999999"),
    (65_536, "0.1", "0"),
    (65_536, "1", "0"),
    (65_536, "40", "0"),
]

SIXTEENTH = 2**60
FIFTH = 5 * SIXTEENTH - 1

QUESTIONS = [["plan", "free", "paid"], ["Größe", *"ABCD"]]

MANIFESTS: dict[str, dict[str, object]] = {
    "open": manifest_fields(),
    "certificate": manifest_fields(
        name="tea-certified", nonce=seed("other nonce")[:16], enrolment=CERTIFICATE
    ),
    "blind": BLIND_FIELDS,
    "one issuer, delta, texts beyond ASCII": manifest_fields(
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
        enrolment={"mode": "certificate", "issuers": [ISSUER.public_key]},
        minimum_reports=0,
    ),
    "ordinal": manifest_fields(
        mechanism={"kind": "ordinal", "distance": "absolute", "ratio": [3, 4]}
    ),
    "circular": manifest_fields(
        mechanism={"kind": "ordinal", "distance": "circular", "ratio": [5, 8]}
    ),
    "a table of distances": manifest_fields(
        mechanism={
            "kind": "ordinal",
            "distance": [[0, 1, 3, 3], [1, 0, 2, 3], [3, 2, 0, 1], [3, 3, 1, 0]],
            "ratio": [3, 4],
        }
    ),
    "numeric": manifest_fields(
        categories=["-1", "-0.5", "0", "0.5", "1"],
        mechanism={"kind": "numeric", "ratio": [7, 9]},
        epsilon="1.25",
    ),
    "a matrix whose fifth response is no category": manifest_fields(
        mechanism={
            "kind": "matrix",
            "weights": [
                [*((5 * SIXTEENTH + 1 if x == y else 2 * SIXTEENTH) for y in range(4)), FIFTH]
                for x in range(4)
            ],
            "responses": ["rarely", "now and then", "daily", "hourly", "寿司"],
        }
    ),
    "a memoised matrix": manifest_fields(
        mechanism={
            "kind": "matrix",
            "weights": [[(7 if x == y else 3) * SIXTEENTH for y in range(4)] for x in range(4)],
            "responses": [],
        },
        repeat={"kind": "memoised", "epochs": 5},
    ),
    "a subset design": manifest_fields(mechanism={"kind": "subset", "d": 2}),
    "a memoised subset design": manifest_fields(
        mechanism={"kind": "subset", "d": 2}, repeat={"kind": "memoised", "epochs": 5}
    ),
    "a memoised difference set, of some of its points": manifest_fields(
        mechanism={"kind": "difference-set", "v": 16}, repeat={"kind": "memoised", "epochs": 5}
    ),
    "an affine design, of some of its points, with delta": manifest_fields(
        mechanism={"kind": "affine", "q": 3, "m": 2, "s": 1}, delta="0.000001"
    ),
    "one question of two": manifest_fields(
        categories=["plan: free", "plan: paid", *(f"Größe: {each}" for each in "ABCD")],
        mechanism={
            "kind": "one-question",
            "dimensions": QUESTIONS,
            "mechanisms": [["randomised-response"], ["subset", 2]],
        },
    ),
    "two questions at once": manifest_fields(
        categories=[f"{plan} + {size}" for plan in ("free", "paid") for size in "ABCD"],
        mechanism={
            "kind": "joint",
            "dimensions": QUESTIONS,
            "mechanism": ["affine", 3, 2, 1],
        },
        delta="0.000001",
    ),
    "three levels of ordered answers": manifest_fields(
        categories=list("abcdefg"),
        mechanism={
            "kind": "levels",
            "widths": [4, 2, 1],
            "mechanisms": [["randomised-response"], ["subset", 2], ["affine", 7, 1, 2]],
        },
        delta="0.000001",
    ),
    "memoised": manifest_fields(repeat={"kind": "memoised", "epochs": 5}),
    "memoised ordinal": manifest_fields(
        mechanism={"kind": "ordinal", "distance": "absolute", "ratio": [3, 4]},
        repeat={"kind": "memoised", "epochs": 10_000},
    ),
    "two rounds": manifest_fields(
        categories=[f"category {number}" for number in range(20)],
        mechanism={"kind": "two-round", "kept": "2.5", "fresh": ["subset", 1]},
        repeat={"kind": "memoised", "epochs": 7},
    ),
    "the widest numbers": manifest_fields(
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

TWO_ROUNDS: list[tuple[int, str, str, list[object]]] = [
    (2, "1", "2", ["subset", 1]),
    (2, "0.000000001", "40", ["subset", 1]),
    (3, "0.038", "1.1", ["subset", 1]),
    (10, "1", "2", ["subset", 1]),
    (1_000, "3.5", "3.75", ["subset", 1]),
    (65_536, "0.1", "3", ["subset", 1]),
    (65_536, "39", "40", ["subset", 1]),
    (6, "0.9", "3", ["subset", 2]),
    (26, "1", "3", ["subset", 6]),
    (16, "0.5", "3", ["affine", 17, 1, 6]),
    (105, "1", "4", ["affine", 107, 1, 28]),
    (6, "0.5", "2", ["affine", 7, 1, 3]),
    (15, "0.5", "3", ["difference-set", 16]),
    (10_000, "1", "6", ["affine", 101, 2, 2]),
]

TABLES: list[tuple[dict[str, object], int]] = [
    ({"kind": "ordinal", "distance": "absolute", "ratio": [1, 2]}, 2),
    ({"kind": "ordinal", "distance": "absolute", "ratio": [1, 2]}, 5),
    ({"kind": "ordinal", "distance": "absolute", "ratio": [2**63 - 2, 2**63 - 1]}, 7),
    ({"kind": "ordinal", "distance": "absolute", "ratio": [999, 1000]}, 1_000),
    ({"kind": "ordinal", "distance": "circular", "ratio": [1, 2]}, 2),
    ({"kind": "ordinal", "distance": "circular", "ratio": [3, 5]}, 7),
    ({"kind": "ordinal", "distance": "circular", "ratio": [9, 10]}, 24),
    ({"kind": "ordinal", "distance": [[0, 1, 4], [1, 0, 2], [4, 2, 0]], "ratio": [2, 3]}, 3),
    ({"kind": "numeric", "ratio": [1, 2]}, 2),
    ({"kind": "numeric", "ratio": [3, 7]}, 5),
    ({"kind": "numeric", "ratio": [99, 100]}, 101),
]

DESIGNS: list[tuple[dict[str, object], int, str, str]] = [
    ({"kind": "subset", "d": 1}, 2, "1", "0"),
    ({"kind": "subset", "d": 2}, 4, "0.5", "0"),
    ({"kind": "subset", "d": 3}, 6, "1", "0"),
    ({"kind": "subset", "d": 6}, 9, "0.1", "0.001"),
    ({"kind": "subset", "d": 4}, 16, "1", "0"),
    ({"kind": "subset", "d": 8}, 20, "0.5", "0"),
    ({"kind": "subset", "d": 2}, 105, "4", "0"),
    ({"kind": "difference-set", "v": 13}, 13, "1", "0"),
    ({"kind": "difference-set", "v": 15}, 14, "0.25", "0"),
    ({"kind": "difference-set", "v": 16}, 15, "0.5", "0.001"),
    ({"kind": "affine", "q": 2, "m": 2, "s": 1}, 3, "1", "0"),
    ({"kind": "affine", "q": 2, "m": 18, "s": 1}, 65_536, "0.5", "0"),
    ({"kind": "affine", "q": 3, "m": 3, "s": 2}, 20, "1", "0.01"),
    ({"kind": "affine", "q": 17, "m": 1, "s": 5}, 16, "1", "0"),
    ({"kind": "affine", "q": 107, "m": 1, "s": 29}, 105, "1", "0"),
    ({"kind": "affine", "q": 107, "m": 1, "s": 40}, 105, "0.5", "0.000000001"),
    ({"kind": "affine", "q": 11, "m": 2, "s": 3}, 105, "1", "0"),
    ({"kind": "affine", "q": 11, "m": 3, "s": 3}, 1_024, "1", "0"),
    ({"kind": "affine", "q": 37, "m": 2, "s": 14}, 1_024, "0.5", "0"),
    ({"kind": "affine", "q": 53, "m": 2, "s": 1}, 1_024, "4", "0"),
    ({"kind": "affine", "q": 101, "m": 2, "s": 27}, 10_000, "1", "0"),
    ({"kind": "affine", "q": 7, "m": 6, "s": 2}, 65_536, "1", "0"),
    ({"kind": "affine", "q": 401, "m": 2, "s": 1}, 65_536, "6", "0"),
    ({"kind": "affine", "q": 5, "m": 3, "s": 4}, 100, "1", "0"),
    ({"kind": "affine", "q": 1447, "m": 1, "s": 390}, 1_000, "1", "0"),
    ({"kind": "affine", "q": 7, "m": 1, "s": 3}, 7, "1", "0"),
    ({"kind": "affine", "q": 13, "m": 2, "s": 4}, 160, "1", "0.001"),
    ({"kind": "affine", "q": 2467, "m": 1, "s": 6}, 2_458, "6", "0"),
    ({"kind": "affine", "q": 1021, "m": 1, "s": 1}, 1_021, "12.345678901234567891", "0"),
]

REPORTS = {
    "open": (DEVICE_SECRET, Report(OPEN_SURVEY.survey_id, EPOCH, RESPONSE), None),
    "certificate": (
        DEVICE_SECRET,
        Report(CERTIFICATE_SURVEY.survey_id, EPOCH, RESPONSE),
        credential(),
    ),
    "blind": (DEVICE_SECRET, Report(BLIND_SURVEY.survey_id, EPOCH, RESPONSE), token()),
    "next epoch": (DEVICE_SECRET, Report(OPEN_SURVEY.survey_id, EPOCH + 1, RESPONSE), None),
    "zeros": (bytes(32), Report(bytes(32), 0, 0), None),
    "the last category of the largest survey": (
        bytes(range(32)),
        Report(bytes(range(32, 64)), 9_999, 65_535),
        None,
    ),
    "the widest numbers": (
        b"\xff" * 32,
        Report(b"\xff" * 32, 2**63 - 1, 2**63 - 1),
        bytes(64),
    ),
}


def plain(value: object) -> Any:
    """Return a value with its bytes in hex, as JSON can hold it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def manifest_vector(name: str, fields: dict[str, object]) -> dict[str, object]:
    """Return a manifest, from its fields to its envelope."""
    manifest = Manifest.from_payload(pack(fields))
    return {
        "name": name,
        "fields": plain(fields),
        "payload": manifest.payload.hex(),
        "survey_id": manifest.survey_id.hex(),
        "envelope": sign_manifest(manifest, AUTHORITY).hex(),
        "matrix_sha256": matrix_digest(manifest.mechanism),
    }


def matrix_digest(mechanism: Mechanism) -> str:
    """Return SHA-256 of all weights, row by row, each in 24 bytes big-endian."""
    digest = sha256()
    for x in range(mechanism.categories):
        digest.update(b"".join(weight.to_bytes(24, "big") for weight in mechanism.row(x)))
    return digest.hexdigest()


def table_vector(specification: dict[str, object], categories: int) -> dict[str, object]:
    """Return a distance mechanism: its first and middle row, its tight odds, all of its weights."""
    mechanism = Specification.from_map(specification).mechanism(categories, "40", "0")
    odds = mechanism.privacy.odds
    assert odds is not None
    return {
        "mechanism": specification,
        "categories": categories,
        "first_row": [str(weight) for weight in mechanism.row(0)],
        "middle_row": [str(weight) for weight in mechanism.row(categories // 2)],
        "odds": [str(odds.numerator), str(odds.denominator)],
        "matrix_sha256": matrix_digest(mechanism),
    }


def design_vector(
    specification: dict[str, object], categories: int, epsilon: str, delta: str
) -> dict[str, object]:
    """Return a design: its weights, its tight odds, and what some words make of some answers."""
    mechanism = Specification.from_map(specification).mechanism(categories, epsilon, delta)
    assert isinstance(mechanism, DesignMechanism)
    odds = mechanism.privacy.odds
    drawn = [drawn_by(mechanism, specification, number, 3) for number in range(3)]
    # The last words send the base block as it is, where any do.
    response = mechanism.randomise(categories - 1, iter([2**64 - 1, 0, 0]).__next__)
    drawn.append(
        {"words": [str(2**64 - 1), "0", "0"], "answer": categories - 1, "response": response}
    )
    return {
        "mechanism": specification,
        "categories": categories,
        "epsilon": epsilon,
        "delta": delta,
        "responses": mechanism.responses,
        "inside": str(mechanism.inside),
        "outside": str(mechanism.outside),
        "odds": [str(odds.numerator), str(odds.denominator)],
        "drawn": drawn,
    }


DRAWN: list[list[tuple[int, list[object]]]] = [
    [(2, ["randomised-response"]), (4, ["subset", 2])],
    [(2, ["randomised-response"]), (3, ["randomised-response"]), (105, ["affine", 11, 2, 3])],
    [(2, ["randomised-response"])] * 9,
]


def question_vector(questions: list[tuple[int, list[object]]]) -> dict[str, object]:
    """Return what some words make of some answers, if one question is drawn of several."""
    sizes = [size for size, _ in questions]
    dimensions = [[f"q{i}", *(f"a{j}" for j in range(size))] for i, size in enumerate(sizes)]
    specification = {
        "kind": "one-question",
        "dimensions": dimensions,
        "mechanisms": [each for _, each in questions],
    }
    mechanism, drawn = Specification.from_map(specification).mechanism(sum(sizes), "1", "0"), []
    for number in range(6):
        words = [
            int.from_bytes(seed(f"{sizes} {number} {i}")[start : start + 8])
            for i in range(4)
            for start in (0, 8, 16, 24)
        ]
        answers = [(number + i) % size for i, size in enumerate(sizes)]
        response = mechanism.randomise(combined(answers, sizes), iter(words).__next__)
        drawn.append({"words": list(map(str, words)), "answers": answers, "response": response})
    return {
        "sizes": sizes,
        "mechanisms": specification["mechanisms"],
        "epsilon": "1",
        "responses": mechanism.responses,
        "drawn": drawn,
    }


LEVELS: list[tuple[int, list[int], list[list[object]]]] = [
    (7, [4, 2, 1], [["randomised-response"], ["subset", 2], ["affine", 7, 1, 2]]),
    (
        49,
        [18, 6, 2, 1],
        [["randomised-response"], ["affine", 3, 2, 1], ["affine", 29, 1, 8], ["affine", 7, 2, 2]],
    ),
]


def level_vector(
    categories: int, widths: list[int], mechanisms: list[list[object]]
) -> dict[str, object]:
    """Return what some words make of some answers, if one level is drawn of several."""
    specification = {"kind": "levels", "widths": widths, "mechanisms": mechanisms}
    mechanism, drawn = Specification.from_map(specification).mechanism(categories, "1", "0"), []
    for number in range(6):
        words = [
            int.from_bytes(seed(f"{categories} {number} {i}")[start : start + 8])
            for i in range(4)
            for start in (0, 8, 16, 24)
        ]
        answer = 5 * number % categories
        response = mechanism.randomise(answer, iter(words).__next__)
        drawn.append({"words": list(map(str, words)), "answer": answer, "response": response})
    return {
        "categories": categories,
        "widths": widths,
        "mechanisms": mechanisms,
        "epsilon": "1",
        "responses": mechanism.responses,
        "drawn": drawn,
    }


def two_round_vector(
    categories: int, epsilon: str, kept: str, fresh: list[object]
) -> dict[str, object]:
    """Return the integers of two rounds, and what some words make of some answers."""
    specification: dict[str, object] = {"kind": "two-round", "kept": kept, "fresh": fresh}
    mechanism = Specification.from_map(specification).mechanism(categories, epsilon, "0")
    assert isinstance(mechanism, TwoRound)
    return {
        "mechanism": specification,
        "categories": categories,
        "epsilon": epsilon,
        "kept_lies": str(mechanism.kept.lies),
        "inside": str(mechanism.fresh.inside),
        "outside": str(mechanism.fresh.outside),
        "supporting": str(mechanism.supporting),
        "other": str(mechanism.other),
        "drawn": [drawn_by(mechanism, specification, number, 4) for number in range(3)],
    }


def drawn_by(
    mechanism: SurveyMechanism, specification: dict[str, object], number: int, count: int
) -> dict[str, object]:
    """Return an answer, so many words and what they make of it."""
    categories = mechanism.categories
    name = f"{pack(specification).hex()} {categories} {number}"
    words = [int.from_bytes(seed(name)[start : start + 8]) for start in range(0, 8 * count, 8)]
    answer = number * (categories - 1) // 2
    response = mechanism.randomise(answer, iter(words).__next__)
    return {"words": list(map(str, words)), "answer": answer, "response": response}


def report_vector(name: str, secret: bytes, report: Report, vouched: bytes | None) -> object:
    """Return a report, from the device's secret to its envelope."""
    envelope = sign_report(secret, report, vouched)
    signed = SignedReport.from_envelope(envelope)
    info = b"deniable/report-key/v1\0" + report.epoch.to_bytes(8, "big")
    signing_seed = HKDF(SHA256(), 32, salt=report.survey_id, info=info).derive(secret)
    return {
        "name": name,
        "device_secret": secret.hex(),
        "survey_id": report.survey_id.hex(),
        "epoch": str(report.epoch),
        "response": str(report.response),
        "signing_seed": signing_seed.hex(),
        "public_key": signed.public_key.hex(),
        "payload": report.payload.hex(),
        "signature": signed.signature.hex(),
        "credential": vouched.hex() if vouched else None,
        "envelope": envelope.hex(),
    }


def blind_vector() -> dict[str, object]:
    """Return a blind enrolment, from the device's secret to the token, with the issuer's key."""
    key = RSA_KEYS[EPOCH - BLIND_SURVEY.enrolment.first]
    public_key = report_key(BLIND_SURVEY).public_key
    request = blind_request(DEVICE_SECRET, BLIND_SURVEY, EPOCH)
    return {
        "p": f"{key.p:x}",
        "q": f"{key.q:x}",
        "device_secret": DEVICE_SECRET.hex(),
        "survey_id": BLIND_SURVEY.survey_id.hex(),
        "epoch": str(EPOCH),
        "issuer": BLIND_SURVEY.enrolment.issuer,
        "issuer_id": BLIND_SURVEY.enrolment.issuer_ids[0].hex(),
        "origin": BLIND_SURVEY.origin,
        "public_key": public_key.hex(),
        "token_input": blind_token_input(BLIND_SURVEY, EPOCH, public_key).hex(),
        "request": request.body.hex(),
        "answer": key.answer(request.body).hex(),
        "credential": token().hex(),
    }


ROTATIONS = [
    ("authority", "next authority", 1),
    ("next authority", "last authority", 2),
    ("last authority", "another authority", 3),
]


def rotation_vector(old_name: str, new_name: str, sequence: int) -> dict[str, object]:
    """Return a rotation, from the seeds of its keys to its envelope."""
    old, new = SigningKey(seed(old_name)), SigningKey(seed(new_name))
    rotation = Rotation(old.public_key, new.public_key, sequence)
    return {
        "old_seed": seed(old_name).hex(),
        "new_seed": seed(new_name).hex(),
        "old_key": old.public_key.hex(),
        "new_key": new.public_key.hex(),
        "sequence": str(sequence),
        "payload": rotation.payload.hex(),
        "envelope": sign_rotation(rotation, old, new).hex(),
    }


def gateway_vector() -> dict[str, object]:
    """Return signed gateway keys: of two, the first is the one that devices seal for."""
    keys = {identifier: PrivateKey(seed(f"gateway key {identifier}")) for identifier in (1, 0)}
    listed = tuple(KeyConfiguration(identifier, key.public_key) for identifier, key in keys.items())
    signed = GatewayKeys(OPEN_SURVEY.origin, 1, listed)
    return {
        "private_keys": {
            str(identifier): seed(f"gateway key {identifier}").hex() for identifier in keys
        },
        "payload": signed.payload.hex(),
        "envelope": sign_gateway_keys(signed, AUTHORITY).hex(),
    }


def golden() -> dict[str, object]:
    """Return everything that goes into golden.json. Wide integers are strings in it."""
    rotations = [rotation_vector(*given) for given in ROTATIONS]
    envelopes = [bytes.fromhex(str(vector["envelope"])) for vector in rotations]
    return {
        "authority_seed": seed("authority").hex(),
        "authority": AUTHORITY.public_key.hex(),
        "mechanisms": [
            {
                "categories": categories,
                "epsilon": epsilon,
                "delta": delta,
                "lies": str(RandomisedResponse(categories, epsilon, delta).lies),
            }
            for categories, epsilon, delta in MECHANISMS
        ],
        "two_rounds": [two_round_vector(*given) for given in TWO_ROUNDS],
        "tables": [table_vector(*table) for table in TABLES],
        "designs": [design_vector(*design) for design in DESIGNS],
        "questions": [question_vector(questions) for questions in DRAWN],
        "levels": [level_vector(*levels) for levels in LEVELS],
        "manifests": [manifest_vector(name, fields) for name, fields in MANIFESTS.items()],
        "reports": [report_vector(name, *given) for name, given in REPORTS.items()],
        "enrolment": {
            "issuer_seed": seed("issuer").hex(),
            "issuer": ISSUER.public_key.hex(),
            "survey_id": CERTIFICATE_SURVEY.survey_id.hex(),
            "epoch": str(EPOCH),
            "public_key": report_key(CERTIFICATE_SURVEY).public_key.hex(),
            "credential": credential().hex(),
            "now": NOW,
            "request": pack(
                [CERTIFICATE_SURVEY.survey_id, EPOCH, report_key(CERTIFICATE_SURVEY).public_key]
            ).hex(),
            "answer": pack(credential()).hex(),
        },
        "gateway": gateway_vector(),
        "blind_enrolment": blind_vector(),
        "rotations": rotations,
        "published_rotations": {
            "none": pack_rotations([]).hex(),
            "all": pack_rotations(envelopes).hex(),
        },
    }
