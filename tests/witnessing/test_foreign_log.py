"""Requests of a Sigsum log, with which another witness (litewitness) is tested."""

import base64

import pytest

from deniable.messages import SigningKey
from deniable.transparency_log import LOG, SignedCheckpoint, VerifierKey
from deniable.witnessing import Cosigner, NotCosigned, Submission, judge

ORIGIN = "sigsum.org/v1/tree/4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562"
PUBLIC_KEY = "ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f"
WITNESS = Cosigner("witness.example/w1", SigningKey(bytes(range(32))))
SIGNED = {
    1: (
        "KgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "UgIom7fPZTqpxWWhyjWduBvTvGVqsokMbqTArsQilegKoFBJQjUFAmQ0+YeSPM3wfUQMFSzVnnNuWRTYrajXpNUbIQY=",
    ),
    3: (
        "RcCI1Nk56ZcSmIEfIn0SleqtV7uvrlXNccFx595Iwl0=",
        "UgIom2VbtIcdFbwFAy1n7s6IkAxIY6J/GQOTuZF2ORV39d75cbAj2aQYwyJre36kezNobZs4SUUdrcawfAB8WVrx6go=",
    ),
    5: (
        "QrtXrQZCCvpIgsSmOsah7HdICzMLLyDfxToMql9WTjY=",
        "UgIomw/EOJmWi0i1FQsOj+etB7F8IccFam/jgd6wzRns4QPVmyEZtdvl1U2KEmLOZ/ASRcWJi0tW90dJWAShei7sDww=",
    ),
}


def leaf(number: int) -> str:
    """Return the hash of one of the log's leaves, which somebody made up."""
    return base64.b64encode(bytes([0x2A, number]).ljust(32, b"\0")).decode()


PATHS = {
    (0, 1): (),
    (1, 3): (leaf(1), leaf(2)),
    (1, 5): (leaf(1), "+fUDV+k970B4I3uKrqJM4aP1lloPZP8mvr2Z4wRw2LI=", leaf(4)),
    (3, 5): (leaf(2), leaf(3), "wgiIFdZfYNv6WU1OllBKsWnLYIS/DBMqt8Uh/S4OukE=", leaf(4)),
}


def request(old: int, size: int) -> str:
    root, signature = SIGNED[size]
    head = "\n".join((f"old {old}", *PATHS[old, size]))
    return f"{head}\n\n{ORIGIN}\n{size}\n{root}\n\n— {ORIGIN} {signature}\n"


@pytest.mark.parametrize("way", [((0, 1), (1, 3), (3, 5)), ((0, 1), (1, 5))])
def test_its_requests_are_read_and_cosigned(way: tuple[tuple[int, int], ...]) -> None:
    log_key = VerifierKey(ORIGIN, LOG, bytes.fromhex(PUBLIC_KEY))
    newest: SignedCheckpoint | None = None
    for old, size in way:
        submission = Submission.parse(request(old, size).encode())
        assert submission.text == request(old, size)
        newest = judge(submission, [log_key], newest, WITNESS, 1)
        assert newest.checkpoint.size == size
    with pytest.raises(NotCosigned) as refusal:
        judge(Submission.parse(request(1, 3).encode()), [log_key], newest, WITNESS, 1)
    assert (refusal.value.status, refusal.value.size) == (409, 5)
