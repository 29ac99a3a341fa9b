"""Bad vectors of manifests: envelopes that a device must not accept from anybody."""

from collections.abc import Iterator

import msgpack

from deniable.messages import SigningKey
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_MANIFEST, CONTEXT_REPORT
from deniable.messages.manifest import MAX_MANIFEST_BYTES
from tests.support.rsa_keys import RSA_KEYS, hostile_moduli
from tests.vectors import edwards25519 as curve
from tests.vectors.forgeries import malleable_signatures, off_the_curve, unsound_keys
from tests.vectors.layout import Case, case, flag_of
from tests.vectors.scene import (
    AUTHORITY,
    BLIND,
    BLIND_EPOCHS,
    CATEGORIES,
    CERTIFICATE,
    ISSUER,
    OPEN_PAYLOAD,
    manifest_envelope,
    manifest_fields,
    pack,
    seed,
    vector,
)

STRANGER = SigningKey(seed("somebody else"))
Fields = dict[str, object]

LOOK_ALIKES = {
    "sharp s and ss": ["Straße", "STRASSE"],
    "capital sharp s and ss": ["Stra\u1e9ee", "strasse"],
    "a final sigma and another": ["οδος", "οδοσ"],
    "capitals and a final sigma": ["ΟΔΟΣ", "οδος"],
    "a dotted capital I and i with a dot": ["\u0130", "i\u0307"],
    "a ligature and its letters": ["\ufb01ne", "fine"],
    "a long s and s": ["\u017fo", "so"],
    "fullwidth letters and others": ["\uff2eo", "no"],
    "the micro sign and mu": ["\xb5", "\u03bc"],
    "a circled digit and its digit": ["\u2460", "1"],
    "iota below and beside": ["\u1fb3", "αι"],
    "a letter with a caron and its capital": ["\u01f0", "J\u030c"],
    "letters of Cherokee": ["\u13a0", "\uab70"],
    "a joiner within and none": ["on", "o\u200dn"],
    "a variation selector and none": ["\u2764", "\u2764\ufe0f"],
    "a Hangul filler and none": ["no", "no\u3164"],
    "an accent behind a grapheme joiner and its letter": ["e\u034f\u0301", "\xe9"],
}
"""Categories that are one after NFKC and casefold; lower case alone tells many of them apart."""

UNSEEN = {
    "a Hangul filler": "\u3164",
    "a choseong filler": "\u115f",
    "a jungseong filler": "\u1160",
    "a halfwidth Hangul filler": "\uffa0",
    "a blank Braille pattern": "\u2800",
    "an accent alone": "\u0301",
    "a joiner": "\u200d",
    "a grapheme joiner": "\u034f",
    "two fillers and a space between them": "\u3164 \u3164",
}
"""Texts of characters that are allowed, of which nothing is to be seen."""


def envelopes() -> Iterator[Case]:
    """Return envelopes around a good payload that are not the authority's."""
    good = manifest_envelope(OPEN_PAYLOAD)
    signature = AUTHORITY.sign(CONTEXT_MANIFEST, OPEN_PAYLOAD)
    s = int.from_bytes(signature[32:], "little")
    shapes = {
        "empty": b"",
        "truncated": good[:-1],
        "bytes behind it": good + b"\0",
        "a header that is not minimal": b"\xdc\x00\x02" + good[1:],
        "no signature": pack([OPEN_PAYLOAD]),
        "two signatures": pack([OPEN_PAYLOAD, signature, signature]),
        "a short signature": pack([OPEN_PAYLOAD, signature[:-1]]),
        "text for the signature": pack([OPEN_PAYLOAD, "x" * 64]),
        "the payload as a map": pack([manifest_fields(), signature]),
        "a claimed length of 2^32 - 1": b"\x92\xc6\xff\xff\xff\xff",
        "arrays nested 10,000 deep": b"\x91" * 10_000 + b"\xc0",
    }
    for what, envelope in shapes.items():
        yield vector("manifest envelope", what, "malformed", envelope=envelope)
    others = {
        "a flipped bit of the signature": pack(
            [OPEN_PAYLOAD, signature[:-1] + bytes([signature[-1] ^ 1])]
        ),
        "a flipped bit of the question": good.replace(b"tea?", b"tea>"),
        "S + L": pack([OPEN_PAYLOAD, curve.signature_bytes(signature[:32], s + curve.L)]),
        "signed by somebody else": manifest_envelope(OPEN_PAYLOAD, by=STRANGER),
        "in the context of reports": manifest_envelope(OPEN_PAYLOAD, context=CONTEXT_REPORT),
        "in the context of enrolment": manifest_envelope(OPEN_PAYLOAD, context=CONTEXT_ENROL),
        "without a context": manifest_envelope(OPEN_PAYLOAD, context=b""),
        "a payload that was never signed": pack([b"\xc1", bytes(64)]),
    }
    others |= {
        what: pack([OPEN_PAYLOAD, odd])
        for what, odd in malleable_signatures(seed("authority"), CONTEXT_MANIFEST, OPEN_PAYLOAD)
        if what not in others
    }
    for what, envelope in others.items():
        yield vector("manifest envelope", what, "bad-signature", envelope=envelope)


def unsound_authorities() -> Iterator[tuple[bytes, Case]]:
    """Return keys that no app may trust, each with an envelope that fits its equation or not."""
    context, code = CONTEXT_MANIFEST, "bad-key"
    honest = AUTHORITY.sign(context, OPEN_PAYLOAD)
    for what, key, signature in unsound_keys(context + OPEN_PAYLOAD, honest):
        comment, envelope = f"authority: {what}", pack([OPEN_PAYLOAD, signature])
        yield key, case(comment, flag_of(code, comment), code=code, envelope=envelope)
    envelope, code = pack([OPEN_PAYLOAD, honest]), "bad-signature"
    yield (
        off_the_curve(),
        case("authority: off the curve", "NoPoint", code=code, envelope=envelope),
    )


def maps() -> Iterator[Case]:
    """Return payloads whose map is not the one map; the authority signed each of them."""
    fields = manifest_fields()
    entries = [pack(key) + pack(value) for key, value in fields.items()]
    header = OPEN_PAYLOAD[:3]
    more = b"\xde\x00\x12"
    one_less = b"\xde\x00\x10"
    shapes = {
        "a key twice, at the end": more + b"".join([*entries, entries[1]]),
        "a key twice, next to itself": more + b"".join([*entries[:2], *entries[1:]]),
        "a key twice, another value": more + b"".join([*entries, pack("epsilon") + pack("2")]),
        "a key twice instead of another": header + b"".join([*entries[:-1], entries[0]]),
        "two keys exchanged": header + b"".join([entries[1], entries[0], *entries[2:]]),
        "epsilon and delta exchanged": header
        + b"".join([*entries[:7], entries[8], entries[7], *entries[9:]]),
        "a key missing": one_less + b"".join(entries[:-1]),
        "an unknown key": more + b"".join(entries) + pack("colour") + pack(1),
        "a key as bytes": header + pack(b"version") + b"\x01" + b"".join(entries[1:]),
        "an array": pack(list(fields.values())),
        "bytes behind it": OPEN_PAYLOAD + b"\0",
        "truncated": OPEN_PAYLOAD[:-1],
        "a header that is not minimal": b"\xdf\x00\x00\x00\x11" + OPEN_PAYLOAD[3:],
        "a claimed length of 2^32 - 1": b"\xdf\xff\xff\xff\xff" + OPEN_PAYLOAD[3:],
        "a sequence that is not minimal": OPEN_PAYLOAD.replace(
            pack("sequence") + b"\x01", pack("sequence") + b"\xcc\x01"
        ),
    }
    for what, payload in shapes.items():
        assert payload != OPEN_PAYLOAD
        envelope = manifest_envelope(payload)
        yield vector("manifest payload", what, "malformed", envelope=envelope)


def values() -> Iterator[Case]:
    """Return payloads with one field outside its domain; the authority signed each of them."""
    kinds: Fields = {
        "nil": None,
        "true": True,
        "a float": 1.0,
        "NaN": float("nan"),
        "a negative number": -1,
        "2^63": 2**63,
        "2^64 - 1": 2**64 - 1,
        "an ext value": msgpack.ExtType(5, b"x"),
        "a timestamp": msgpack.Timestamp(1_800_000_000, 0),
    }
    for field in manifest_fields():
        for what, value in kinds.items():
            envelope = manifest_envelope(pack(manifest_fields(**{field: value})))
            yield vector(f"manifest {field}", what, "malformed", envelope=envelope)
    issuers = [ISSUER.public_key, b"\1" + bytes(31)]
    domains: list[tuple[str, str, object]] = [
        ("version", "2", 2),
        ("name", "upper case", "Tea"),
        ("name", "a line feed at the end", "tea\n"),
        ("sequence", "2^32", 2**32),
        ("nonce", "text for bytes", "x" * 16),
        ("nonce", "15 bytes", bytes(15)),
        ("question", "bytes for text", b"How often?"),
        ("question", "right-to-left override", "How \u202eoften?"),
        ("question", "not NFC", "Cafe\u0301?"),
        ("question", "empty text", ""),
        ("question", "1,026 bytes of 513 characters", "ä" * 513),
        ("question", "a space at its beginning", " How often?"),
        ("question", "a no-break space at its end", "How often?\xa0"),
        ("question", "an ideographic space at its end", "How often?\u3000"),
        ("question", "a line separator", "How\u2028often?"),
        ("question", "a paragraph separator", "How\u2029often?"),
        ("question", "a character of Unicode 15", "How often?\U0001fae8"),
        ("question", "a code point that nobody assigned", "How often?\u0378"),
        ("question", "a zero width space", "How\u200boften?"),
        ("question", "a tag", "\U0001f3f4\U000e0067"),
        *(("categories", f"{what}, unseen", ["never", text]) for what, text in UNSEEN.items()),
        ("categories", "257 bytes of 86 characters", ["never", "寿" * 85 + "ab"]),
        ("categories", "an empty text", ["never", ""]),
        ("categories", "a space at the end of one", ["never", "often "]),
        ("categories", "a paragraph separator in one", ["never", "of\u2029ten"]),
        *(("categories", f"{what} look alike", pair) for what, pair in LOOK_ALIKES.items()),
        ("categories", "only one", ["never"]),
        ("categories", "two that look alike", ["never", "NEVER"]),
        ("categories", "a number among them", ["never", 1]),
        ("mechanism", "another kind", {"kind": "exponential"}),
        ("epsilon", "0 beside delta 0", "0"),
        ("epsilon", "above 40", "40.1"),
        ("epsilon", "a trailing zero", "1.0"),
        ("epsilon", "an exponent", "1e999999999"),
        ("epsilon", "a fullwidth digit", "１"),
        ("delta", "1", "1"),
        ("repeat", "memoised for one epoch", {"kind": "memoised", "epochs": 1}),
        ("repeat", "memoised for 10,001 epochs", {"kind": "memoised", "epochs": 10_001}),
        ("repeat", "memoised for no number of epochs", {"kind": "memoised"}),
        ("repeat", "memoised with its keys exchanged", {"epochs": 2, "kind": "memoised"}),
        ("repeat", "fresh for two epochs", {"kind": "fresh", "epochs": 2}),
        ("repeat", "another kind", {"kind": "daily"}),
        ("epoch_seconds", "0", 0),
        ("epochs", "10,001", 10_001),
        ("grace_seconds", "2^53", 2**53),
        ("origin", "http", "http://collector.example"),
        ("origin", "a path", "https://collector.example/"),
        ("origin", "the default port", "https://collector.example:443"),
        ("origin", "the default port of http", "http://127.0.0.1:80"),
        ("origin", "a port above 65,535", "https://collector.example:65536"),
        ("origin", "a port with a leading zero", "https://collector.example:08443"),
        ("origin", "upper case", "https://Collector.example"),
        ("origin", "a user", "https://user@collector.example"),
        ("origin", "an IPv6 address in a longer form", "https://[0:0::1]"),
        ("enrolment", "another mode", {"mode": "veiled"}),
        ("enrolment", "open with issuers", {"mode": "open", "issuers": [ISSUER.public_key]}),
        ("enrolment", "the identity key among the issuers", CERTIFICATE | {"issuers": issuers}),
        ("enrolment", "an issuer twice", CERTIFICATE | {"issuers": [ISSUER.public_key] * 2}),
        ("enrolment", "no issuer", CERTIFICATE | {"issuers": []}),
        (
            "enrolment",
            "three issuers",
            CERTIFICATE | {"issuers": [*CERTIFICATE["issuers"], AUTHORITY.public_key]},
        ),
    ]
    keys = unsound_keys(b"", bytes(64))
    domains += [
        ("enrolment", f"an issuer of {what}", CERTIFICATE | {"issuers": [key]})
        for what, key, _ in keys
    ]
    for field, what, value in domains:
        envelope = manifest_envelope(pack(manifest_fields(**{field: value})))
        yield vector(f"manifest {field}", what, "malformed", envelope=envelope)


def sizes() -> Iterator[Case]:
    """Return a payload of a byte more than 1 MiB, of which nothing else is wrong."""
    fields = manifest_fields(categories=[f"{number:04}{'x' * 246}" for number in range(4_140)])
    left = MAX_MANIFEST_BYTES + 1 - len(pack(fields | {"question": ""})) - 2
    payload = pack(fields | {"question": "?" * left})
    assert len(payload) == MAX_MANIFEST_BYTES + 1
    envelope = manifest_envelope(payload)
    yield vector("manifest payload", "a byte more than 1 MiB", "malformed", envelope=envelope)


def blind_enrolments() -> Iterator[Case]:
    """Return blind enrolments whose map or keys are not sound; the authority signed each."""
    good, (first, *rest) = BLIND, RSA_KEYS
    faults: dict[str, Fields] = {
        "without keys": good | {"keys": []},
        "a name in upper case": good | {"issuer": "Issuer.example"},
        "a name with a port": good | {"issuer": "issuer.example:443"},
        "a name as bytes": good | {"issuer": b"issuer.example"},
        "one epoch without a key": good | {"first": 0},
        "an epoch too few": good | {"first": 2},
        "a negative first epoch": good | {"first": -1},
        "keys exchanged": dict(reversed(good.items())),
        "an unknown key": good | {"exponent": 3},
        "issuers": good | {"issuers": [ISSUER.public_key]},
        "a key as text": good | {"keys": ["x" * 256, *(key.modulus for key in rest)]},
    }
    for what, modulus in hostile_moduli(first, rest[-1]).items():
        faults[f"a modulus, {what}"] = good | {"keys": [modulus, *(key.modulus for key in rest)]}
    for what, enrolment in faults.items():
        fields = manifest_fields(epochs=BLIND_EPOCHS, enrolment=enrolment)
        yield vector("manifest blind", what, "malformed", envelope=manifest_envelope(pack(fields)))
    fields = manifest_fields(epochs=65, enrolment=good | {"first": 0, "keys": [first.modulus] * 65})
    yield vector("manifest blind", "65 keys", "malformed", envelope=manifest_envelope(pack(fields)))


def mechanisms() -> Iterator[Case]:
    """Return payloads whose mechanism cannot be certified; the authority signed each of them."""
    noise: Fields = {"kind": "numeric", "ratio": [3, 4]}
    maps: dict[str, Fields] = {
        "no kind": {},
        "a kind in bytes": {"kind": b"numeric"},
        "randomised response with a ratio": {"kind": "randomised-response", "ratio": [1, 2]},
    }
    numerics: dict[str, Fields] = {
        "without a ratio": {"kind": "numeric"},
        "with keys exchanged": {"ratio": [3, 4], "kind": "numeric"},
        "with an unknown key": noise | {"colour": 1},
    }
    ratios: Fields = {
        "that exceeds epsilon": [1, 2],
        "that exceeds epsilon by a hair": [6_608_834_853_477_192_515, 2**63 - 1],
        "of 0": [0, 1],
        "of 1": [1, 1],
        "above 1": [4, 3],
        "not in lowest terms": [6, 8],
        "in wide integers": [2**63, 2**64 - 1],
        "of three": [3, 4, 5],
        "that is a float": 0.75,
        "of floats": [3.0, 4.0],
        "of negative numbers": [-3, -4],
    }
    four = {"categories": ["1", "2", "3", "4"]}
    numerics |= {f"with a ratio {what}": noise | {"ratio": value} for what, value in ratios.items()}
    changes: dict[str, Fields] = {
        **{what: {"mechanism": value} for what, value in maps.items()},
        **{f"numeric {what}": four | {"mechanism": value} for what, value in numerics.items()},
        "numeric with a delta": four | {"mechanism": noise, "delta": "0.1"},
        "numeric with epsilon 0": four | {"mechanism": noise, "epsilon": "0", "delta": "0.1"},
    }
    numbers = {
        "words": ["never", "often"],
        "a trailing zero": ["0.0", "1.0"],
        "a plus sign": ["+0", "+1"],
        "minus 0": ["-1", "-0", "1"],
        "an exponent": ["0", "1e1"],
        "a leading zero": ["00", "01"],
        "seven decimals": ["0", "0.0000001"],
        "unequal steps": ["0", "1", "3"],
        "falling values": ["2", "1", "0"],
        "4,097 values": list(map(str, range(4097))),
    }
    spread = {"kind": "numeric", "ratio": [2**63 - 2, 2**63 - 1]}
    changes |= {
        f"numeric categories with {what}": {"mechanism": spread, "categories": categories}
        for what, categories in numbers.items()
    }
    changes |= dict(_two_rounds())
    changes |= dict(_matrices())
    changes |= dict(_designs())
    changes |= dict(_questions()) | dict(_levels())
    for what, change in changes.items():
        envelope = manifest_envelope(pack(manifest_fields(**change)))
        yield vector("manifest mechanism", what, "malformed", envelope=envelope)


def _two_rounds() -> Iterator[tuple[str, Fields]]:
    """Return changes that leave nothing to be kept, or nothing that may be kept."""
    rounds: Fields = {"kind": "two-round", "kept": "2", "fresh": ["subset", 1]}
    kept: Fields = {"repeat": {"kind": "memoised", "epochs": 7}}
    for what, change in {
        "not memoised": {},
        "with a delta": kept | {"delta": "0.1"},
        "with the kept epsilon": kept | {"epsilon": "2"},
        "with more than the kept epsilon": kept | {"epsilon": "2.000000000000000001"},
        "with epsilon 0 beside a delta": kept | {"epsilon": "0", "delta": "0.1"},
    }.items():
        yield f"two rounds {what}", {"mechanism": rounds} | change
    maps: Fields = {
        "without a kept epsilon": {"kind": "two-round", "fresh": ["subset", 1]},
        "without a fresh round": {"kind": "two-round", "kept": "2"},
        "whose fresh round is no design": rounds | {"fresh": ["randomised-response"]},
        "whose fresh round is of no known kind": rounds | {"fresh": ["numeric", 1]},
        "whose fresh round lacks a parameter": rounds | {"fresh": ["affine", 3, 1]},
        "whose fresh round is for fewer categories": rounds | {"fresh": ["affine", 2, 1, 1]},
        "whose fresh round has blocks of all categories": rounds | {"fresh": ["subset", 5]},
        "whose fresh round has too large blocks": rounds | {"fresh": ["affine", 11, 1, 5]},
        "with a kept epsilon as a number": rounds | {"kept": 2},
        "with a trailing zero": rounds | {"kept": "2.0"},
        "with a kept epsilon above 40": rounds | {"kept": "40.5"},
        "with a ratio": rounds | {"ratio": [1, 2]},
        "with keys exchanged": {"kept": "2", "kind": "two-round", "fresh": ["subset", 1]},
        "with the kept epsilon of another kind": rounds | {"kind": "randomised-response"},
    }
    for what, value in maps.items():
        yield f"two rounds {what}", kept | {"mechanism": value}
    many = kept | {"categories": [f"category {number}" for number in range(17)]}
    yield "memoised randomised response with 17 categories", many
    noise = {"kind": "numeric", "ratio": [99, 100]}
    numbers = {"categories": list(map(str, range(17))), "mechanism": noise}
    yield "memoised numbers with 17 categories", kept | numbers


def _matrices() -> Iterator[tuple[str, Fields]]:
    """Return matrices that are none, are not private enough, or whose responses have no names."""
    unit = 2**60
    rows = [[(7 if x == y else 3) * unit for y in range(4)] for x in range(4)]
    wide = [[*row[:3], row[3] - unit, unit] for row in rows]
    good: Fields = {"kind": "matrix", "weights": rows, "responses": []}
    weights: Fields = {
        "a row too few": rows[:3],
        "a row too many": [*rows, rows[0]],
        "a short row": [*rows[:3], [7 * unit, 9 * unit]],
        "a row that sums to one less": [*rows[:3], [3 * unit] * 3 + [7 * unit - 1]],
        "a weight of 0": [[8 * unit, 8 * unit, 0, 0]] * 4,
        "a weight of 2^64": [[2**64 - 1, 1, 0, 0]] * 4,
        "a negative weight": [*rows[:3], [-unit, 7 * unit, 7 * unit, 3 * unit]],
        "floats": [[0.25] * 4] * 4,
        "true for 1": [*rows[:3], [True, *rows[3][1:]]],
        "arrays for weights": [[[unit]] * 4] * 4,
        "more than epsilon": [*rows[:3], [unit, unit, unit, 13 * unit]],
        "65 responses": [[2**58] * 63 + [2**57] * 2] * 4,
        "no rows": [],
        "nil": None,
        "more responses than categories, without names": wide,
    }
    labels: Fields = {
        "a name too few": ["a", "b", "c"],
        "two names that look alike": ["a", "b", "c", "C"],
        "a name with a line feed": ["a", "b", "c", "d\n"],
        "a number for a name": ["a", "b", "c", 4],
        "one text for names": "abcd",
        "nil for names": None,
        "the categories for names": list(CATEGORIES),
        "the categories in another order for names": list(reversed(CATEGORIES)),
    }
    for what, value in weights.items():
        yield f"a matrix: {what}", {"mechanism": good | {"weights": value}}
    for what, value in labels.items():
        yield f"a matrix: {what}", {"mechanism": good | {"responses": value}}
    narrow = good | {"weights": [[6 * unit, 5 * unit, 5 * unit]] * 4, "responses": ["a", "b", "c"]}
    yield "a matrix: fewer responses than categories", {"mechanism": narrow}
    swapped: Fields = {"kind": "matrix", "responses": [], "weights": rows}
    yield "a matrix: keys exchanged", {"mechanism": swapped}
    many = [f"category {number}" for number in range(17)]
    even = [[2**64 // 32] * 15 + [2**64 // 64] * 2 + [2**64 // 2]] * 17
    names = [f"response {number}" for number in range(18)]
    yield (
        "a memoised matrix of 17 categories",
        {
            "mechanism": good | {"weights": even, "responses": names},
            "categories": many,
            "repeat": {"kind": "memoised", "epochs": 2},
        },
    )


def _designs() -> Iterator[tuple[str, Fields]]:
    """Return designs that are none, have too few or too many points, or say nothing."""
    plane: Fields = {"kind": "affine", "q": 3, "m": 2, "s": 1}
    pairs: Fields = {"kind": "subset", "d": 2}
    parameters: dict[str, Fields] = {
        "q is no prime": {"q": 4},
        "q is 1": {"q": 1},
        "q is above 2^17": {"q": 131_101, "m": 1, "s": 1},
        "fewer points than categories": {"m": 1},
        "m is 0": {"m": 0},
        "more than 2^20 responses": {"q": 103, "m": 3, "s": 27},
        "s is 0": {"s": 0},
        "s is q": {"s": 3},
        "true for 1": {"s": True},
        "a float for q": {"q": 3.0},
        "a negative s": {"s": -1},
        "nil for m": {"m": None},
    }
    for what, changed in parameters.items():
        yield f"an affine design: {what}", {"mechanism": plane | changed}
    for what, size in {"0": 0, "all": 4, "more than all": 5, "a text": "2", "true": True}.items():
        yield f"a subset design: {what}", {"mechanism": pairs | {"d": size}}
    translates: Fields = {"kind": "difference-set", "v": 13}
    for what, points in {"7": 7, "14": 14, "a text": "13", "true": True}.items():
        yield f"a difference set of {what}", {"mechanism": translates | {"v": points}}
    many: Fields = {"categories": [f"category {number}" for number in range(30)]}
    yield "a difference set of fewer points than categories", many | {"mechanism": translates}
    yield "a subset design of more than 2^20 subsets", many | {"mechanism": pairs | {"d": 15}}
    kept: Fields = {"repeat": {"kind": "memoised", "epochs": 2}}
    for what, mechanism in {
        "an affine": plane,
        "a subset": pairs,
        "a difference set": translates,
    }.items():
        yield f"{what} design of epsilon and delta 0", {"mechanism": mechanism, "epsilon": "0"}
        yield f"{what} design whose delta allows anything", {"mechanism": mechanism, "delta": "0.9"}
    yield "a memoised design of 30 responses", kept | {"mechanism": plane | {"q": 5}}
    swapped: Fields = {"kind": "affine", "m": 2, "q": 3, "s": 1}
    yield "an affine design: keys exchanged", {"mechanism": swapped}


def _questions() -> Iterator[tuple[str, Fields]]:
    """Return several questions that are none, or whose categories or mechanisms are others'."""
    plan, theme = ["plan", "free", "paid"], ["theme", "A", "B", "C", "D"]
    labels = ["plan: free", "plan: paid", *(f"theme: {each}" for each in "ABCD")]
    rr: list[object] = ["randomised-response"]
    one: Fields = {
        "kind": "one-question",
        "dimensions": [plan, theme],
        "mechanisms": [rr, ["subset", 2]],
    }
    crossed = [f"{a} + {b}" for a in ("free", "paid") for b in "ABCD"]
    joint: Fields = {"kind": "joint", "dimensions": [plan, theme], "mechanism": ["affine", 3, 2, 1]}
    dimensions: Fields = {
        "one question": [plan],
        "a question with one answer": [["plan", "free"], theme],
        "names that look alike": [plan, ["PLAN", *theme[1:]]],
        "an empty name": [["", *plan[1:]], theme],
        "another order": [theme, plan],
        "an answer too few": [plan, theme[:-1]],
        "an answer that is a number": [plan, [*theme[:-1], 4]],
        "a text for a question": ["plan", theme],
        "a map": {"plan": plan[1:], "theme": theme[1:]},
        "nil": None,
    }
    for what, value in dimensions.items():
        for name, good, categories in (("one of", one, labels), ("joint", joint, crossed)):
            yield (
                f"{name} several questions: {what}",
                {"mechanism": good | {"dimensions": value}, "categories": categories},
            )
    mechanisms: Fields = {
        "a mechanism too few": [rr],
        "a mechanism too many": [rr, rr, rr],
        "a numeric mechanism": [rr, ["numeric", 1]],
        "itself": [rr, ["one-question"]],
        "a parameter too few": [rr, ["subset"]],
        "a parameter too many": [rr, ["subset", 2, 2]],
        "a set of all answers": [rr, ["subset", 4]],
        "true for 2": [rr, ["subset", True]],
        "a text for a mechanism": [rr, "subset"],
        "an empty mechanism": [rr, []],
        "nil for mechanisms": None,
    }
    for what, value in mechanisms.items():
        yield (
            f"one of several questions: {what}",
            {"mechanism": one | {"mechanisms": value}, "categories": labels},
        )
    for what, value in {
        "another mechanism": ["matrix"],
        "fewer points than combinations": ["affine", 7, 1, 2],
        "a text for a mechanism": "affine",
        "nil for a mechanism": None,
    }.items():
        yield (
            f"joint several questions: {what}",
            {"mechanism": joint | {"mechanism": value}, "categories": crossed},
        )
    others: dict[str, Fields] = {
        "categories in another order": {"mechanism": one, "categories": labels[::-1]},
        "the categories of a joint survey": {"mechanism": one, "categories": crossed},
        "an own category": {"mechanism": one, "categories": [*labels[:-1], "theme: E"]},
        "epsilon and delta 0": {"mechanism": one, "categories": labels, "epsilon": "0"},
        "memoised with 18 responses": {
            "mechanism": one
            | {
                "mechanisms": [["affine", 3, 1, 1], ["subset", 2]],
                "dimensions": [plan, ["theme", *"ABCDEF"]],
            },
            "categories": [*labels, "theme: E", "theme: F"],
            "repeat": {"kind": "memoised", "epochs": 2},
        },
    }
    for what, change in others.items():
        yield f"one of several questions: {what}", change
    swapped: Fields = {"kind": "one-question", "mechanisms": [rr, rr], "dimensions": [plan, theme]}
    yield ("one of several questions: keys exchanged", {"mechanism": swapped, "categories": labels})


def _levels() -> Iterator[tuple[str, Fields]]:
    """Return trees over ordered answers that are none, or whose levels others answer."""
    rr: list[object] = ["randomised-response"]
    good: Fields = {
        "kind": "levels",
        "widths": [4, 2, 1],
        "mechanisms": [rr, ["subset", 2], ["affine", 7, 1, 2]],
    }
    fields: Fields = {"mechanism": good, "categories": list("abcdefg")}
    widths: Fields = {
        "no level": [],
        "no level of single answers": [8, 4, 2],
        "a width that is no multiple": [5, 2, 1],
        "a width twice": [2, 2, 1],
        "widths that rise": [1, 2, 4],
        "a width of 0": [4, 0, 1],
        "a negative width": [4, -2, 1],
        "one node for all answers": [8, 2, 1],
        "a level too few": [2, 1],
        "a level too many": [4, 2, 1, 1],
        "true for 1": [4, 2, True],
        "a text for a width": [4, "2", 1],
        "a number for the widths": 1,
        "nil for the widths": None,
    }
    for what, value in widths.items():
        yield f"levels: {what}", fields | {"mechanism": good | {"widths": value}}
    mechanisms: Fields = {
        "a mechanism too few": [rr, rr],
        "another kind": [rr, rr, ["numeric", 1]],
        "itself": [rr, rr, ["levels"]],
        "a set of all nodes": [["subset", 2], rr, rr],
        "fewer points than nodes": [rr, rr, ["affine", 5, 1, 2]],
        "nil for mechanisms": None,
    }
    for what, value in mechanisms.items():
        yield f"levels: {what}", fields | {"mechanism": good | {"mechanisms": value}}
    yield "levels: epsilon and delta 0", fields | {"epsilon": "0"}
    kept = {"repeat": {"kind": "memoised", "epochs": 2}}
    yield "levels: memoised with 29 responses", fields | kept
    yield (
        "levels: more than 4,096 answers",
        {
            "categories": [str(number) for number in range(4097)],
            "mechanism": {"kind": "levels", "widths": [1], "mechanisms": [rr]},
        },
    )
    swapped: Fields = {"kind": "levels", "mechanisms": [rr], "widths": [1]}
    yield "levels: keys exchanged", fields | {"mechanism": swapped}
