"""The promises of a survey, in words."""

from collections.abc import Iterator
from fractions import Fraction

from deniable.budget import NANO, RangeCost, odds_text, percent_text, upper_text
from deniable.mechanisms import SurveyMechanism
from deniable.messages import Manifest


def privacy_terms(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the promises of a device to its user, as headings and texts."""
    mechanism = manifest.mechanism
    odds = mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    kind = manifest.kind
    terms = kind.terms(manifest.specification.parameters, len(manifest.categories))
    yield "Randomised by", terms or kind.name.replace("-", " ")
    yield (
        "Odds",
        f"One response makes no answer more than {odds_text(odds)} times likelier, beside any "
        f"other, than it was before.{_chance(mechanism, kind.sent)}",
    )
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    epochs = manifest.schedule.epochs
    total = RangeCost.of(mechanism).most(epochs, manifest.repeat.epochs or 1)
    yield (
        "Epsilon",
        f"{manifest.epsilon}{delta} a report; one device is charged "
        f"{upper_text(Fraction(total, NANO), 4)} at most, for "
        f"{f'all {epochs:,} epochs' if epochs > 1 else 'the one epoch'}.",
    )
    if manifest.repeat.epochs is not None:
        yield (
            "Repetition",
            f"A device keeps {'its response' if mechanism.rounds is None else 'the first round'} "
            f"to an answer for {manifest.repeat.epochs} epochs, so that these share noise.",
        )
    issuers = len(manifest.enrolment.issuers)
    yield (
        "Vouching",
        f"Only devices for which {'an issuer' if issuers == 1 else f'one of {issuers} issuers'} "
        "vouches."
        if issuers
        else "Nobody vouches that each report comes from another device.",
    )


def _chance(mechanism: SurveyMechanism, sent: str) -> str:
    """Return how often a response tells the truth, as a sentence, where one number says it."""
    if mechanism.truth is not None:
        chance = percent_text(mechanism.truth, "least")
        return f" At least {chance} of responses are the answer itself; the others are by chance."
    if mechanism.hit is not None:
        chance = percent_text(mechanism.hit, "most")
        return (
            f" A response stands for {sent}; the device's own is among them at most {chance} of "
            "the time."
        )
    return ""
