"""Checkpoints, their signatures and cosignatures, and the examples of C2SP's texts."""

import base64
from dataclasses import replace

import pytest

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.logs import (
    Checkpoint,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    log_origin,
)
from deniable.logs.notes import COSIGNER, LOG, NoteSignature
from deniable.messages import SigningKey, verify
from tests.support.cosigning import cosign

SOFA = "\n".join(
    (
        "example.com/behind-the-sofa",
        "20852163",
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=",
        "",
        "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5"
        "/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=",
        "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrD"
        "JsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==",
        "",
    )
)
KEY = SigningKey(bytes(range(32)))
WITNESS = SigningKey(bytes(range(1, 33)))
CHECKPOINT = Checkpoint("telemetry.example.org/log", 3, bytes(range(32)))


def test_the_texts_example_is_read_and_written() -> None:
    signed = SignedCheckpoint.parse(SOFA)
    assert signed.text == SOFA
    assert signed.checkpoint.size == 20_852_163
    assert [one.key_id.hex() for one in signed.signatures] == ["033de0ae", "8d66cf3f"]


def test_the_texts_verifier_key_verifies_its_note() -> None:
    """The note of signed-note.md is no checkpoint: its one signature is verified by itself."""
    text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    key = VerifierKey.parse(text)
    assert (str(key), key.name, key.algorithm) == (text, "example.com/foo", LOG)
    signature = base64.b64decode(
        "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="
    )
    assert signature[:4] == key.key_id
    verify(key.public_key, b"", b"This is an example message.\n", signature[4:])


LOG_VKEY = VerifierKey(CHECKPOINT.origin, LOG, KEY.public_key)
WITNESS_VKEY = VerifierKey("witness.example/w", COSIGNER, WITNESS.public_key)
SIGNED = sign_checkpoint(CHECKPOINT, KEY)
COSIGNED = SIGNED.with_signatures([cosign(CHECKPOINT, WITNESS_VKEY.name, WITNESS, 1_700_000_000)])
OTHER = "— example.org/else " + base64.b64encode(b"some bytes").decode() + "\n"


def test_a_log_signs_and_witnesses_cosign() -> None:
    SIGNED.verify(LOG_VKEY)
    assert SIGNED.cosigning_times([WITNESS_VKEY]) == {}
    assert SignedCheckpoint.parse(COSIGNED.text) == COSIGNED
    assert COSIGNED.cosigning_times([WITNESS_VKEY]) == {WITNESS_VKEY: 1_700_000_000}
    with pytest.raises(TransparencyLogError, match="not signed by"):
        SIGNED.verify(VerifierKey(CHECKPOINT.origin, LOG, WITNESS.public_key))
    # Extension lines are kept and signed.
    signed = sign_checkpoint(replace(CHECKPOINT, extensions=("one", "two words  ")), KEY)
    assert SignedCheckpoint.parse(signed.text) == signed
    signed.verify(LOG_VKEY)


def broken(line: NoteSignature) -> NoteSignature:
    return replace(line, signature=line.signature[:-1] + bytes([line.signature[-1] ^ 1]))


def test_signatures_of_unknown_keys_are_ignored_and_kept() -> None:
    log, witness = COSIGNED.signatures
    # Of the name alone, or of the id alone, a key is unknown.
    unknown = [
        NoteSignature.parse(OTHER),
        broken(replace(log, key_id=witness.key_id)),
        broken(replace(log, name="example.org/else")),
    ]
    signed = replace(COSIGNED, signatures=(*unknown, *COSIGNED.signatures))
    assert SignedCheckpoint.parse(signed.text) == signed
    signed.verify(LOG_VKEY)
    assert signed.cosigning_times([WITNESS_VKEY]).keys() == {WITNESS_VKEY}


def test_a_known_keys_signature_that_does_not_verify_spoils_the_note() -> None:
    log, witness = COSIGNED.signatures
    for wrong in (broken(log), replace(log, signature=log.signature + b"\0")):
        signed = replace(COSIGNED, signatures=(log, witness, wrong))
        with pytest.raises(TransparencyLogError, match=LOG_VKEY.name):
            signed.verify(LOG_VKEY)
    message = f"cosignature/v1\ntime {2**63}\n{CHECKPOINT.body}".encode()
    late = replace(witness, signature=(2**63).to_bytes(8, "big") + WITNESS.sign(b"", message))
    for wrong in (broken(witness), replace(witness, signature=witness.signature[8:]), late):
        signed = replace(COSIGNED, signatures=(log, witness, wrong))
        signed.verify(LOG_VKEY)
        with pytest.raises(TransparencyLogError, match=WITNESS_VKEY.name):
            signed.cosigning_times([WITNESS_VKEY])


def test_a_signature_is_of_its_body_and_its_time() -> None:
    for changed in (
        replace(CHECKPOINT, size=4),
        replace(CHECKPOINT, root=bytes(32)),
        replace(CHECKPOINT, extensions=("more",)),
    ):
        with pytest.raises(TransparencyLogError, match=r"the signature of .* is invalid"):
            replace(COSIGNED, checkpoint=changed).verify(LOG_VKEY)
        with pytest.raises(TransparencyLogError, match=r"the signature of .* is invalid"):
            replace(COSIGNED, checkpoint=changed).cosigning_times([WITNESS_VKEY])
    # The one key's signature as a log is none of it as a witness, whatever id it is given.
    as_witness = VerifierKey(LOG_VKEY.name, COSIGNER, KEY.public_key)
    stated = replace(SIGNED.signatures[0], key_id=as_witness.key_id)
    with pytest.raises(TransparencyLogError):
        replace(SIGNED, signatures=(stated,)).cosigning_times([as_witness])


def test_a_repeated_cosignature_counts_once_and_the_latest_time_stands() -> None:
    lines = [cosign(CHECKPOINT, WITNESS_VKEY.name, WITNESS, time) for time in (7, 9, 8)]
    signatures = (*SIGNED.signatures, *map(NoteSignature.parse, lines))
    assert replace(SIGNED, signatures=signatures).cosigning_times([WITNESS_VKEY]) == {
        WITNESS_VKEY: 9
    }
    assert SIGNED.with_signatures(lines).signatures[1:] == (NoteSignature.parse(lines[-1]),)


def test_keys_are_for_one_thing() -> None:
    with pytest.raises(TransparencyLogError, match="not from the log"):
        COSIGNED.verify(WITNESS_VKEY)
    with pytest.raises(TransparencyLogError, match="not from the log"):
        COSIGNED.verify(replace(LOG_VKEY, name="example.org/log"))
    with pytest.raises(TransparencyLogError, match="not a cosigner"):
        COSIGNED.cosigning_times([LOG_VKEY])
    with pytest.raises(TransparencyLogError, match="not signed by"):
        COSIGNED.verify()


TEXT = COSIGNED.text
ROOT = base64.b64encode(CHECKPOINT.root).decode()
LINE = SIGNED.signatures[0].line


SIZES = ("03", "+3", "3 ", "\u0663", "-3", str(2**63))
CHANGED = [
    *(("\n\n", "\n"), ("\n\n", "\n\n\n"), ("\n", "\r\n"), ("\n3\n", "\n")),
    *(("\n3\n", f"\n{size}\n") for size in SIZES),
    *((ROOT, root) for root in (ROOT[:-1], base64.b64encode(bytes(31)).decode())),
    *((ROOT, root) for root in (f"{ROOT}\nfurther\n", f"{ROOT[:-2]}9=")),  # bits that no byte has
    *((CHECKPOINT.origin, origin) for origin in ("", "tab\tbed", "\ud800")),
    *(("— ", dash) for dash in ("- ", "—  ", "—", "\u2013 ")),
]
APPENDED = [
    *(f"{name} {LINE.split()[-1]}" for name in ("a+b", "a\u00a0b", "a b")),
    *("name", "name ", "name AAAA AAAA"),
    "name AAAAAA==",  # an id without a signature
]
LARGE = f"— name {base64.b64encode(bytes(100_000)).decode()}\n"


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\n\n", TEXT[:-1], f"{TEXT}\n", SIGNED.text + OTHER * 100, SIGNED.text + LARGE),
        *(TEXT.replace(old, new) for old, new in CHANGED),
        *(f"{TEXT}— {line}\n" for line in APPENDED),
    ],
)
def test_no_other_form_is_read(text: str) -> None:
    assert text != TEXT
    with pytest.raises(TransparencyLogError):
        SignedCheckpoint.parse(text)


def test_bytes_are_utf8_and_a_hundred_signatures_are_read() -> None:
    assert SignedCheckpoint.parse(TEXT.encode()) == COSIGNED
    with pytest.raises(TransparencyLogError, match="UTF-8"):
        SignedCheckpoint.parse(TEXT.encode("latin-1", "replace") + b"\xff")
    # Sixteen of the largest that others make must be taken.
    largest = base64.b64encode(bytes(5_000)).decode()
    for text in (SIGNED.text + OTHER * 99, SIGNED.text + f"— name {largest}\n" * 16):
        assert SignedCheckpoint.parse(text).text == text


@pytest.mark.parametrize("key", [LOG_VKEY, WITNESS_VKEY])
def test_verifier_keys_have_one_text(key: VerifierKey) -> None:
    text = str(key)
    assert VerifierKey.parse(text) == key
    name, key_id, encoded = text.split("+", 2)
    for wrong in (
        "",
        name,
        f"{name}+{key_id}",
        f"+{key_id}+{encoded}",
        f"{name}+{key_id.upper()}+{encoded}",
        f"{name}+00000000+{encoded}",
        f"{name}x+{key_id}+{encoded}",
        f"{name}+{key_id}+{encoded}\n",
        f"{name} +{key_id}+{encoded}",
        f"{name}\ud800+{key_id}+{encoded}",
        f"{name}+{key_id}+{base64.b64encode(bytes([6]) + key.public_key).decode()}",
        f"{name}+{key_id}+{base64.b64encode(bytes([key.algorithm])).decode()}",
    ):
        with pytest.raises(TransparencyLogError):
            VerifierKey.parse(wrong)


@pytest.mark.parametrize("point", [bytes(32), b"\1" + bytes(31), b"\xff" * 32, bytes(31)])
def test_a_key_of_small_order_is_none(point: bytes) -> None:
    with pytest.raises(TransparencyLogError, match="not an Ed25519 key"):
        VerifierKey("name", LOG, point)


def test_a_logs_name_is_where_it_is_served() -> None:
    assert log_origin("https://telemetry.example.org") == "telemetry.example.org/log"
    assert log_origin("http://[::1]:8377") == "[::1]:8377/log"
