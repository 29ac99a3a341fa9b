"""The promise of an app, which no collector can exceed (D11), and the terms of a survey."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

from deniable.budget import NANO, changing_cost
from deniable.client.ledger.allowance import Allowance
from deniable.client.survey import Survey
from deniable.mechanisms import odds_ceiling
from deniable.messages import Manifest
from deniable.terms import guess_of, guess_within, pure_odds
from deniable.terms.sentences import (
    Coalitions,
    Mode,
    Translate,
    learnt,
    leaves,
    period,
    seen,
    summary,
)
from deniable.terms.text import Disclosure


@dataclass(frozen=True, slots=True)
class Promise(Disclosure):
    """The app's ceilings, which a device applies to everything that a collector publishes.

    Costs are in units of 1e-9 epsilon.
    """

    _costs: ClassVar = ("response", "total", "kept")

    response: int  # the highest epsilon of one report
    delta: Fraction  # the report's delta; unless 0, only "guess" limits what a report reveals
    guess: Fraction  # how often a guess that is right half of the time is right with one response
    epoch_seconds: int  # the shortest epoch, in each of which at most one report is made
    total: int  # the most that all reports of this name may ever cost together
    shared: bool  # whether other surveys share that total
    kept: int | None  # the most for a kept response; None if each is drawn anew
    kept_epochs: int  # the most consecutive epochs for which a response may be kept
    mechanisms: tuple[str, ...]  # kinds that need not treat all answers alike
    grace_seconds: int  # the longest time after an epoch in which its reports may be accepted
    pinned: bool  # whether only surveys whose ids the app was shipped with are accepted
    enrols: bool  # whether an issuer may be asked to vouch for this device
    blind: bool  # whether the issuer is asked only blindly, and sees no report's key
    seen_by: str  # how many witnesses of a public log must have seen a survey; "" for none

    @classmethod
    def of(
        cls, survey: Survey, allowance: Allowance, *, enrols: bool, seen_by: str = ""
    ) -> "Promise":
        """Return the promise of an app that declares a survey, with or without an issuer."""
        lifetime, own, kept = allowance.lifetime, survey.total_ceiling, survey.kept_ceiling
        shared = own is None or own > lifetime
        return cls(
            response=ceil(survey.epsilon_ceiling * NANO),
            delta=survey.delta_ceiling,
            guess=guess_within(odds_ceiling(survey.epsilon_ceiling), survey.delta_ceiling),
            epoch_seconds=max(1, survey.min_epoch_seconds),
            total=lifetime if own is None or shared else own,
            shared=shared,
            kept=None if kept is None else ceil(kept * NANO),
            kept_epochs=0 if kept is None else survey.max_kept_epochs,
            mechanisms=tuple(sorted(survey.mechanisms)),
            grace_seconds=survey.max_grace_seconds,
            pinned=survey.pinned_ids is not None,
            enrols=enrols,
            blind=enrols and survey.enrolment == "blind",
            seen_by=seen_by,
        )


@dataclass(frozen=True, slots=True)
class Terms(Disclosure):
    """The terms of a manifest for its respondents, in figures and in plain words.

    ``odds`` is e^epsilon of one response, computed from the integers that are sampled.
    """

    _costs: ClassVar = ("most", "most_any")

    summary: tuple[str, str, str]  # three lines in the language of the app
    survey_id: str  # 64 hex digits
    mechanism: str  # its kind, as in the protocol
    epsilon: str
    delta: str
    odds: Fraction
    truth: Fraction | None  # how often the answer itself is sent, at least; None if it never is
    guess: Fraction  # how often a guess that is right half of the time is right with one response
    starts: int  # start of the first epoch, Unix seconds
    ends: int  # end of the last epoch
    epoch_seconds: int
    epochs: int  # at most one report is made in each
    range_epochs: int | None  # for which a response is kept; None if all are fresh
    most: int  # the most that all reports may cost; for kept ones see SurveyExplanation.spent
    most_any: int | None  # the same against any other answers; None if there is no bound
    enrolment: Mode  # who vouches for a device: nobody ("open"), or an issuer
    period: str  # the days on which the survey is asked
    leaves: tuple[str, ...]  # what leaves the device, and what stays on it meanwhile
    seen: tuple[str, ...]  # who sees figures, and what an issuer sees
    learnt: tuple[str, ...]  # what all responses reveal, and several from one device
    issuers: tuple[str, ...]  # those that may vouch for a device: a public key, or a host name
    coalitions: tuple[tuple[str, str], ...]  # what could be learnt, and by which parties
    apart: str  # the condition for these coalitions

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        most: int,
        translate: Translate = str,
        *,
        relayed: bool = False,
        same: bool = False,
        beside: bool = False,
    ) -> "Terms":
        """Return the terms of a manifest; accepting it reserved ``most``.

        ``relayed``, ``same`` and ``beside`` are whether reports go through a relay, whether all
        devices certainly get the same survey and key, and whether other surveys are not blind.
        """
        mechanism, schedule = manifest.mechanism, manifest.schedule
        most_any: int | None = most
        if manifest.repeat.epochs is not None:
            most_any = changing_cost(mechanism, schedule.epochs)
        enrolment, mode = manifest.enrolment, manifest.enrolment.mode
        issuers = (enrolment.issuer,) if enrolment.issuer else map(bytes.hex, enrolment.issuers)
        learners = Coalitions.of(
            mode, relayed=relayed, same=same, beside=beside, translate=translate
        )
        return cls(
            summary=summary(manifest, translate),
            survey_id=manifest.survey_id.hex(),
            mechanism=manifest.specification.kind,
            epsilon=manifest.epsilon,
            delta=manifest.delta,
            odds=pure_odds(manifest),
            truth=mechanism.truth,
            guess=guess_of(mechanism),
            starts=schedule.start,
            ends=schedule.end,
            epoch_seconds=schedule.epoch_seconds,
            epochs=schedule.epochs,
            range_epochs=manifest.repeat.epochs,
            most=most,
            most_any=most_any,
            enrolment=mode,
            period=period(manifest, translate),
            leaves=tuple(leaves(manifest, translate)),
            seen=tuple(seen(manifest, translate)),
            learnt=tuple(learnt(manifest, translate)),
            issuers=tuple(issuers),
            coalitions=learners.rows,
            apart=learners.condition,
        )
