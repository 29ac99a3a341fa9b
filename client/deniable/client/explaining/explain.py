"""Creation of an explanation, from an app's declarations or from the state file alone."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial

from deniable.budget import changing_cost
from deniable.client.client_settings import Arguments
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.errors import ManifestFault, ManifestRefused, NotRecorded, StateUnavailable
from deniable.client.explaining import prompt
from deniable.client.explaining.explanation import BudgetExplanation, Explanation, SurveyExplanation
from deniable.client.explaining.promise import Promise, Terms
from deniable.client.ledger.admission import Bundled
from deniable.client.ledger.allowance import (
    Allowance,
    reserved_in_all,
    reserved_of_name,
    spent_in_all,
    spent_of_name,
    spent_since,
)
from deniable.client.ledger.ledger import Ledger
from deniable.client.parts import GatewayKeyring
from deniable.client.state.state import State
from deniable.client.survey import Survey
from deniable.messages import Manifest, Refusal, instant_text, open_manifest
from deniable.terms.sentences import Translate, possible_answers

_WORST = (
    "Only the app knows whether it uses a relay and whether it bundles this survey; the sentences "
    "on who learns what assume that the app does neither."
)

_Account = tuple[int | None, int | None, int | None, bool, int | None]
"""The cost of a name: reports, spent, reserved, kept and spent_any of ``SurveyExplanation``."""
_UNREAD: _Account = (None, None, None, False, None)


@dataclass(frozen=True, slots=True)
class App:
    """The arguments of an app's client, and the known manifests for its surveys."""

    arguments: Arguments
    # Why no newer survey was accepted at the last refresh, by name.
    refused: Mapping[str, NotRecorded]
    bundled: Bundled  # the manifests that came with the app
    keyring: GatewayKeyring | None  # for an app with a relay
    translate: Translate = str


def explain_declared(state: State, ledger: Ledger, app: App, now: float) -> Explanation:
    """Explain the surveys that an app declares, even if its state cannot be used."""
    arguments = app.arguments
    declared = arguments.surveys.values()
    relay = None if arguments.relay is None else arguments.relay.origin
    sending = (
        arguments.background,
        int(arguments.settings.delivery_seconds),
        relay,
        tuple(prompt.not_hidden(arguments.collector, relay, app.translate)),
    )
    try:
        consent, budget, surveys = state.do(partial(_read_declared, state, ledger, app, now))
    except StateUnavailable as error:
        surveys = tuple(
            _survey(survey, app, _promise(survey, app, None), None, "", _UNREAD)
            for survey in declared
        )
        return Explanation(None, str(error), surveys, None, *sending, app.translate)
    return Explanation(consent, "", surveys, budget, *sending, app.translate)


def _read_declared(
    state: State, ledger: Ledger, app: App, now: float
) -> tuple[ConsentRecord, BudgetExplanation, tuple[SurveyExplanation, ...]]:
    declared = app.arguments.surveys.values()
    with state.reading(now) as connection:
        consent = state.consent_in(connection)
        budget = _budget(state, connection, app.arguments.allowance, now)
        covered = {
            survey.name: state.covers(connection, survey.name)
            for survey in declared
            if consent.decided is Consent.ON
        }
        surveys = tuple(
            replace(
                _declared_survey(connection, ledger, app, survey, now),
                covered=covered.get(survey.name),
                news=_news(state, connection, ledger, app, survey)
                if covered.get(survey.name) is False
                else (),
            )
            for survey in declared
        )
    return consent, budget, surveys


def _news(
    state: State,
    connection: sqlite3.Connection | None,
    ledger: Ledger,
    app: App,
    survey: Survey,
) -> tuple[str, ...]:
    """Return the changes that an update made to a survey that consent no longer covers."""
    held = [] if connection is None else ledger.following.accepted(connection, survey.name)
    agreed, declared = state.agreed(connection, survey.name)
    before = held[0] if held else None
    collector = app.arguments.collector
    return tuple(prompt.news(survey, collector, before, agreed, declared, app.translate))


def explain_stored(state: State, now: float) -> Explanation:
    """Explain the surveys that an app accepted, without their declarations.

    The app's ceilings are not in the state, and so are not shown.

    Raises:
        StateUnavailable: if the state cannot be read.
    """
    return state.do(partial(_explain_stored, state, now))


def _explain_stored(state: State, now: float) -> Explanation:
    with state.reading(now) as connection:
        consent = state.consent_in(connection)
        budget = _budget(state, connection, None, now)
        surveys = () if connection is None else tuple(_stored_surveys(connection, now))
    hosts = ", ".join(sorted({survey.collector for survey in surveys}))
    hidden = tuple(prompt.not_hidden(hosts, None, str)) if hosts else ()
    return Explanation(consent, "", surveys, budget, not_hidden=hidden)


def _account(connection: sqlite3.Connection | None, name: str) -> _Account:
    if connection is None:
        return 0, 0, 0, False, 0
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
    spent_any = _any_history(connection, int(fresh), ranges)
    return int(reports), int(spent), reserved_of_name(connection, name), bool(ranges), spent_any


def _any_history(
    connection: sqlite3.Connection, fresh: int, ranges: list[tuple[bytes, int]]
) -> int | None:
    """Return the cost of reports against any other answers; None if the cost has no known bound.

    Ranges share no noise, and neither do fresh reports: their costs add up.
    """
    total = fresh
    opened = cache(partial(held_manifest, connection))  # opening a large one takes a second
    for survey_id, reports in ranges:
        manifest = opened(survey_id)
        cost = None if manifest is None else changing_cost(manifest.mechanism, reports)
        if cost is None:
            return None
        total += cost
    return total


def held_manifest(connection: sqlite3.Connection, survey_id: bytes) -> Manifest | None:
    """Return the survey with an id; None if the survey's bytes are damaged or gone."""
    for row in connection.execute(
        "SELECT envelope, signer FROM manifests WHERE survey_id = ?", (survey_id,)
    ).fetchall():
        with suppress(Refusal, TypeError):
            return open_manifest(*row)
    return None


def _budget(
    state: State, connection: sqlite3.Connection | None, allowance: Allowance | None, now: float
) -> BudgetExplanation:
    sliding = None if allowance is None else allowance.sliding
    lifetime = None if allowance is None else allowance.lifetime
    most, days = (None, None) if sliding is None else (sliding.most, sliding.days)
    if connection is None:
        return BudgetExplanation(lifetime=lifetime, recent_most=most, recent_days=days)
    (carried,) = connection.execute("SELECT coalesce(sum(cost), 0) FROM carried").fetchone()
    lived = state.lived_by(connection, now)
    recent = 0 if sliding is None else spent_since(connection, lived - sliding.seconds)
    spent, reserved = spent_in_all(connection), reserved_in_all(connection)
    return BudgetExplanation(spent, int(carried), reserved, lifetime, recent, most, days)


def _declared_survey(
    connection: sqlite3.Connection | None, ledger: Ledger, app: App, survey: Survey, now: float
) -> SurveyExplanation:
    account, _ = _account(connection, survey.name), app.translate
    survey_of = partial(_survey, survey, app, _promise(survey, app, connection))
    accepted = [] if connection is None else ledger.following.accepted(connection, survey.name)
    fitting, misfit = [], ""
    terms_of = partial(_terms_of, connection, ledger, app, survey)
    for manifest in accepted:
        try:
            ledger.following.check_fits(manifest, survey)
        except ManifestRefused as error:
            text = _("The survey on this device no longer fits the app: {why}.")
            misfit = misfit or _refusal(text, error, _)
        else:
            fitting.append(manifest)
    followed, standing = _followed(fitting, now, _)
    if followed is not None:
        terms = terms_of(followed, _reserved(connection, followed))
        if followed.enrolment.mode == "blind" and connection is not None:
            names = {manifest.name for manifest in ledger.following.issuer.followed(connection)}
            one = _(
                "In each time slice, this device answers only one of the surveys that need a "
                "token. The survey is chosen at random, before there is an answer."
            )
            standing = f"{standing} {one}".strip() if len(names) > 1 else standing
        return survey_of(terms, standing, account)
    foreseen = ledger.following.foreseen(app.bundled, connection, survey, now)
    if isinstance(foreseen, ManifestRefused):
        text = _("The survey that came with the app is not answered: {why}.")
        standing = _refusal(text, foreseen, _)
    elif foreseen is not None:
        bundled = _("This survey came with the app and is not in use yet.")
        running = _followed([foreseen[0]], now, _)[1]
        return survey_of(terms_of(*foreseen), f"{bundled} {running}".strip(), account)
    else:
        refused: object = app.refused.get(survey.name)
        if refused is None and connection is not None:  # refused elsewhere or earlier
            refused = ledger.following.rows(connection, survey.name).last_refusal()
        standing = misfit or _(
            "There is no survey on this device yet. The survey is fetched after you agree."
        )
        if refused and not misfit:
            standing = _refusal(_("There is no survey on this device: {why}."), refused, _)
    return survey_of(None, standing, account)


def _refusal(text: str, why: object, _: Translate) -> str:
    # Outcomes, the journal and the log show developers what to do about costs and proofs.
    match str(why).partition(":")[0]:
        case ManifestFault.OVER_BUDGET:
            return _("This question is not asked: it would cost more privacy than this app allows.")
        case ManifestFault.NOT_WITNESSED:
            return _(
                "This survey waits until independent witnesses have seen it; nothing is sent until "
                "then."
            )
    return text.format(why=why)


def _promise(survey: Survey, app: App, connection: sqlite3.Connection | None) -> Promise:
    """Return the promise, or the actual spending if the app has since lowered its ceiling."""
    arguments = app.arguments
    promise = Promise.of(
        survey,
        arguments.allowance,
        enrols=arguments.enrol is not None,
        seen_by=arguments.log_pin.quorum,
    )
    if connection is None:
        return promise
    spent = spent_in_all(connection) if promise.shared else spent_of_name(connection, survey.name)
    return replace(promise, total=max(promise.total, spent))


def _survey(
    survey: Survey,
    app: App,
    promise: Promise,
    terms: Terms | None,
    standing: str,
    account: _Account,
) -> SurveyExplanation:
    said = promise, terms, app.translate
    return SurveyExplanation(
        survey.name,
        survey.question,
        possible_answers(survey.categories, app.translate, texts=survey.texts),
        app.arguments.collector,
        promise,
        terms,
        standing,
        *account,
        summary=prompt.in_short(*said),
        limits=tuple(prompt.limits(*said)),
        vouched=tuple(prompt.vouched(*said)),
        translate=app.translate,
    )


def _stored_surveys(connection: sqlite3.Connection, now: float) -> Iterable[SurveyExplanation]:
    by_name: dict[str, list[Manifest]] = {}
    for signer, envelope in connection.execute(
        "SELECT signer, envelope FROM manifests WHERE role = 'accepted'"
        " ORDER BY name, sequence DESC"
    ).fetchall():
        with suppress(Refusal):  # corrupted bytes
            opened = open_manifest(envelope, signer)
            by_name.setdefault(opened.name, []).append(opened)
    for name, accepted in by_name.items():
        manifest, standing = _followed(accepted, now)
        assert manifest is not None
        terms = Terms.of(manifest, _reserved(connection, manifest))
        yield SurveyExplanation(
            name,
            manifest.question,
            possible_answers(manifest.all_answers, str, texts=manifest.kind.texts),
            manifest.origin,
            None,
            terms,
            f"{standing} {_WORST}".strip(),
            *_account(connection, name),
            summary=terms.summary,
        )


def _followed(
    accepted: list[Manifest], now: float, _: Translate = str
) -> tuple[Manifest | None, str]:
    """Return the current manifest, or the next, or the newest, and why it does not run."""
    for manifest in accepted:
        if manifest.schedule.epoch_at(now) is not None:
            return manifest, ""
    if coming := [manifest for manifest in accepted if now < manifest.schedule.start]:
        first = min(coming, key=lambda manifest: manifest.schedule.start)
        text = _("The survey has not started: the first report can be made {when}.")
        return first, text.format(when=instant_text(first.schedule.start))
    if accepted:
        text = _("The survey ended {when}.")
        return accepted[0], text.format(when=instant_text(accepted[0].schedule.end))
    return None, ""


def _terms_of(
    connection: sqlite3.Connection | None,
    ledger: Ledger,
    app: App,
    survey: Survey,
    manifest: Manifest,
    most: int,
) -> Terms:
    """Return the terms; a survey that came with the app, or was pinned, is the same everywhere.

    A fetched survey may be logged, and may have been given to one device alone. Surveys that are
    not known to be blind reveal when the app is open.
    """
    arguments = app.arguments
    came = any(manifest.payload in logged.envelope for logged in arguments.manifests)
    same = survey.pinned_ids is not None or came
    same = same and (app.keyring is None or app.keyring.is_as_bundled(connection))
    accepted = ledger.following.accepted
    beside = any(
        {held.enrolment.mode for held in (connection and accepted(connection, other.name)) or ()}
        != {"blind"}
        for other in arguments.surveys.values()
        if other.enrolment is None and other.name != survey.name
    )
    relayed = arguments.relay is not None
    return Terms.of(manifest, most, app.translate, relayed=relayed, same=same, beside=beside)


def _reserved(connection: sqlite3.Connection | None, manifest: Manifest) -> int:
    assert connection is not None
    (reserved,) = connection.execute(
        "SELECT max(reserved) FROM manifests WHERE survey_id = ?", (manifest.survey_id,)
    ).fetchone()
    return int(reserved)
