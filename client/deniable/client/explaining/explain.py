"""Creation of an explanation, from an app's declarations or from the state file alone."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from deniable.client.client_settings import Arguments
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.errors import ManifestFault, ManifestRefused, NotRecorded, StateUnavailable
from deniable.client.explaining import prompt
from deniable.client.explaining.explanation import BudgetExplanation, Explanation, SurveyExplanation
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
from deniable.terms.sentences import (
    Coalitions,
    Translate,
    guess,
    learnt,
    leaves,
    period,
    possible_answers,
    seen,
    summary,
)

_WORST = (
    "Only the app knows whether it uses a relay and whether it bundles this survey; the sentences "
    "on who learns what assume that the app does neither."
)

_Account = tuple[int | None, int | None, int | None, bool]
"""The cost of a name: reports, spent, reserved and kept of ``SurveyExplanation``."""
_UNREAD: _Account = (None, None, None, False)


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
        tuple(prompt.not_hidden(arguments.collector, relay, app.translate)),
    )
    try:
        consent, budget, surveys = state.do(partial(_read_declared, state, ledger, app, now))
    except StateUnavailable as error:
        surveys = tuple(
            _survey(survey, app, _promise(survey, app, None), "", _UNREAD) for survey in declared
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
        return 0, 0, 0, False
    reports, spent, kept = connection.execute(
        "SELECT count(*), coalesce(sum(cost), 0),"
        " EXISTS (SELECT 1 FROM memos WHERE name = :name AND reports > 0)"
        " FROM decisions WHERE name = :name",
        {"name": name},
    ).fetchone()
    return int(reports), int(spent), reserved_of_name(connection, name), bool(kept)


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
        if followed.enrolment.mode == "blind" and connection is not None:
            names = {manifest.name for manifest in ledger.following.issuer.followed(connection)}
            one = _(
                "In each time slice, this device answers only one of the surveys that need a "
                "token. The survey is chosen at random, before there is an answer."
            )
            standing = f"{standing} {one}".strip() if len(names) > 1 else standing
        learners = _coalitions(connection, ledger, app, survey, followed)
        return survey_of(standing, account, followed, learners)
    foreseen = ledger.following.foreseen(app.bundled, connection, survey, now)
    if isinstance(foreseen, ManifestRefused):
        text = _("The survey that came with the app is not answered: {why}.")
        standing = _refusal(text, foreseen, _)
    elif foreseen is not None:
        bundled = _("This survey came with the app and is not in use yet.")
        standing = f"{bundled} {_followed([foreseen], now, _)[1]}".strip()
        learners = _coalitions(connection, ledger, app, survey, foreseen)
        return survey_of(standing, account, foreseen, learners)
    else:
        refused: object = app.refused.get(survey.name)
        if refused is None and connection is not None:  # refused elsewhere or earlier
            refused = ledger.following.rows(connection, survey.name).last_refusal()
        standing = misfit or _(
            "There is no survey on this device yet. The survey is fetched after you agree."
        )
        if refused and not misfit:
            standing = _refusal(_("There is no survey on this device: {why}."), refused, _)
    return survey_of(standing, account)


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


def _promise(survey: Survey, app: App, connection: sqlite3.Connection | None) -> prompt.Promise:
    """Return the promise, or the actual spending if the app has since lowered its ceiling."""
    arguments = app.arguments
    lifetime, own = arguments.lifetime, survey.total_ceiling
    shared = own is None or own > lifetime
    total = lifetime if own is None or shared else own
    if connection is not None:
        spent = spent_in_all(connection) if shared else spent_of_name(connection, survey.name)
        total = max(total, spent)
    enrols, quorum = arguments.enrol is not None, arguments.log_pin.quorum
    return prompt.Promise(survey, total, enrols, quorum)


def _survey(
    survey: Survey,
    app: App,
    promise: prompt.Promise,
    standing: str,
    account: _Account,
    manifest: Manifest | None = None,
    learners: Coalitions | None = None,
) -> SurveyExplanation:
    _ = app.translate
    mode = survey.enrolment if manifest is None else manifest.enrolment.mode
    vouched = tuple(prompt.vouched(promise, None if mode == "open" else learners, _))
    page = SurveyExplanation(
        survey.name,
        survey.question,
        possible_answers(survey.categories, _, texts=survey.texts),
        app.arguments.collector,
        "",
        promise.enrols and mode == "blind",
        standing,
        *account,
        summary=prompt.in_short(promise, manifest, _),
        limits=tuple(prompt.limits(promise, manifest, _)),
        details=tuple(prompt.details(promise, _)),
        vouched=vouched,
        leaves=(*leaves(None, _), *vouched),
        translate=_,
    )
    return page if manifest is None else _with_terms(page, manifest, learners, _)


def _with_terms(
    page: SurveyExplanation, manifest: Manifest, learners: Coalitions | None, _: Translate
) -> SurveyExplanation:
    """Add the sentences on a signed survey, in the words of the operator's notice."""
    assert learners is not None
    joined = (f"{what}: {who}." for what, who in learners.rows)
    return replace(
        page,
        survey_id=manifest.survey_id.hex(),
        period=period(manifest, _),
        leaves=tuple(leaves(manifest, _)),
        seen=(*seen(manifest, _), *joined, learners.condition),
        learnt=(*learnt(manifest, _), *page.learnt),
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
        mode = manifest.enrolment.mode
        page = SurveyExplanation(
            name,
            manifest.question,
            possible_answers(manifest.all_answers, str, texts=manifest.kind.texts),
            manifest.origin,
            "",
            mode == "blind",
            f"{standing} {_WORST}".strip(),
            *_account(connection, name),
            summary=summary(manifest),
            learnt=(guess(manifest.mechanism.privacy.guess, str),),
        )
        yield _with_terms(page, manifest, Coalitions.of(mode, relayed=False, same=False), str)


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


def _coalitions(
    connection: sqlite3.Connection | None,
    ledger: Ledger,
    app: App,
    survey: Survey,
    manifest: Manifest,
) -> Coalitions:
    """Return the table of who could learn what; all devices get a bundled or pinned survey.

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
    return Coalitions.of(
        manifest.enrolment.mode,
        relayed=arguments.relay is not None,
        same=same,
        beside=beside,
        translate=app.translate,
    )
