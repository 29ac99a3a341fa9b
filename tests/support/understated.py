"""A manifest that declares less than its integers cost, which no honest code can make."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from deniable.mechanisms import MatrixPrivacy, RandomisedResponse
from deniable.mechanisms.privacy import Privacy
from deniable.messages import Manifest
from tests.support.surveys import manifest


@dataclass(frozen=True)
class Understated:
    """A mechanism that says one epsilon and samples with epsilon 2."""

    epsilon: Fraction
    delta: Fraction
    privacy: Privacy = RandomisedResponse(5, "2").privacy


def understated(honest: Manifest | None = None) -> Manifest:
    """Return a manifest with such a mechanism in place of its own."""
    changed = replace(honest) if honest else manifest()  # the honest one is used by other tests
    declared = Understated(Fraction(changed.epsilon), Fraction(changed.delta))
    if not changed.mechanism.privacy.alike:
        declared = replace(declared, privacy=MatrixPrivacy(RandomisedResponse(5, "2")))
    changed.__dict__["mechanism"] = cast("Any", declared)
    return changed
