"""Words of what published figures reveal about one device."""

from fractions import Fraction
from math import ceil, floor, log10
from typing import Final

from deniable.documents import Document, upper_text
from deniable.documents.programs import Field
from deniable.estimates.results import presents
from deniable.estimates.revealed import Revealed, Unbounded, smallest_group
from deniable.mechanisms import exp_enclosure
from deniable.mechanisms.exact import is_vast, odds_text
from deniable.messages import Manifest

REVEALED: Final = (
    Field("epsilon", lambda r: None if r.epsilon is None else f"{r.epsilon:f}"),
    Field("delta", lambda r: float(r.delta)),
    Field("level", lambda r: None if r.level is None else f"{r.level:f}"),
    Field("devices"),
    Field("honest", lambda r: float(r.honest)),
    Field("odds", lambda r: float(r.odds)),
    Field("sentence", lambda r: revealed_sentence(r)),
    Field(
        "to_collector", lambda r: None if r.to_collector is None else f"{r.to_collector.epsilon:f}"
    ),
)
"""The fields for JSON."""


_WHY: Final = {
    Unbounded.KEPT: (
        "devices keep their responses, and two histograms that differ by one device show the "
        "response that it keeps"
    ),
    Unbounded.EVERY: "readers can see them after every single report (minimum_reports is below 2)",
    Unbounded.ISSUERS: (
        "figures are shown in steps by issuer, and a step may contain only one report from an "
        "issuer"
    ),
    Unbounded.OPEN: (
        "anybody can send reports, so somebody who sent all others could work out the last one, "
        "which is randomised"
    ),
    Unbounded.FAKES: (
        "if {fakes} of all reports are fake, all but one of the {least:,} reports that figures "
        "distinguish may be fake"
    ),
}
"""The reasons for a missing bound, in words."""


_CERTAIN: Final = Fraction(1, 10**6)


def times_as_likely(odds: Fraction) -> str:
    """Return odds as a bound in words, rounded up: the stated bound is never too low."""
    if is_vast(odds):
        return "possibly more than a million times as likely"
    return f"at most {odds_text(odds)} times as likely"


def suspicion(odds: Fraction, before: Fraction) -> Fraction:
    """Return the highest probability to which one report raises that of one of two answers.

    A report is at most E times as likely with it as with the other. So by Bayes the probability p
    becomes at most pE/(pE + 1 - p). Randomised response with two answers attains that.
    """
    return before * odds / (before * odds + 1 - before)


def chance_text(chance: Fraction) -> str:
    """Return the chance that a guess is right as a percentage, rounded up, but not to 100 %."""
    if (wrong := 1 - chance) < _CERTAIN:
        return "practically 100 %"
    places = max(1, floor(-log10(wrong)) - 1)
    return f"{ceil(chance * 100 * 10**places) / 10**places:.{places}f} %"


def revealed_brief(revealed: Revealed) -> str:
    """Return the figure as a sentence without its capital and full stop."""
    if revealed.why is not None:
        fakes = _percent(1 - revealed.honest)
        why = _WHY[revealed.why].format(fakes=fakes, least=revealed.least)
        much = "a single report"
        if revealed.epochs > 1:
            much = f"all reports of a device, up to {revealed.epochs}"
        return f"figures may reveal as much as {much}: {why}"
    assert revealed.level is not None
    odds = Fraction(exp_enclosure(Fraction(revealed.level), 64)[1], 1 << 64)
    answers, other = ("answers", "others") if revealed.epochs > 1 else ("answer", "other")
    together = (
        f"figures of {revealed.epochs:,} epochs together" if revealed.epochs > 1 else "figures"
    )
    return (
        f"{together} are {times_as_likely(odds)} with the {answers} of one of "
        f"{revealed.devices:,} honest devices as with any {other}, except with a chance of 1 in "
        f"{revealed.delta.denominator:,}"
    )


def revealed_sentence(revealed: Revealed) -> str:
    """Return the figure beside the device's promise, suitable for publication."""
    alone = (
        "One report makes a guess between two answers right at most "
        f"{chance_text(revealed.guess)} of the time; without it, half of the time. The report is "
        f"{times_as_likely(revealed.odds)} with the person's answer as with any other. Further "
        "reports of the same person may reveal more."
    )
    if revealed.level is None:
        return f"{alone} These {revealed_brief(revealed)}."
    honest = "all of the devices that reported"
    if revealed.honest < 1:  # fakes may all be in the figures, and honest reports withheld
        honest = f"at least {_percent(revealed.honest)} of the devices whose reports they count"
    return f"{alone} These published {revealed_brief(revealed)}. This holds if {honest} are honest."


def revealed_notes(revealed: Revealed) -> tuple[str, ...]:
    """Return the conditions of the statement."""
    whose = "The bound for one report holds against everybody, including the collector; "
    if revealed.epsilon is None:
        return (f"{whose}for these figures, nothing more can be promised.", *_unlinked(revealed))
    groups = (
        f"each update adds at least {revealed.step:,} reports, and readers may compare the "
        "figures before and after"
        if revealed.step
        else "these figures appeared all at once, and no part of the reports is shown separately"
    )
    return (
        f"{whose}the bound for figures holds against readers who see only the figures and do not "
        "know which report is whose.",
        f"Each device is hidden among other honest devices: {groups}. Fake reports hide nobody.",
        "For a device that reported in several epochs, the privacy losses from those epochs add "
        "up. The device's participation is not hidden.",
        *_unlinked(revealed),
    )


def _unlinked(revealed: Revealed) -> tuple[str, ...]:
    """Return the note on the collector if it cannot attribute reports."""
    if revealed.to_collector is None:
        return ()
    return (
        "The collector itself receives each report, but learns no more than figures of all "
        f"reports reveal: {revealed_brief(revealed.to_collector)}. The collector accepts reports "
        "only through relays, with tokens that the issuer signed blindly. This bound holds for "
        "fresh responses of one epoch, as long as the collector, the issuer and the relay do not "
        "combine their records. All devices must have the same survey, and no sending time may "
        "show whose a report is. Fake reports, and those of people who work with the collector, "
        "hide nobody.",
    )


def revealed_document(revealed: Revealed) -> Document:
    """Return the document: sentence, conditions, and fields for programs."""
    fields = {field.name: field.of(revealed) for field in REVEALED}
    return Document(
        notes=revealed_notes(revealed), sentence=revealed_sentence(revealed), values=fields
    )


def revealed_at_worst(manifest: Manifest) -> str:
    """Return in words the most that an epoch's figures can reveal with any number of reports."""
    step = max(1, manifest.minimum_reports)
    figures = Revealed.of(
        manifest.mechanism,
        [smallest_group(manifest, 2 * step)],
        step=step,
        kept=manifest.repeat.epochs is not None,
        vouched=bool(manifest.enrolment.issuer_ids),
    )
    return f"at worst, for one epoch and a reader who sees nothing else: {revealed_brief(figures)}"


def _percent(share: Fraction) -> str:
    """Return a share in a condition, rounded up if at all, so that the statement holds."""
    return f"{upper_text(100 * share, 17)} %"


presents(Revealed, sentence=revealed_sentence, document=revealed_document)
