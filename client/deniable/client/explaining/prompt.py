"""The sentences of a consent prompt: the promise, who sees what, and changes by an update.

The sentences are message ids for gettext, like those of :mod:`deniable.terms.sentences`.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from deniable.budget import NANO, format_nano
from deniable.client.consent import Scope
from deniable.client.survey import Survey
from deniable.mechanisms import guess_within, is_vast, odds_ceiling, odds_text
from deniable.messages import Manifest
from deniable.terms import odds_of, pure_odds
from deniable.terms.sentences import Coalitions, Translate, duration, guess, length, likely, summary
from deniable.terms.sentences import catalogue as catalogue

_MOST_NAMED = 3


class Promise(NamedTuple):
    """The limits of an app on everything that a collector publishes for a declared survey."""

    survey: Survey
    total: int  # the most that all reports of this name may ever cost, in units of 1e-9 epsilon
    enrols: bool  # whether an issuer may be asked to vouch for this device
    witnesses: str  # how many witnesses of a public log must have seen a survey; "" for none

    @property
    def response(self) -> int:
        """Return the highest epsilon of one report, in units of 1e-9."""
        return ceil(self.survey.epsilon_ceiling * NANO)

    @property
    def epoch_seconds(self) -> int:
        """Return the shortest epoch, in each of which at most one report is made."""
        return max(1, self.survey.min_epoch_seconds)

    @property
    def guess(self) -> Fraction:
        """Return how often a guess that is right half of the time is right with one response."""
        odds, delta = odds_ceiling(self.survey.epsilon_ceiling), self.survey.delta_ceiling
        return guess_within(odds, delta)


def in_short(promise: Promise, manifest: Manifest | None, _: Translate) -> tuple[str, str, str]:
    """Return the three plain lines about the survey on the device, or about the declaration."""
    if manifest is not None:
        return summary(manifest, _)
    chance = likely(odds_of(promise.response), _)
    if promise.survey.delta_ceiling:  # then the odds have no bound, but a guess has
        chance = guess(promise.guess, _)
    text = _("Nothing is sent unless you agree. Then, at most one response is sent every {length}.")
    often = text.format(length=length(promise.epoch_seconds, _))
    dice = _("Dice choose what is sent. The response may stand for your answer or for another.")
    return dice, chance, f"{often} {_('You can stop at any time.')}"


def limits(promise: Promise, manifest: Manifest | None, _: Translate) -> Iterator[str]:
    """Yield the limits for all surveys: on one response, on all, and on how often."""
    survey, odds = promise.survey, odds_of(promise.response)
    if manifest is not None and survey.pinned_ids is None:
        text = _(
            "A later survey may raise these limits to {odds} times as likely and one response "
            "every {length}, but no further."
        )
        if survey.delta_ceiling:
            text = _("A later survey may reveal more, with at most one response every {length}.")
        elif is_vast(odds):
            text = _("A later survey may hide almost nothing, with one response every {length}.")
        elif (odds_text(odds), promise.epoch_seconds) == (
            odds_text(pure_odds(manifest)),
            manifest.schedule.epoch_seconds,
        ):
            text = _(
                "Later surveys keep these limits: {odds} times as likely, once every {length}."
            )
        yield text.format(odds=odds_text(odds), length=length(promise.epoch_seconds, _))
        if survey.delta_ceiling:
            yield guess(promise.guess, _)
    if survey.mechanisms:
        yield _(
            "Responses may differ from the answers, and some responses are sent more often "
            "than others."
        )
    kept = survey.kept_ceiling is not None
    if kept:
        text = _(
            "A response may be repeated up to {count} times. Repeating it links these reports, "
            "and can show that your answer changed."
        )
        yield text.format(count=f"{survey.max_kept_epochs:,}")
    together = odds_of(promise.total)
    text = _(
        "Together, all responses ever sent are at most {odds} times as likely (epsilon {most})."
    )
    if is_vast(together):
        text = _(
            "Together, all responses ever sent may reveal your answer (epsilon at most {most})."
        )
    elif kept:
        text = _(
            "Together, all responses ever sent are at most {odds} times as likely with your "
            "answers as with others that stay the same and change at the same times as yours "
            "(epsilon {most})."
        )
    yield text.format(odds=odds_text(together), most=_short(promise.total))


def details(promise: Promise, _: Translate) -> Iterator[str]:
    """Yield limits that prompts omit: on guesses, kept and late responses, and the log."""
    survey = promise.survey
    if not survey.delta_ceiling:
        yield guess(promise.guess, _)
    kept = survey.kept_ceiling
    if kept is not None and not is_vast(odds := odds_of(ceil(kept * NANO))):
        text = _(
            "While your answer stays the same, all reports of a repeated response together are at "
            "most {odds} times as likely with it as with any other answer."
        )
        yield text.format(odds=odds_text(odds))
    text = _("A response is accepted at most {length} after the end of its time slice.")
    yield text.format(length=duration(survey.max_grace_seconds, _))
    if survey.pinned_ids is not None:
        yield _("The app accepts only the surveys that it was built for.")
    if promise.witnesses:
        text = _(
            "The app accepts only surveys that {witnesses} have seen in the collector's public "
            "log, where everybody can read them."
        )
        yield text.format(witnesses=promise.witnesses)


def vouched(promise: Promise, coalitions: Coalitions | None, _: Translate) -> Iterator[str]:
    """Yield the sentences on an issuer, if one exists or may exist.

    A survey for whose devices an issuer vouches has ``coalitions``.
    """
    if coalitions is not None:
        yield _("Only devices for which an issuer vouches can take part.")
        yield "{}: {}.".format(*coalitions.rows[3])
    elif promise.enrols:
        yield _("An issuer, usually the app's own backend, may be asked to vouch for this device.")
        if promise.survey.enrolment == "blind":
            yield _("The issuer sees your account, but neither a response nor its key.")
        else:
            yield _(
                "The issuer sees your account and the key of a response. Unless it signs "
                "blindly, the issuer and the collector together can tell which response is yours."
            )


def not_hidden(collector: str, relay: str | None, _: Translate) -> Iterator[str]:
    """Yield the sentences on remaining visible data, and who sees it."""
    if relay is None:
        text = _("{collector} sees when you take part, and your network address.")
        yield text.format(collector=collector)
        return
    text = _("Responses go to {collector}, sealed, through {relay}.")
    yield text.format(collector=collector, relay=relay)
    yield _("This relay sees when you take part, and your network address.")
    yield _("The relay hides your network address from the collector and cannot read a response.")
    yield _(
        "This holds as long as nobody combines the relay's records, or an access log of the app's "
        "backend, with the collector's records."
    )


def news(
    survey: Survey,
    collector: str,
    held: Manifest | None,
    agreed: Scope | None,
    declared: Scope,
    _: Translate,
) -> Iterator[str]:
    """Yield each difference from the survey on the device, and from the given consent.

    The state keeps only a digest of the text shown at consent, so other changes cannot be named.
    """
    if agreed is None:
        yield _("This question is new.")
        return
    (response, delta, total, kept, again, grace, floor, key, *others), before = (
        declared.bounds,
        agreed.bounds,
    )
    if agreed.declared != declared.declared or key > before[7]:
        changed = [] if held is None else [*_changes(survey, collector, held, _)]
        yield from changed or [_("What may be sent, or who sees it, has changed.")]
    if response > before[0] or delta > before[1]:
        yield _("A response may now reveal more about your answer.")
    if floor > before[6]:
        text = _("The question may now be asked every {new} instead of every {old}.")
        yield text.format(new=length(-floor, _), old=length(-before[6], _))
    if total > before[2]:
        text = _("All responses together may now cost epsilon {new} instead of {old}.")
        yield text.format(new=_short(total), old=_short(before[2]))
    elif any(now > then for now, then in zip(others, before[8:], strict=True)):
        yield _("All responses of this app together may now reveal more about you.")
    if kept > before[3] or again > before[4]:
        yield _("A response may now be repeated more often, which links these reports.")
    if grace > before[5]:
        yield _("The collector may now accept a response later than before.")


def _changes(survey: Survey, collector: str, held: Manifest, _: Translate) -> Iterator[str]:
    if survey.question != held.question:
        yield _("The question changed.")
    answers = set(survey.categories), set(held.all_answers)
    added = [answer for answer in survey.categories if answer not in answers[1]]
    removed = [answer for answer in held.all_answers if answer not in answers[0]]
    if len(added) == 1:
        yield _("A new answer, “{answer}”, was added.").format(answer=added[0])
    elif added:
        yield _("New answers were added: {answers}.").format(answers=_named(added))
    if removed:
        yield _("Answers were removed: {answers}.").format(answers=_named(removed))
    if collector != held.origin:
        yield _("Responses now go to {collector}.").format(collector=collector)


def _named(answers: list[str]) -> str:
    more = ", …" if len(answers) > _MOST_NAMED else ""
    return ", ".join(f"“{answer}”" for answer in answers[:_MOST_NAMED]) + more


def _short(cost: int) -> str:
    return format_nano(cost).rstrip("0").rstrip(".")
