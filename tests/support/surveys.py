"""A survey, its declaration and its authority, from fixed seeds."""

import time
from dataclasses import replace
from typing import Any

from deniable.client import Survey
from deniable.counterparts.signing import sign_rotation
from deniable.messages import Enrolment, Manifest, Rotation, Schedule, SigningKey

AUTHORITY = SigningKey(b"authority seed of the tests 0001")
ORIGIN = "http://127.0.0.1:8377"
DAY = 86_400
START = 1_700_000_000

CATEGORIES = ("very poor", "poor", "fair", "good", "very good")
QUESTION = "How do you rate your marriage?"

MANIFEST = Manifest(
    name="rating-of-marriage",
    sequence=0,
    nonce=bytes(16),
    question=QUESTION,
    categories=CATEGORIES,
    epsilon="1",
    delta="0",
    schedule=Schedule(START, DAY, 8, DAY),
    origin=ORIGIN,
    enrolment=Enrolment(),
    minimum_reports=1,
)

DECLARED = Survey("rating-of-marriage", QUESTION, CATEGORIES, max_epsilon="1")


def manifest(**changes: Any) -> Manifest:
    return replace(MANIFEST, **changes)


def rotation(old: SigningKey, new: SigningKey, sequence: int = 1) -> bytes:
    """Return the hand-over of one key to another, signed by both."""
    return sign_rotation(Rotation(old.public_key, new.public_key, sequence), old, new)


def running() -> Manifest:
    """Return a survey that runs now, by the machine's clock: commands have no other."""
    return replace(MANIFEST, schedule=Schedule(int(time.time()) - DAY, 7 * DAY, 2, DAY))
