"""What a witness cosigns, and the status of each rule that a submission breaks."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.messages import SigningKey
from deniable.transparency_log import (
    COSIGNER,
    Checkpoint,
    NoteSignature,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
    root_hash,
    sign_checkpoint,
)
from deniable.witnessing import Cosigner, NotCosigned, Submission, judge
from tests.witnessing.logs import FORK, KEY, LEAVES, LOG_KEY, NOW, ORIGIN, signed, submission

WITNESS = Cosigner("witness.example/w1", SigningKey(bytes(range(1, 33))))
OTHER = SigningKey(bytes(range(2, 34)))


def judged(
    given: Submission, newest: SignedCheckpoint | None = None, now: int = NOW
) -> SignedCheckpoint:
    return judge(given, [LOG_KEY], newest, WITNESS, now)


def at(size: int) -> SignedCheckpoint:
    """Return the newest checkpoint of a witness that has seen so many entries."""
    return judged(submission(0, size))


def test_what_extends_is_cosigned_with_the_logs_signature_and_no_strangers() -> None:
    stranger = sign_checkpoint(signed(9).checkpoint, OTHER).signatures[0].line
    given = submission(5, 9)
    given = replace(given, signed=given.signed.with_signatures([stranger]))
    cosigned = judged(given, at(5))
    assert cosigned.checkpoint == signed(9).checkpoint
    assert cosigned.signatures[0] == signed(9).signatures[0]
    assert len(cosigned.signatures) == 2
    cosigned.verify(LOG_KEY)
    assert cosigned.cosigning_times([WITNESS.key]) == {WITNESS.key: NOW}


def forged(given: Submission) -> Submission:
    line = given.signed.signatures[0]
    broken = NoteSignature(line.name, line.key_id, line.signature[:-1] + b"\0")
    return replace(given, signed=replace(given.signed, signatures=(broken,)))


def rerooted(size: int, root: bytes) -> SignedCheckpoint:
    return sign_checkpoint(Checkpoint(ORIGIN, size, root), KEY)


REFUSED: dict[str, tuple[int, Callable[[], Submission]]] = {
    "another key's signature": (
        403,
        lambda: replace(submission(5, 9), signed=sign_checkpoint(signed(9).checkpoint, OTHER)),
    ),
    "a signature that does not verify": (403, lambda: forged(submission(5, 9))),
    "an old size above the size": (400, lambda: replace(submission(5, 9), old_size=10)),
    "a smaller old size": (409, lambda: submission(4, 9)),
    "a larger old size": (409, lambda: submission(6, 9)),
    "a smaller log": (409, lambda: submission(0, 4)),
    "another history": (422, lambda: submission(5, 9, FORK)),
    "another root of this size": (422, lambda: submission(5, 5, FORK)),
    "no path": (422, lambda: replace(submission(5, 9), path=())),
    "a path to the same size": (422, lambda: replace(submission(5, 5), path=tuple(LEAVES[:1]))),
    "the path of another log": (
        422,
        lambda: replace(submission(5, 9), path=submission(5, 9, FORK).path),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_each_rule_has_its_status(case: str) -> None:
    status, given = REFUSED[case]
    with pytest.raises(NotCosigned) as refusal:
        judged(given(), at(5))
    assert refusal.value.status == status
    assert refusal.value.size == (5 if status == 409 else None)


def test_a_first_checkpoint_has_no_path_and_an_empty_log_the_empty_root() -> None:
    assert judged(submission(0, 0)).checkpoint.size == 0
    assert judged(submission(0, 7), at(0)).checkpoint.size == 7
    for wrong in (
        replace(submission(0, 7), path=tuple(LEAVES[:1])),
        replace(submission(0, 0), signed=rerooted(0, LEAVES[0])),
    ):
        with pytest.raises(NotCosigned) as refusal:
            judged(wrong)
        assert refusal.value.status == 422


def test_a_log_that_is_not_watched_is_unknown_whatever_it_signs() -> None:
    with pytest.raises(NotCosigned) as refusal:
        judge(forged(submission(0, 1)), [], None, WITNESS, NOW)
    assert refusal.value.status == 404


def test_a_log_may_have_two_keys_of_which_one_signs() -> None:
    keys = [LOG_KEY, replace(LOG_KEY, public_key=OTHER.public_key)]
    assert judge(submission(0, 3), keys, None, WITNESS, NOW).checkpoint.size == 3


def test_w3_a_clock_that_is_put_back_takes_no_statement_back() -> None:
    first = judged(submission(0, 5))
    second = judged(submission(5, 9), first, now=NOW - 86_400)
    assert second.cosigning_times([WITNESS.key]) == {WITNESS.key: NOW}
    third = judged(submission(9, 9), second, now=NOW + 1)
    assert third.cosigning_times([WITNESS.key]) == {WITNESS.key: NOW + 1}


@given(
    st.lists(
        st.tuples(st.booleans(), st.none() | st.integers(0, 40), st.integers(0, 40)), max_size=12
    )
)
def test_w1_whatever_is_submitted_the_cosigned_are_one_history(
    submitted: list[tuple[bool, int | None, int]],
) -> None:
    newest: SignedCheckpoint | None = None
    roots = {}
    for forked, guess, size in submitted:
        seen = newest.checkpoint.size if newest else 0
        try:
            given = submission(seen if guess is None else guess, size, FORK if forked else LEAVES)
            newest = judged(given, newest)
        except NotCosigned:
            continue
        assert size >= seen
        roots[size] = newest.checkpoint.root
    assert any(
        all(root == root_hash(history[:size]) for size, root in roots.items())
        for history in (LEAVES, FORK)
    )


@given(st.integers(0, 3), st.data())
def test_a_changed_byte_of_a_submission_is_refused_or_reads_the_same(
    old: int, data: st.DataObject
) -> None:
    body = submission(old, 3).text.encode()
    assert Submission.parse(body) == submission(old, 3)
    position = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[position] = data.draw(st.integers(0, 255))
    try:
        read = Submission.parse(bytes(changed))
    except TransparencyLogError:
        return
    assert read.text.encode() == changed


def test_a_submission_has_at_most_63_hashes() -> None:
    with pytest.raises(TransparencyLogError, match="63"):
        Submission.parse(replace(submission(1, 2), path=(LEAVES[0],) * 64).text.encode())


def test_the_cosigners_key_is_a_cosigners() -> None:
    assert WITNESS.key == VerifierKey(WITNESS.name, COSIGNER, WITNESS.signing_key.public_key)
    assert "secret" in repr(WITNESS)
