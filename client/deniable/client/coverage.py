"""The scopes that an app declares for consent: what must not differ, and what must not rise."""

from collections.abc import Iterable
from hashlib import sha256
from math import ceil
from typing import Final

from deniable.budget import NANO
from deniable.client.consent import Declared, Scope
from deniable.client.ledger.allowance import Allowance
from deniable.client.survey import Survey

_UNBOUNDED: Final = 2**62
_ATTO: Final = 10**18


def declared_by(
    surveys: Iterable[Survey],
    allowance: Allowance,
    collector: str,
    *,
    enrols: bool,
    relay: str | None,
) -> Declared:
    """Return an app's scopes for a collector."""
    declared, lifetime, sliding = tuple(surveys), allowance.lifetime.most, allowance.sliding
    # A floor is negated: none of these numbers may rise.
    period = (_UNBOUNDED, 0) if sliding is None else (sliding.most, -sliding.days)

    # Whom reports and keys are shown. What an app may not have is a part only where it has
    # it, so that the digests of others stay. A relay gets to know address and time, and without it
    # the collector would: whether one comes, goes or is another's, somebody else gets to know.
    def whom(*, blind: bool) -> list[object]:
        return [
            collector,
            enrols,
            *(["relay", relay] if relay else ()),
            *(["blind"] if enrols and blind else ()),
        ]

    def of_one(survey: Survey, *, blind: bool) -> Scope:
        parts = [*_question(survey), *whom(blind=blind)]
        bounds = *_bounds(survey, lifetime), lifetime, *period
        return Scope(survey.name, _digest(parts), bounds)

    def enough(survey: Survey) -> tuple[Scope, ...]:
        # Whoever agreed that an issuer may see the key of a report, agreed that it may not.
        ways = (True, False) if _is_blind(survey) else (False,)
        return tuple(of_one(survey, blind=blind) for blind in ways)

    return Declared(
        {survey.name: of_one(survey, blind=_is_blind(survey)) for survey in declared},
        {survey.name: enough(survey) for survey in declared},
    )


def _is_blind(survey: Survey) -> bool:
    """Tell whether no issuer is ever shown the key of a report to this survey."""
    return survey.enrolment == "blind"


def _question(survey: Survey) -> list[object]:
    answers = (
        sorted((name, *sorted(answers)) for name, *answers in survey.dimensions)
        if survey.dimensions
        else sorted(survey.categories)
    )
    return [survey.name, survey.question, answers, sorted(survey.mechanisms)]


def _bounds(survey: Survey, lifetime: int) -> tuple[int, ...]:
    own, kept = survey.total_ceiling, survey.kept_ceiling
    return (
        ceil(survey.epsilon_ceiling * NANO),
        ceil(survey.delta_ceiling * _ATTO),
        lifetime if own is None else min(own.most, lifetime),
        -1 if kept is None else ceil(kept * NANO),
        0 if kept is None else survey.max_kept_epochs,
        survey.max_grace_seconds,
        -max(1, survey.min_epoch_seconds),
    )


def _digest(parts: list[object]) -> str:
    # In ASCII: which other characters repr() escapes differs between versions of Python, and a
    # digest that changed would ask everybody again.
    return sha256(f"deniable/consent/v1\0{parts!a}".encode()).hexdigest()[:32]
