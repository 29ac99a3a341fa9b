"""The summary of a survey: on which terms it collects, in three lines that need no schooling.

Devices and collectors say the same. Each sentence is a message id of gettext, in English, which a
translation of the app's own may replace: ``xgettext`` finds them here, in ``coalitions``, and as
the ``likeness`` and ``sent`` of the kinds.
"""

from fractions import Fraction
from typing import Final

from deniable.mechanisms import odds_text
from deniable.messages.coalitions import Translate
from deniable.messages.manifest import Manifest

_VAST: Final = 10**6
_UNITS: Final = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def summary(manifest: Manifest, translate: Translate = str) -> tuple[str, str, str]:
    """Return the three lines: the dice, what a response says, and who decides."""
    return _dice(manifest, translate), _promise(manifest, translate), _consent(manifest, translate)


def _dice(manifest: Manifest, _: Translate) -> str:
    """Return how chance stands between an answer and what is sent."""
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is not None:
        lies = _times(1 - mechanism.truth, _)
        if mechanism.privacy.apart is not None:
            text = _(
                "About {lies}, dice choose another answer, and that is sent instead of yours; "
                "nobody can tell when."
            )
            return text.format(lies=lies)
        text = _(
            "Up to about {lies}, dice choose another answer, {likeness}, and that is sent instead "
            "of yours; nobody can tell when."
        )
        return text.format(lies=lies, likeness=_(kind.likeness))
    if mechanism.hit is None:
        text = _(
            "Dice choose which of {count} responses is sent: your answer makes some of them "
            "likelier and none impossible, so that nobody can tell it."
        )
        return text.format(count=f"{mechanism.responses:,}")
    sent, hit = _(kind.sent), _times(mechanism.hit, _)
    if mechanism.miss is None:
        text = _(
            "Dice choose what is sent: {sent}. Yours is among them about {hit}; nobody can tell "
            "when."
        )
        return text.format(sent=sent, hit=hit)
    text = _(
        "Dice choose what is sent: {sent}. Yours is among them about {hit}, any other about {miss};"
        " nobody can tell when."
    )
    return text.format(sent=sent, hit=hit, miss=_times(mechanism.miss, _))


def _promise(manifest: Manifest, _: Translate) -> str:
    """Return how much likelier a response is with the answer than with another."""
    odds = manifest.mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    if odds > _VAST:
        return _(
            "What is sent may be more than a million times likelier with your answer than with "
            "another: it hides nearly nothing."
        )
    text = _("What is sent is at most {odds} times likelier with your answer than with any other.")
    return text.format(odds=odds_text(odds))


def _consent(manifest: Manifest, _: Translate) -> str:
    """Return when a device reports, and that its user decides."""
    schedule = manifest.schedule
    if schedule.epochs == 1:
        return _("Nothing is sent unless you agree, and then only once; you can stop before.")
    text = _(
        "Nothing is sent unless you agree, and then at most one response in each {length}, {count} "
        "in all; you can stop at any time."
    )
    length = _length(schedule.epoch_seconds, _)
    return text.format(length=length, count=f"{schedule.epochs:,}")


def _times(share: Fraction, _: Translate) -> str:
    """Return a probability as a number of times in 10, 100, 1,000 and so on: within a tenth."""
    base = 10
    while base < _VAST:
        error = abs(Fraction(round(share * base), base) - share)
        if error * 10 <= min(share, 1 - share):
            break
        base *= 10
    count = round(share * base)
    return _("{count} times in {base}").format(count=f"{count:,}", base=f"{base:,}").strip()


def _length(seconds: int, _: Translate) -> str:
    """Return a length of time for "in each": "week", "2 weeks"."""
    for length, unit in _UNITS:
        if seconds % length == 0:
            count = seconds // length
            return _(unit) if count == 1 else f"{count:,} {_(f'{unit}s')}"
    return f"{seconds:,} {_('seconds')}"
