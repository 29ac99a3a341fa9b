"""The promises of a survey, in words."""

from collections.abc import Iterator
from fractions import Fraction

from deniable.budget import NANO, RangeCost
from deniable.documents import upper_text
from deniable.mechanisms import promise_text
from deniable.messages import Manifest
from deniable.messages.coalitions import Coalitions
from deniable.messages.notice import summary
from deniable.planning.words import survey_terms


def privacy_terms(manifest: Manifest, *, relayed: bool) -> Iterator[tuple[str, str]]:
    """Yield the promises of a device to its user, as headings and texts.

    The collector may take reports only by way of a relay.
    """
    mechanism = manifest.mechanism
    odds = mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    terms = survey_terms(manifest)
    yield "Randomised by", terms or manifest.kind.name.replace("-", " ")
    yield "One report", f"Whatever is answered, {promise_text(odds)}. {summary(manifest)[0]}"
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
    issuers = len(manifest.enrolment.issuer_ids)
    yield (
        "Vouching",
        f"Only devices for which {'an issuer' if issuers == 1 else f'one of {issuers} issuers'} "
        "vouches."
        if issuers
        else "Nobody vouches that each report comes from another device.",
    )
    learnt = Coalitions.of(manifest.enrolment.mode, relayed=relayed)
    yield learnt.title, learnt.text(learnt.linking)
