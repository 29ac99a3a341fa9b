"""The vectors: golden ones made again without our code, bad ones refused with their codes."""

import hmac
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from hashlib import sha256, sha384
from itertools import count
from pathlib import Path
from typing import Any

import msgpack
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384
from msgpack.fallback import Packer
from nacl.public import PrivateKey
from nacl.signing import SigningKey, VerifyKey

from deniable.mechanisms import KINDS, RandomisedResponse, SurveyMechanism
from deniable.messages import (
    RefusalCode,
    Report,
    SignedReport,
    Specification,
    follow_rotations,
    open_gateway_keys,
    open_manifest,
    open_rotation,
    read_enrolment_statement,
    sign_report,
    split_rotations,
    split_upload,
)
from deniable.privacy_pass import public_key_info
from tests.mechanisms.laws import clamped_rows, on_a_circle, on_a_line, row_by_boundaries
from tests.mechanisms.taylor import exp_bounds
from tests.support.refusals import code_of
from tests.vectors import bad_manifests
from tests.vectors.generate import documents
from tests.vectors.golden import matrix_digest
from tests.vectors.stored import BAD, BAD_AUTHORITY, BAD_SURVEYS, GOLDEN, name_of

VECTORS = Path(__file__).parents[1] / "vectors"
AUTHORITY = bytes.fromhex(GOLDEN["authority"])
LAYERS: dict[str, list[dict[str, Any]]] = {
    layer: [vector for vector in BAD["vectors"] if vector["layer"] == layer]
    for layer in ("messages", "intake", "issuer")
}


def parameters(vector: dict[str, Any]) -> str:
    return "-".join(map(str, vector.values()))


def pack(value: object) -> bytes:
    """Pack with msgpack's pure Python half: another implementation than the compiled one."""
    packed: bytes = Packer().pack(value)
    return packed


def signed(seed: bytes, context: bytes, payload: bytes) -> bytes:
    """Sign with libsodium: another implementation than OpenSSL."""
    return SigningKey(seed).sign(context + payload).signature


def test_the_vectors_are_those_that_the_generator_writes() -> None:
    # If this fails, the protocol changed: see the head of tests/vectors/generate.py.
    for file, text in documents().items():
        assert (VECTORS / file).read_text("utf-8") == text


@pytest.mark.parametrize("vector", GOLDEN["mechanisms"], ids=parameters)
def test_golden_mechanisms_are_the_ceiling_of_n_q(vector: dict[str, Any]) -> None:
    categories, epsilon, delta = vector["categories"], vector["epsilon"], vector["delta"]
    # a = ceil(2^64 (1 - delta)/(E + m)), from the bare series alone.
    ends = [end + categories - 1 for end in exp_bounds(Fraction(epsilon))]
    ceilings = {math.ceil(2**64 * (1 - Fraction(delta)) / end) for end in ends}
    assert ceilings == {int(vector["lies"])}
    assert RandomisedResponse(categories, epsilon, delta).lies == int(vector["lies"])


TRANSLATED = {13: [0, 1, 3, 9], 15: [0, 1, 2, 4, 5, 8, 10], 16: [3, 7, 11, 12, 13, 14]}


def design_numbers(mechanism: dict[str, Any], k: int) -> tuple[int, int, int, int, int]:
    """Return n, s, K, r and t, from docs/mathematics.md, section 17."""
    if mechanism["kind"] == "subset":
        d, blocks = mechanism["d"], math.comb(k, mechanism["d"])
        # Of K blocks with d of k points each: r = K d/k, t = r (d - 1)/(k - 1).
        r = blocks * d // k
        return k, d, blocks, r, r * (d - 1) // (k - 1)
    if mechanism["kind"] == "difference-set":
        v = mechanism["v"]
        s = len(TRANSLATED[v])
        return v, s, v, s, s * (s - 1) // (v - 1)
    q, m, s = (mechanism[name] for name in "qms")
    vectors = len(affine_vectors(q, m, s))
    return q, s, q * vectors, s * vectors, (q ** (m - 1) * s * s - s) * vectors // (q**m - 1)


@cache
def affine_rule(q: int, s: int) -> tuple[int, list[int], list[int]]:
    """Return n, the powers of g and the residues of the positions, by docs/protocol.md."""
    powers = next(
        powers
        for powers in ([pow(g, i, q) for i in range(q - 1)] for g in range(1, q))
        if len(set(powers)) == q - 1
    )
    choices = [(math.gcd(s, q - 1), 0), (math.gcd(s - 1, q - 1), 1)]
    # Of two with the same n, that with 0 in S.
    n, zero, h = max((math.lcm(h, math.gcd(2, q - 1)), zero, h) for h, zero in choices)
    cosets = [powers[j + i * ((q - 1) // h)] for j in range((q - 1) // h) for i in range(h)]
    return n, powers, [0, *cosets] if zero else [*cosets, 0]


@cache
def affine_vectors(q: int, m: int, s: int) -> list[int]:
    """Return the vectors of an affine design in their order."""
    n, powers, _ = affine_rule(q, s)
    firsts = powers[: (q - 1) // n]
    return [a * q**i + rest for i in range(m) for a in firsts for rest in range(q**i)]


def response_by_rule(mechanism: dict[str, Any], k: int, base: int, position: int, x: int) -> int:
    """Return the block turned until the position lies at x, from the protocol's rules."""
    if mechanism["kind"] == "affine":
        q, m, s = (mechanism[name] for name in "qms")
        vector = affine_vectors(q, m, s)[base // q]
        a, digits = ([value // q**i % q for i in range(m)] for value in (vector, x))
        product: int = sum(map(math.prod, zip(a, digits, strict=True)))
        return int(base // q * q + (affine_rule(q, s)[2][position] - product) % q)
    if mechanism["kind"] == "difference-set":
        v = mechanism["v"]
        order = [*TRANSLATED[v], *(c for c in range(v) if c not in TRANSLATED[v])]
        return x ^ order[position] if v == 16 else (x - order[position]) % v
    d, block = mechanism["d"], 0
    # Colexicographic order is that of the numbers whose bits are the members.
    members: list[int] = []
    for places in range(d, 0, -1):
        members.append(max(c for c in range(k) if math.comb(c, places) <= base - block))
        block += math.comb(members[-1], places)
    order = [*members, *(c for c in range(k) if c not in members)]
    turn = x - order[position]
    moved = sorted((c + turn) % k for c in members)
    return sum(math.comb(c, i) for i, c in enumerate(moved, 1))


@pytest.mark.parametrize("vector", GOLDEN["designs"], ids=lambda v: str(v["mechanism"]))
def test_golden_designs_follow_from_their_levels_by_the_rules(vector: dict[str, Any]) -> None:
    mechanism, k, delta = vector["mechanism"], vector["categories"], Fraction(vector["delta"])
    n, s, blocks, r, t = design_numbers(mechanism, k)
    delta /= 1 + Fraction(blocks, 2**128)  # a block may be drawn as much likelier than another
    ends = set()
    for end in exp_bounds(Fraction(vector["epsilon"])):
        odds = ((r - t) * end + delta * (blocks - r)) / ((r - t) - delta * r)
        ends.add(math.ceil(2**64 / (s * odds + n - s)))
    (outside,) = ends
    inside, blank = divmod(2**64 - (n - s) * outside, s)
    assert (vector["responses"], vector["outside"]) == (blocks, str(outside))
    assert vector["inside"] == str(inside)
    assert Fraction(*map(int, vector["odds"])) == Fraction(n * inside + blank, n * outside + blank)
    made = Specification.from_map(mechanism).mechanism(k, vector["epsilon"], vector["delta"])
    for drawn in vector["drawn"]:
        response = drawn_by_rule(mechanism, k, outside, drawn["words"], drawn["answer"])
        words = iter(map(int, drawn["words"]))
        assert made.randomise(drawn["answer"], words.__next__) == response == drawn["response"]


def drawn_by_rule(
    mechanism: dict[str, Any], k: int, outside: int, words: list[str], answer: int
) -> int:
    """Return what three words make of an answer, by the rules of docs/protocol.md."""
    n, s, blocks, _, _ = design_numbers(mechanism, k)
    inside, blank = divmod(2**64 - (n - s) * outside, s)
    word, *base = map(int, words)
    missed = (n - s) * outside
    position = s + word // outside if word < missed else (word - missed) // inside
    response = ((base[0] << 64) + base[1]) * blocks >> 128
    if word < 2**64 - blank:
        response = response_by_rule(mechanism, k, response, position, answer)
    return response


@pytest.mark.parametrize("vector", GOLDEN["two_rounds"], ids=lambda v: str(v["mechanism"]))
def test_golden_two_rounds_follow_from_their_levels_by_the_rules(vector: dict[str, Any]) -> None:
    k, (kind, *values) = vector["categories"], vector["mechanism"]["fresh"]
    names = {"subset": ("d",), "affine": ("q", "m", "s"), "difference-set": ("v",)}[kind]
    fresh = {"kind": kind, **dict(zip(names, values, strict=True))}
    grid, (n, s, blocks, _, _) = 2**64, design_numbers(fresh, k)
    v = {"subset": k, "affine": fresh.get("q", 0) ** fresh.get("m", 1)}.get(kind, n)
    b = v * s // n
    (a,) = {
        math.ceil(grid / (e + v - 1)) for e in exp_bounds(Fraction(vector["mechanism"]["kept"]))
    }
    true, ends = grid - v * a, set()
    for end in exp_bounds(Fraction(vector["epsilon"])):
        rest = (end - 1) * a
        ends.add(math.ceil(grid / (s * (end * true + rest * (v - b)) / (true - rest * b) + n - s)))
    (outside,) = ends
    inside, blank = divmod(grid - (n - s) * outside, s)
    weights = [true * (n * w + blank) + a * v * grid for w in (inside, outside)]
    names = ("kept_lies", "inside", "outside", "supporting", "other")
    assert [int(vector[name]) for name in names] == [a, inside, outside, *weights]
    # A row of the matrix weighs K N^2.
    r = blocks * b // v
    assert r * weights[0] + (blocks - r) * weights[1] == blocks * grid**2
    mechanism = Specification.from_map(vector["mechanism"]).mechanism(k, vector["epsilon"], "0")
    for drawn in vector["drawn"]:
        first, *words = drawn["words"]
        point = int(first) // a if int(first) < v * a else drawn["answer"]
        response = drawn_by_rule(fresh, v, outside, words, point)
        given = iter(map(int, drawn["words"]))
        assert mechanism.randomise(drawn["answer"], given.__next__) == response
        assert response == drawn["response"]


def distance_rows(mechanism: dict[str, Any], categories: int) -> list[list[int]]:
    """Return a distance mechanism's weights by the rules of docs/protocol.md, and nothing else."""
    ratio = Fraction(*map(int, mechanism["ratio"]))
    if mechanism["kind"] == "numeric":
        return clamped_rows(ratio, categories)
    if mechanism["distance"] == "circular":
        first = row_by_boundaries(ratio, on_a_circle(categories)[0])
        return [[first[(y - x) % categories] for y in range(categories)] for x in range(categories)]
    absolute = mechanism["distance"] == "absolute"
    table = on_a_line(categories) if absolute else mechanism["distance"]
    return [row_by_boundaries(ratio, distances) for distances in table]


TABLES = [
    pytest.param(
        vector,
        id=str(vector["mechanism"]),
        marks=[pytest.mark.long] if vector["categories"] >= 1000 else [],
    )
    for vector in GOLDEN["tables"]
]


@pytest.mark.parametrize("vector", TABLES)
def test_golden_tables_follow_from_their_ratio_by_the_rules(vector: dict[str, Any]) -> None:
    categories = vector["categories"]
    rows = distance_rows(vector["mechanism"], categories)
    assert [str(weight) for weight in rows[0]] == vector["first_row"]
    assert [str(weight) for weight in rows[categories // 2]] == vector["middle_row"]
    digest = sha256(b"".join(w.to_bytes(24, "big") for row in rows for w in row))
    assert digest.hexdigest() == vector["matrix_sha256"]
    odds = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert [str(odds.numerator), str(odds.denominator)] == vector["odds"]
    mechanism = Specification.from_map(vector["mechanism"]).mechanism(categories, "40", "0")
    assert [list(mechanism.row(x)) for x in range(categories)] == rows
    assert mechanism.privacy.odds == odds


def parts_of(vector: dict[str, Any], sizes: list[int]) -> list[SurveyMechanism]:
    """Return the mechanisms of questions, or levels, with so many answers."""
    fields = {"subset": ("d",), "affine": ("q", "m", "s"), "randomised-response": ()}
    parts = [
        Specification.from_map(
            {"kind": kind, **dict(zip(fields[kind], parameters, strict=True))}
        ).mechanism(size, vector["epsilon"], "0")
        for size, (kind, *parameters) in zip(sizes, vector["mechanisms"], strict=True)
    ]
    assert sum(part.responses for part in parts) == vector["responses"]
    return parts


def assert_drawn(parts: list[SurveyMechanism], answers: list[int], drawn: dict[str, Any]) -> None:
    """See that the last bits of a word, as many as a part's number has, are that of one."""
    words, count = iter(map(int, drawn["words"])), len(parts)
    number = next(
        found for word in words if (found := word % 2 ** (count - 1).bit_length()) < count
    )
    own = parts[number].randomise(answers[number], words.__next__)
    assert drawn["response"] == sum(part.responses for part in parts[:number]) + own


@pytest.mark.parametrize("vector", GOLDEN["questions"], ids=lambda v: str(len(v["sizes"])))
def test_golden_questions_are_drawn_by_the_first_words(vector: dict[str, Any]) -> None:
    parts = parts_of(vector, vector["sizes"])
    for drawn in vector["drawn"]:
        assert_drawn(parts, drawn["answers"], drawn)


@pytest.mark.parametrize("vector", GOLDEN["levels"], ids=lambda v: str(v["categories"]))
def test_golden_levels_are_drawn_by_the_first_words(vector: dict[str, Any]) -> None:
    widths, k = vector["widths"], vector["categories"]
    parts = parts_of(vector, [len(range(0, k, width)) for width in widths])
    for drawn in vector["drawn"]:
        assert_drawn(parts, [drawn["answer"] // width for width in widths], drawn)


@pytest.mark.parametrize("vector", GOLDEN["manifests"], ids=name_of)
def test_golden_manifests_follow_from_their_fields(vector: dict[str, Any]) -> None:
    fields = dict(vector["fields"])
    fields["nonce"] = bytes.fromhex(fields["nonce"])
    for keys in ("issuers", "keys"):
        if keys in fields["enrolment"]:
            listed = [bytes.fromhex(key) for key in fields["enrolment"][keys]]
            fields["enrolment"] = fields["enrolment"] | {keys: listed}
    payload = pack(fields)
    assert payload.hex() == vector["payload"]
    assert sha256(payload).hexdigest() == vector["survey_id"]
    authority_seed = bytes.fromhex(GOLDEN["authority_seed"])
    signature = signed(authority_seed, b"deniable/manifest/v1\0", payload)
    assert pack([payload, signature]).hex() == vector["envelope"]
    VerifyKey(AUTHORITY).verify(b"deniable/manifest/v1\0" + payload, signature)


@pytest.mark.parametrize("vector", GOLDEN["manifests"], ids=name_of)
def test_golden_manifests_are_opened(vector: dict[str, Any]) -> None:
    manifest = open_manifest(bytes.fromhex(vector["envelope"]), AUTHORITY)
    assert manifest.survey_id.hex() == vector["survey_id"]
    assert manifest.payload.hex() == vector["payload"]
    assert matrix_digest(manifest.mechanism) == vector["matrix_sha256"]


@pytest.mark.parametrize("vector", GOLDEN["reports"], ids=name_of)
def test_golden_reports_follow_from_the_devices_secret(vector: dict[str, Any]) -> None:
    survey_id, epoch = bytes.fromhex(vector["survey_id"]), int(vector["epoch"])
    # HKDF-SHA256 by hand (RFC 5869): extract, and one block of expand.
    extracted = hmac.digest(survey_id, bytes.fromhex(vector["device_secret"]), sha256)
    info = b"deniable/report-key/v1\0" + epoch.to_bytes(8, "big")
    seed = hmac.digest(extracted, info + b"\1", sha256)
    payload = pack([survey_id, epoch, int(vector["response"])])
    assert seed.hex() == vector["signing_seed"]
    assert bytes(SigningKey(seed).verify_key).hex() == vector["public_key"]
    assert payload.hex() == vector["payload"]
    signature = signed(seed, b"deniable/report/v1\0", payload)
    assert signature.hex() == vector["signature"]
    vouched = bytes.fromhex(vector["credential"]) if vector["credential"] else None
    envelope = pack([bytes.fromhex(vector["public_key"]), payload, signature, vouched])
    assert envelope.hex() == vector["envelope"]


@pytest.mark.parametrize("vector", GOLDEN["reports"], ids=name_of)
def test_golden_reports_are_signed_and_read_alike(vector: dict[str, Any]) -> None:
    report = Report(
        bytes.fromhex(vector["survey_id"]), int(vector["epoch"]), int(vector["response"])
    )
    vouched = bytes.fromhex(vector["credential"]) if vector["credential"] else None
    envelope = sign_report(bytes.fromhex(vector["device_secret"]), report, vouched)
    assert envelope.hex() == vector["envelope"]
    read = SignedReport.from_envelope(envelope)
    read.verify_signature()
    assert (read.report, read.credential) == (report, vouched)


def test_the_golden_credential_follows_from_the_issuers_key() -> None:
    vector = GOLDEN["enrolment"]
    survey_id, key = bytes.fromhex(vector["survey_id"]), bytes.fromhex(vector["public_key"])
    statement = pack([survey_id, int(vector["epoch"]), key])
    vouched = signed(bytes.fromhex(vector["issuer_seed"]), b"deniable/enrol/v1\0", statement)
    assert vouched.hex() == vector["credential"]
    assert (statement.hex(), pack(vouched).hex()) == (vector["request"], vector["answer"])
    (report,) = [v for v in GOLDEN["reports"] if v["credential"] == vector["credential"]]
    assert report["public_key"] == vector["public_key"]
    SignedReport.from_envelope(bytes.fromhex(report["envelope"])).verify_credential(
        [bytes.fromhex(vector["issuer"])]
    )


def test_the_golden_token_follows_from_the_devices_secret_and_the_issuers_primes() -> None:
    vector = GOLDEN["blind_enrolment"]
    p, q = int(vector["p"], 16), int(vector["q"], 16)
    n, epoch = p * q, int(vector["epoch"])
    survey_id, key, credential = (
        bytes.fromhex(vector[name]) for name in ("survey_id", "public_key", "credential")
    )
    # RFC 9577: the challenge, and what is signed.
    context = sha256(b"deniable/blind/v1\0" + survey_id + epoch.to_bytes(8)).digest()
    issuer, host = vector["issuer"].encode(), vector["origin"].removeprefix("https://").encode()
    challenge = b"\0\2\0" + bytes([len(issuer)]) + issuer + b"\x20" + context
    challenge += b"\0" + bytes([len(host)]) + host
    key_id = sha256(public_key_info(n.to_bytes(256))).digest()
    message = b"\0\2" + key + sha256(challenge).digest() + key_id
    assert message.hex() == vector["token_input"]
    assert sha256(issuer).hexdigest() == vector["issuer_id"]
    # RFC 8017: the token verifies, and its encoded message tells the salt.
    public_key = RSAPublicNumbers(65537, n).public_key()
    public_key.verify(credential, message, PSS(MGF1(SHA384()), 48), SHA384())
    encoded = pow(int.from_bytes(credential), 65537, n)
    block, digest = encoded.to_bytes(256)[:207], encoded.to_bytes(256)[207:255]
    mask = b"".join(sha384(digest + bytes([0, 0, 0, i])).digest() for i in range(5))[:207]
    salt = bytes(a ^ b for a, b in zip(block, mask, strict=True))[-48:]
    # RFC 5869 by hand: extract, and as many blocks of expand as it takes.
    extracted = hmac.digest(survey_id, bytes.fromhex(vector["device_secret"]), sha256)

    def derive(label: bytes, counter: int, length: int) -> bytes:
        info = label + epoch.to_bytes(8) + key_id + counter.to_bytes(8)
        blocks = [b""]
        for number in range(1, length // 32 + 2):
            blocks.append(hmac.digest(extracted, blocks[-1] + info + bytes([number]), sha256))
        return b"".join(blocks)[:length]

    assert salt == derive(b"deniable/blind-salt/v1\0", 0, 48)
    drawn = (
        int.from_bytes(derive(b"deniable/blind-factor/v1\0", counter, 256)) for counter in count()
    )
    factor = next(number for number in drawn if number < n and math.gcd(number, n) == 1)
    blinded = encoded * pow(factor, 65537, n) % n
    assert vector["request"] == (b"\0\2" + key_id[-1:] + blinded.to_bytes(256)).hex()
    answered = pow(blinded, pow(65537, -1, (p - 1) * (q - 1)), n)
    assert vector["answer"] == answered.to_bytes(256).hex()
    (report,) = [v for v in GOLDEN["reports"] if v["credential"] == vector["credential"]]
    assert report["public_key"] == vector["public_key"]


@pytest.mark.parametrize("vector", GOLDEN["rotations"], ids=lambda vector: vector["sequence"])
def test_golden_rotations_follow_from_the_two_keys(vector: dict[str, Any]) -> None:
    old_seed, new_seed = bytes.fromhex(vector["old_seed"]), bytes.fromhex(vector["new_seed"])
    old_key, new_key = (bytes(SigningKey(each).verify_key) for each in (old_seed, new_seed))
    assert (old_key.hex(), new_key.hex()) == (vector["old_key"], vector["new_key"])
    payload = pack([old_key, new_key, int(vector["sequence"])])
    assert payload.hex() == vector["payload"]
    old_signature = signed(old_seed, b"deniable/authority/v1\0", payload)
    new_signature = signed(new_seed, b"deniable/authority-accept/v1\0", payload)
    assert pack([payload, old_signature, new_signature]).hex() == vector["envelope"]
    rotation = open_rotation(bytes.fromhex(vector["envelope"]))
    assert (rotation.old_key, rotation.new_key) == (old_key, new_key)
    assert rotation.payload == payload


def test_the_golden_rotations_are_one_chain_from_each_of_its_keys() -> None:
    published = {name: bytes.fromhex(body) for name, body in GOLDEN["published_rotations"].items()}
    assert split_rotations(published["none"]) == ()
    envelopes = [envelope for envelope, _ in split_rotations(published["all"])]
    assert [envelope.hex() for envelope in envelopes] == [
        vector["envelope"] for vector in GOLDEN["rotations"]
    ]
    rotations = [open_rotation(envelope) for envelope in envelopes]
    keys = (AUTHORITY, *(bytes.fromhex(vector["new_key"]) for vector in GOLDEN["rotations"]))
    for position, key in enumerate(keys):
        assert follow_rotations(key, rotations) == keys[position:]
        assert follow_rotations(key, rotations[::-1] * 2) == keys[position:]


def test_the_golden_gateway_keys_are_the_authoritys_and_of_their_private_halves() -> None:
    vector = GOLDEN["gateway"]
    listed = b""
    for identifier, private in vector["private_keys"].items():
        key = PrivateKey(bytes.fromhex(private))
        listed += b"\0\x29" + bytes((int(identifier), 0, 0x20))
        listed += bytes(key.public_key) + bytes.fromhex("000400010001")
    payload = pack(["https://collector.example", 1, listed])
    assert payload.hex() == vector["payload"]
    signature = signed(bytes.fromhex(GOLDEN["authority_seed"]), b"deniable/gateway/v1\0", payload)
    assert pack([payload, signature]).hex() == vector["envelope"]
    opened = open_gateway_keys(bytes.fromhex(vector["envelope"]), (AUTHORITY,))
    assert opened.payload == payload
    assert [key.key_id for key in opened.configurations] == [1, 0]


def read_report(vector: dict[str, Any]) -> None:
    """Read a report without verifying it."""
    SignedReport.from_envelope(bytes.fromhex(vector["envelope"]))


def judge(vector: dict[str, Any]) -> None:
    """Do with a vector all that can be done without a clock and the list of surveys."""
    if "manifest" in vector:
        open_manifest(bytes.fromhex(vector["manifest"]), BAD_AUTHORITY)
    elif "rotations" in vector:
        published = split_rotations(bytes.fromhex(vector["rotations"]))
        follow_rotations(BAD_AUTHORITY, [open_rotation(envelope) for envelope, _ in published])
    elif "enrolment" in vector:
        read_enrolment_statement(bytes.fromhex(vector["enrolment"]))
    elif "body" in vector:
        split_upload(bytes.fromhex(vector["body"]))
    else:
        report = SignedReport.from_envelope(bytes.fromhex(vector["envelope"]))
        report.verify_signature()
        for survey in BAD_SURVEYS.values():
            if survey.survey_id == report.report.survey_id and survey.enrolment.issuers:
                report.verify_credential(survey.enrolment.issuers)


def test_bad_messages_are_refused_with_their_code() -> None:
    wrong = {name_of(v): code_of(judge, v) for v in LAYERS["messages"]}
    assert wrong == {name_of(v): RefusalCode(v["code"]) for v in LAYERS["messages"]}


@pytest.mark.parametrize(("layer", "call"), [("intake", read_report), ("issuer", judge)])
def test_what_is_left_to_another_layer_is_well_formed(
    layer: str, call: Callable[[dict[str, Any]], None]
) -> None:
    # Otherwise the vector would test the messages layer again and not that one.
    assert [name_of(v) for v in LAYERS[layer] if code_of(call, v) is not None] == []


def test_the_bad_vectors_cover_every_code_that_a_message_can_get() -> None:
    codes = {layer: Counter(vector["code"] for vector in LAYERS[layer]) for layer in LAYERS}
    assert codes["messages"].keys() == {
        "malformed",
        "too-large",
        "bad-key",
        "bad-signature",
        "not-enrolled",
    }
    assert codes["intake"].keys() == {
        "malformed",
        "unknown-survey",
        "out-of-domain",
        "too-early",
        "epoch-closed",
        "bad-signature",
        "not-enrolled",
    }
    assert sum(map(len, LAYERS.values())) == len(BAD["vectors"])


def test_every_kind_of_mechanism_has_golden_and_bad_vectors() -> None:
    golden = [vector["fields"]["mechanism"] for vector in GOLDEN["manifests"]]
    bad = [
        msgpack.unpackb(msgpack.unpackb(bytes.fromhex(str(vector["manifest"])))[0])["mechanism"]
        for vector in bad_manifests.mechanisms()
    ]
    for mechanisms in (golden, bad):
        assert set(KINDS) <= {mechanism.get("kind") for mechanism in mechanisms}


def test_the_surveys_of_the_bad_vectors_are_one_of_each_mode() -> None:
    assert [survey.enrolment.mode for survey in BAD_SURVEYS.values()] == list(BAD["surveys"])
    assert list(BAD["surveys"]) == ["open", "certificate", "blind"]
