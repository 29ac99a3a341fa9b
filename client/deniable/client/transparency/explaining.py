"""Putting an explanation together: from what the app declares, or from the state file alone."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from deniable.budget import changing_cost
from deniable.client.errors import ManifestRefused, NotRecorded, StateUnavailable
from deniable.client.ledger.admission import check_declaration
from deniable.client.ledger.allowance import (
    Allowance,
    reserved_in_all,
    reserved_of_name,
)
from deniable.client.ledger.ledger import Ledger
from deniable.client.state.state import State
from deniable.client.state.tallies import spent_in_all, spent_since
from deniable.client.survey import Survey
from deniable.client.transparency.explanation import (
    BudgetExplanation,
    Explanation,
    SurveyExplanation,
)
from deniable.client.transparency.plain_text import shown_time
from deniable.client.transparency.promise import Promise
from deniable.client.transparency.terms import Terms
from deniable.messages import Manifest, Refusal, open_manifest

__all__ = ["Asked", "explain_declared", "explain_stored"]

_NONE_HELD = "No signed survey is held yet. After consent it is fetched from the collector."
_BUNDLED = "As it came with the app."


@dataclass(frozen=True, slots=True)
class Asked:
    """What an app declares to ask, and of whom.

    Attributes:
        surveys: as declared.
        collector: the origin.
        allowance: what may be spent.
        background: whether a thread sends reports, or the app.
        delivery_seconds: how long a report may wait before it is sent.
        linkable_batches: whether several reports may share a request.
        refused: why no newer survey was taken at the last refresh, by name.
        foreseen: the manifest that came with the app and would be accepted, and what it would
            reserve; or why it would not be.
        enrols: whether the app asks an issuer where a survey demands it.
    """

    surveys: tuple[Survey, ...]
    collector: str
    allowance: Allowance
    background: bool
    delivery_seconds: int
    linkable_batches: bool
    refused: Mapping[str, NotRecorded]
    foreseen: Callable[
        [sqlite3.Connection | None, Survey], tuple[Manifest, int] | ManifestRefused | None
    ]
    enrols: bool


def explain_declared(state: State, ledger: Ledger, asked: Asked, now: float) -> Explanation:
    """Explain what an app declares; never raises for a state that cannot be used."""
    sending = asked.background, asked.delivery_seconds, asked.linkable_batches
    try:
        with state.reading(now) as connection:
            consent = state.consent_in(connection)
            budget = _budget(state, connection, asked.allowance, now)
            surveys = tuple(
                _declared_survey(connection, ledger, asked, survey, now) for survey in asked.surveys
            )
    except StateUnavailable as error:
        surveys = tuple(_survey(survey, asked, None, "", None) for survey in asked.surveys)
        return Explanation(None, str(error), surveys, None, *sending)
    return Explanation(consent, "", surveys, budget, *sending)


def explain_stored(state: State, now: float) -> Explanation:
    """Explain what was accepted by an app whose declarations are not at hand.

    Its ceilings are not in the state, and so not told.

    Raises:
        StateUnavailable: if the state cannot be read.
    """
    with state.reading(now) as connection:
        consent = state.consent_in(connection)
        budget = _budget(state, connection, None, now)
        surveys = () if connection is None else tuple(_stored_surveys(connection, now))
    return Explanation(consent, "", surveys, budget)


@dataclass(frozen=True, slots=True)
class _Account:
    """What a name has cost, in units of 1e-9 epsilon."""

    reports: int = 0
    spent: int = 0
    reserved: int = 0
    kept: bool = False
    spent_any: int | None = 0


def _account(connection: sqlite3.Connection | None, name: str) -> _Account:
    if connection is None:
        return _Account()
    reports, spent = connection.execute(
        "SELECT count(*), coalesce(sum(cost), 0) FROM decisions WHERE name = ?", (name,)
    ).fetchone()
    ranges = connection.execute(
        "SELECT survey_id, reports FROM memos WHERE name = ? AND reports > 0", (name,)
    ).fetchall()
    (fresh,) = connection.execute(
        "SELECT coalesce(sum(cost), 0) FROM decisions WHERE name = :name AND survey_id NOT IN"
        " (SELECT survey_id FROM memos WHERE name = :name)",
        {"name": name},
    ).fetchone()
    return _Account(
        int(reports),
        int(spent),
        reserved_of_name(connection, name),
        bool(ranges),
        _any_history(connection, int(fresh), ranges),
    )


def _any_history(
    connection: sqlite3.Connection, fresh: int, ranges: list[tuple[bytes, int]]
) -> int | None:
    """Return what reports cost against any other answers; None if nothing covers it, or is known.

    Ranges share nothing, and neither do fresh reports: their costs add.
    """
    total = fresh
    manifests: dict[bytes, Manifest] = {}
    for survey_id, reports in ranges:
        if survey_id not in manifests:
            row = connection.execute(
                "SELECT envelope, signer FROM manifests WHERE survey_id = ?", (survey_id,)
            ).fetchone()
            with suppress(Refusal, TypeError):  # bytes that rotted, or are gone
                manifests[survey_id] = open_manifest(*row)
        manifest = manifests.get(survey_id)
        cost = None if manifest is None else changing_cost(manifest.mechanism, reports)
        if cost is None:
            return None
        total += cost
    return total


def _budget(
    state: State,
    connection: sqlite3.Connection | None,
    allowance: Allowance | None,
    now: float,
) -> BudgetExplanation:
    sliding = None if allowance is None else allowance.sliding
    lifetime = None if allowance is None else allowance.lifetime.most
    most, days = (None, None) if sliding is None else (sliding.most, sliding.days)
    if connection is None:
        return BudgetExplanation(lifetime=lifetime, recent_most=most, recent_days=days)
    (carried,) = connection.execute("SELECT coalesce(sum(cost), 0) FROM carried").fetchone()
    lived = state.lived_by(connection, now)
    recent = 0 if sliding is None else spent_since(connection, lived - sliding.seconds)
    return BudgetExplanation(
        spent_in_all(connection),
        int(carried),
        reserved_in_all(connection),
        lifetime,
        recent,
        most,
        days,
    )


def _declared_survey(
    connection: sqlite3.Connection | None, ledger: Ledger, asked: Asked, survey: Survey, now: float
) -> SurveyExplanation:
    account = _account(connection, survey.name)
    accepted = [] if connection is None else ledger.following.accepted(connection, survey.name)
    fitting, misfit = [], ""
    for manifest in accepted:
        try:
            check_declaration(manifest, survey)
        except ManifestRefused as error:
            misfit = misfit or f"The survey that is held does not fit the app any more: {error}."
        else:
            fitting.append(manifest)
    followed, standing = _followed(fitting, now)
    refused: object = asked.refused.get(survey.name)
    if refused is None and connection is not None:  # by another process, or before a restart
        refused = ledger.following.last_refusal(connection, survey.name)
    if followed is None:
        standing = misfit or (f"No survey is held: {refused}." if refused else _NONE_HELD)
    terms = None if followed is None else _terms(connection, followed)
    foreseen = None if followed is not None else asked.foreseen(connection, survey)
    if isinstance(foreseen, ManifestRefused):
        standing = f"The survey that came with the app is not answered: {foreseen}."
    elif foreseen is not None:
        terms = Terms.of(*foreseen)
        standing = " ".join([_BUNDLED, _followed([foreseen[0]], now)[1]]).strip()
    return _survey(survey, asked, terms, standing, account)


def _survey(
    survey: Survey, asked: Asked, terms: Terms | None, standing: str, account: _Account | None
) -> SurveyExplanation:
    return SurveyExplanation(
        survey.name,
        survey.question,
        survey.categories,
        asked.collector,
        Promise.of(survey, asked.allowance, enrols=asked.enrols),
        terms,
        standing,
        *_told(account),
    )


def _told(account: _Account | None) -> tuple[int | None, int | None, int | None, bool, int | None]:
    if account is None:
        return None, None, None, False, None
    return account.reports, account.spent, account.reserved, account.kept, account.spent_any


def _stored_surveys(connection: sqlite3.Connection, now: float) -> Iterable[SurveyExplanation]:
    by_name: dict[str, list[Manifest]] = {}
    for signer, envelope in connection.execute(
        "SELECT signer, envelope FROM manifests WHERE role = 'accepted'"
        " ORDER BY name, sequence DESC"
    ).fetchall():
        with suppress(Refusal):  # bytes that rotted
            opened = open_manifest(envelope, signer)
            by_name.setdefault(opened.name, []).append(opened)
    for name, accepted in by_name.items():
        manifest, standing = _followed(accepted, now)
        assert manifest is not None
        yield SurveyExplanation(
            name,
            manifest.question,
            manifest.categories,
            manifest.origin,
            None,
            _terms(connection, manifest),
            standing,
            *_told(_account(connection, name)),
        )


def _followed(accepted: list[Manifest], now: float) -> tuple[Manifest | None, str]:
    """Return the manifest that runs, else the one that will, else the newest; and why not yet."""
    for manifest in accepted:
        if manifest.schedule.epoch_at(now) is not None:
            return manifest, ""
    coming = [manifest for manifest in accepted if now < manifest.schedule.start]
    if coming:
        first = min(coming, key=lambda manifest: manifest.schedule.start)
        return first, f"Not begun: the first report can be made {shown_time(first.schedule.start)}."
    if accepted:
        return accepted[0], f"Over since {shown_time(accepted[0].schedule.end)}."
    return None, ""


def _terms(connection: sqlite3.Connection | None, manifest: Manifest) -> Terms:
    assert connection is not None
    (reserved,) = connection.execute(
        "SELECT max(reserved) FROM manifests WHERE survey_id = ?", (manifest.survey_id,)
    ).fetchone()
    return Terms.of(manifest, int(reserved))
