"""A signed survey of any size, as benchmarks need it."""

import os

from deniable.client import Survey
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Enrolment, Manifest, Schedule, SigningKey

AUTHORITY = SigningKey(os.urandom(32))
ORIGIN = "http://127.0.0.1:8377"  # nobody connects to it
START = 1_700_000_000
_DAY = 86_400


def signed_survey(categories: int, epochs: int, epsilon: str) -> tuple[Manifest, bytes]:
    """Return a manifest and its envelope."""
    manifest = Manifest(
        name="benchmark",
        sequence=0,
        nonce=os.urandom(16),
        question="Which one?",
        categories=tuple(f"category {number}" for number in range(categories)),
        epsilon=epsilon,
        delta="0",
        schedule=Schedule(START, _DAY, epochs, _DAY),
        origin=ORIGIN,
        enrolment=Enrolment(),
        minimum_reports=1,
    )
    return manifest, sign_manifest(manifest, AUTHORITY)


def declaration(manifest: Manifest) -> Survey:
    """Return what an app declares of it."""
    return Survey(
        manifest.name, manifest.question, manifest.categories, max_epsilon=manifest.epsilon
    )
