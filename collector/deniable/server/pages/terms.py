"""What a survey promises and what its figures leave out, in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from deniable.budget import NANO, RangeCost, odds_text
from deniable.messages import Manifest

if TYPE_CHECKING:
    from deniable.estimates import Histogram

_NOT_IN_THEM: Final = (
    "Devices whose users do not take part, are offline or have another version; whoever answers "
    "untruthfully counts as answered. Intervals tell of chance alone."
)


def privacy_terms(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield what a device promises its user, as headings and texts."""
    mechanism = manifest.mechanism
    odds = mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    kind = manifest.kind
    terms = kind.terms(manifest.specification.parameters, len(manifest.categories))
    yield "Randomised by", terms or kind.name.replace("-", " ")
    yield (
        "Odds",
        f"One response makes no answer more than {odds_text(odds)} times likelier, beside any "
        "other, than it was before.",
    )
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    epochs = manifest.schedule.epochs
    total = RangeCost.of(mechanism).most(epochs, manifest.repeat.epochs or 1) / NANO
    yield (
        "Epsilon",
        f"{manifest.epsilon}{delta} a report; {total:.4g} at most for one device in all "
        f"{epochs:,} epoch{'s' * (epochs != 1)}.",
    )
    if manifest.repeat.epochs is not None:
        yield (
            "Repetition",
            f"A device keeps its response to an answer for {manifest.repeat.epochs} epochs, so "
            "that these share their noise.",
        )
    yield (
        "Vouching",
        f"Only devices for which an issuer vouches ({len(manifest.enrolment.issuers)} of them)."
        if manifest.enrolment.issuers
        else "Nobody vouches that each report comes from another device.",
    )


def figure_terms(histogram: "Histogram") -> Iterator[tuple[str, str]]:
    """Yield what fakes can do to these figures, and who is not in them."""
    poisoning = histogram.poisoning
    if histogram.numeric is None:
        off = f"a share is off by up to {poisoning.bias(0.01):.1%}"
    else:
        off = f"the mean is off by up to {0.01 * histogram.numeric.influence:.2g}"
    fakes = f"If 1 % of reports are fake, {off}; intervals do not tell of it."
    if histogram.impossible:
        fakes += (
            f" Not to be used: at least {poisoning.fewest_fakes:,} reports are fake, since honest "
            "devices do not cause such counts."
        )
    elif poisoning.detectable_share is not None:
        fakes += f" From a share of {poisoning.detectable_share:.0%} on they would be found."
    if histogram.distrusted:
        fakes += f" {histogram.distrusted:,} reports are by issuers that are not trusted any more."
    yield "Fakes", fakes
    yield "Not in them", _NOT_IN_THEM
