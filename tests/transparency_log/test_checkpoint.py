"""Checkpoints, their signatures and cosignatures, and the examples of C2SP's texts."""

import base64

import pytest

from deniable.messages import SigningKey, verify
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    Checkpoint,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    cosign,
    sign_checkpoint,
)

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


def test_a_log_signs_and_witnesses_cosign() -> None:
    signed = sign_checkpoint(CHECKPOINT, KEY)
    log_key = VerifierKey(CHECKPOINT.origin, LOG, KEY.public_key)
    witness = VerifierKey("witness.example/w", COSIGNER, WITNESS.public_key)
    signed.verify(log_key)
    assert signed.cosigned_by([witness]) == frozenset()
    cosigned = signed.with_signatures([cosign(CHECKPOINT, witness.name, WITNESS, 1_700_000_000)])
    assert SignedCheckpoint.parse(cosigned.text) == cosigned
    assert cosigned.cosigning_times([witness]) == {witness: 1_700_000_000}
    with pytest.raises(TransparencyLogError, match="no signature"):
        signed.verify(VerifierKey(CHECKPOINT.origin, LOG, WITNESS.public_key))
