"""Who answers with pages, and what each needs to know."""

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from json import loads
from typing import Any, Final
from urllib.parse import parse_qs

from aiohttp import web

from deniable.directory import Config, older_epochs, shown_counts, shown_epochs, token_digest
from deniable.messages import Manifest, Refusal, RefusalCode, is_simulated, media_type
from deniable.reading import (
    VIEWS,
    EpochCounts,
    EpochState,
    ListedEpoch,
    appear_text,
    instant_text,
)
from deniable.reading.wire import most_epochs
from deniable.server.operations.metrics import Meters
from deniable.server.pages.controls import (
    AT_ONCE,
    EPSILONS,
    MOST_REPEATED,
    OF_EPOCHS,
    WIDTHS,
    Controls,
    asked_groups,
    downloads,
    epoch_choices,
    free_epsilon,
)
from deniable.server.pages.health import collector_health, epoch_health
from deniable.server.pages.limits import MOST_COMPARED
from deniable.server.pages.rendering import STATIC, page, rendered, root_of, static_file
from deniable.server.pages.sessions import begin_session, check_own_page, end_session
from deniable.server.pages.terms import privacy_terms
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.figures import Asked, Figures, check_view, to_the_end
from deniable.server.routes.parameters import asked_choice, asked_epochs, asked_level
from deniable.server.routes.routing import SVG, Handler
from deniable.server.routes.tokens import held_role, held_tokens
from deniable.server.transport.connections import Connection
from deniable.stores import Role, Store

_FORM: Final = "application/x-www-form-urlencoded"
_PLACE: Final = re.compile(r"surveys/[a-z0-9-]+(/(series|compare|plan))?(\?[!-~]*)?", re.ASCII)
"""Where a session may lead to, from the collector's root: a survey's pages."""

_TOO_MANY: Final = (
    f"several epochs of more than {MOST_REPEATED:,} answers take too long here: read them with "
    "deniable.estimates.connect, on a machine of your own"
)


def page_handlers(
    config: Config,
    store: Store,
    catalogue: Catalogue,
    figures: Figures,
    clock: Callable[[], float],
    meters: Meters,
) -> dict[str, Handler]:
    """Return who answers with pages, by path."""
    pages = _Pages(config, store, catalogue, figures, clock, meters)

    def handler(answer: Handler) -> Handler:
        return lambda request, name: answer(_without_empty(request), name)

    return {
        "/": handler(pages.surveys),
        "/login": handler(pages.login),
        "/logout": handler(pages.end),
        "/static/{name}": handler(_static),
        "/surveys/{name}": handler(pages.figures),
        "/surveys/{name}/series": handler(pages.series),
        "/surveys/{name}/compare": handler(pages.compare),
        "/surveys/{name}/plan": handler(pages.plan),
        "/surveys/{name}/chart.svg": handler(pages.chart),
    }


@dataclass(frozen=True, slots=True)
class _Content:
    """What of a page follows from its query, and whether more of it may come."""

    body: str
    live: bool = False
    status: int = 200


class _Pages:
    def __init__(
        self,
        config: Config,
        store: Store,
        catalogue: Catalogue,
        figures: Figures,
        clock: Callable[[], float],
        meters: Meters,
    ) -> None:
        self._config = config
        self._store = store
        self._catalogue = catalogue
        self._figures = figures
        self._clock = clock
        self._meters = meters

    async def surveys(self, request: web.BaseRequest, _: str) -> web.Response:
        await self._catalogue.reread()
        known = await held_role(request, self._store) is not None
        now = self._clock()
        listed = [
            {
                "manifest": manifest,
                "standing": self._standing(manifest, now),
                "public": manifest.name in self._config.public,
                "simulated": is_simulated(manifest.name),
            }
            for manifest in self._catalogue.newest()
        ]
        return page("list.html", root=root_of(request), known=known, surveys=listed)

    async def login(self, request: web.BaseRequest, _: str) -> web.Response:
        if request.method != "POST":
            return _login(request, 200, "", request.query.get("next", ""))
        form = await _read_form(request)
        token, to = form.get("token", "").strip(), form.get("next", "")
        if await self._store.token_role(token_digest(token)) is None:
            return _login(request, 401, "This collector has no such token.", to)
        answer = _see(request, to if _PLACE.fullmatch(to) else "")
        begin_session(request, answer, self._config.authority, token)
        return answer

    async def end(self, request: web.BaseRequest, _: str) -> web.Response:
        await _read_form(request)
        answer = _see(request, "")
        end_session(answer, self._config.authority)
        return answer

    async def figures(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = await self._figures.asked(request, name)
        level, view = asked_level(request), asked_choice(request, "view", VIEWS)
        groups, wanted = asked_groups(request), request.query.get("find", "")
        raw, at_once = "raw" in request.query, AT_ONCE in request.query

        def made(shown: Sequence[EpochCounts]) -> str:
            from deniable.estimates import View, histogram_of
            from deniable.server.pages.shown import named_epochs, shown_figures, shown_raw

            check_view(asked.newest, view)
            histogram = histogram_of(asked.newest, shown, level)
            return rendered(
                "figures.html",
                histogram=histogram,
                shown=shown_figures(histogram, View(view), groups, wanted, simultaneous=at_once),
                raw=shown_raw(histogram) if raw else (),
                responses=len(histogram.raw),
                view=view,
                when=named_epochs(histogram),
                health=[*epoch_health(asked.newest.schedule, shown[-1])],
            )

        what = ("page", level, view, groups, wanted, raw, at_once)
        content = await self._made(request, asked, what, made)
        return await self._page(request, asked, "figures", content)

    async def series(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = await self._figures.asked(request, name)
        level, groups = asked_level(request), asked_groups(request)
        wanted = request.query.get("find", "")
        surveys = tuple(self._catalogue.named(name))
        if asked.epochs is None and "survey" not in request.query:
            asked = Asked(asked.estimating, surveys, asked.epochs)

        def made(shown: Sequence[EpochCounts]) -> str:
            from deniable.estimates import series_of
            from deniable.server.pages.shown import shown_series

            found = series_of(name, asked.surveys, shown, level)
            return rendered("series.html", shown=shown_series(found, groups, wanted), level=level)

        older: list[range] = []

        async def read(asked: Asked) -> Sequence[EpochCounts]:
            shown = await self._figures.across(asked)
            for manifest in asked.surveys if asked.epochs is None else ():
                own = [each.epoch for each in shown if each.survey_id == manifest.survey_id]
                older.append(await older_epochs(self._store, manifest, min(own, default=None)))
            return shown

        content = await self._made(
            request, asked, ("series page", level, groups, wanted), made, read
        )
        return await self._page(request, asked, "series", content, older)

    async def compare(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = await self._figures.asked(request, name)
        level, groups = asked_level(request), asked_groups(request)
        against = None
        if "against" in request.query:
            other = request.clone(
                rel_url=request.rel_url.update_query({"epoch": request.query["against"]})
            )
            against = asked_epochs(other, asked.newest, 1)
        if against is None:
            content = _Content(
                rendered("message.html", text="Choose the epoch to compare with.", kind="note")
            )
        else:
            content = await self._compared(request, asked, against, level, groups)
        return await self._page(request, asked, "compare", content)

    async def _compared(
        self,
        request: web.BaseRequest,
        asked: Asked,
        against: range,
        level: float,
        groups: tuple[str, ...],
    ) -> _Content:
        wanted = request.query.get("find", "")

        async def read(asked: Asked) -> Sequence[EpochCounts]:
            now = self._clock()
            before = await shown_counts(self._store, asked.newest, against, now)
            shown = await self._figures.shown(asked)
            return [*before, *shown] if before and shown else ()

        def made(shown: Sequence[EpochCounts]) -> str:
            from deniable.estimates import histogram_of
            from deniable.estimates.comparison import compare
            from deniable.server.pages.shown import largest_shares, named_epochs, shown_changes

            one = histogram_of(asked.newest, shown[:1], level)
            other = histogram_of(asked.newest, shown[1:], level)
            found: list[str] = []
            if not groups and other.values is None:
                found = largest_shares((one, other), wanted, everywhere=True)
            names = set(found[:MOST_COMPARED])
            among = [name for name in other.categories if name in names]
            compared = compare(other, list(groups) or None, one, among)
            return rendered(
                "compare.html",
                shown=shown_changes(compared, found),
                units="percentage points" if other.values is None else "the units of the answers",
                level=level,
                now=named_epochs(other),
                before=named_epochs(one),
                sentence=compared.rows[0].estimate.sentence if groups else "",
                health=[*epoch_health(asked.newest.schedule, shown[-1])],
            )

        return await self._made(
            request, asked, ("changes", level, groups, wanted, against), made, read
        )

    async def plan(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = await self._figures.asked(request, name)
        width = asked_choice(request, "width", WIDTHS)
        epsilon = asked_choice(request, "epsilon", EPSILONS)

        async def work() -> str:
            def made() -> str:
                from deniable.estimates import Accuracy
                from deniable.planning import plan, republished

                values = (survey := asked.newest).values
                span = 1.0 if values is None else float(values[-1] - values[0])
                accuracy = Accuracy.half_width(span * float(width))
                own, free = plan(survey, accuracy), free_epsilon(survey)
                others = plan(republished(survey, epsilon), accuracy) if free else own
                return rendered("plan.html", own=own, others=others, free=free, width=width)

            return await to_thread(made)

        content = _Content(await to_the_end(asked.estimating.in_turn(request, work)))
        return await self._page(request, asked, "plan", content)

    async def chart(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = await self._figures.asked(request, name)
        level, view = asked_level(request), asked_choice(request, "view", VIEWS)
        wanted, at_once = request.query.get("find", ""), AT_ONCE in request.query

        def packed(shown: Sequence[EpochCounts]) -> bytes:
            from deniable.estimates import View, histogram_of
            from deniable.estimates.charts import standalone
            from deniable.server.pages.shown import drawn

            check_view(asked.newest, view)
            histogram = histogram_of(asked.newest, shown, level)
            return standalone(drawn(histogram, View(view), wanted, simultaneous=at_once)).encode()

        what = ("chart", level, view, wanted, at_once)
        body = await self._figures.made(request, asked, what, packed)
        named = f'attachment; filename="{name}.svg"'
        return web.Response(body=body, content_type=SVG, headers={"Content-Disposition": named})

    async def _made(
        self,
        request: web.BaseRequest,
        asked: Asked,
        what: tuple[object, ...],
        made: Callable[[Sequence[EpochCounts]], str],
        read: Callable[[Asked], Awaitable[Sequence[EpochCounts]]] | None = None,
    ) -> _Content:
        """Return the part of a page that is made of counts; or in its place, why there is none."""

        def packed(shown: Sequence[EpochCounts]) -> bytes:
            if len(shown) > 1 and len(asked.newest.categories) > MOST_REPEATED:
                raise ValueError(_TOO_MANY)
            live = any(each.standing.state is not EpochState.SEALED for each in shown)
            return f"{live:d}{made(shown)}".encode()

        try:
            body = (await self._figures.made(request, asked, what, packed, read)).decode()
        except Refusal as refusal:
            if refusal.code is RefusalCode.TOO_FEW_REPORTS:
                text = f"No figures yet: they {appear_text(asked.newest)}."
                return _Content(rendered("message.html", text=text, kind="note"), live=True)
            if refusal.code is not RefusalCode.BAD_QUERY:
                raise
            return _Content(
                rendered("message.html", text=f"{refusal.reason}.", kind="alert"), status=400
            )
        to_come = asked.epochs is None and self._clock() < asked.newest.schedule.end
        return _Content(body[1:], live=body[0] == "1" or to_come)

    async def _page(
        self,
        request: web.BaseRequest,
        asked: Asked,
        kind: str,
        content: _Content,
        older: Sequence[range] = (),
    ) -> web.Response:
        """Return a survey's page, or only what changes of it, if that is what a script asks for.

        It says which ``older`` epochs it leaves out.
        """
        manifest, now = asked.newest, self._clock()
        headers, shown = request.headers, manifest.survey_id.hex()
        script = _is_script(request)
        if script and headers.get("Shown-Survey", shown) != shown:
            # The rest of the page tells of another, which has a successor by now.
            return web.Response(headers={"HX-Refresh": "true"})
        role = await held_role(request, self._store)
        values: dict[str, Any] = {
            "root": root_of(request),
            **_here(request),
            "kind": kind,
            "manifest": manifest,
            "content": content,
            "known": role is not None,
            # As /metrics: whoever counts every report knows more than figures show.
            "collector": [*collector_health(self._meters)] if role is Role.OPERATOR else (),
            "downloads": [*downloads(request, kind)],
        }
        # Where time has passed, and nothing was chosen, only figures change.
        values["fragment"] = script and headers.get("HX-Trigger") != "live"
        if script and not values["fragment"]:
            return page("live.html", **values)

        async def listed() -> tuple[Controls, list[ListedEpoch], Sequence[range]]:
            # In a thread: there may be 65,536 answers to look through.
            controls = await to_thread(Controls.of, request, asked.surveys, kind)
            if script or kind not in OF_EPOCHS:
                return controls, [], older
            epochs = await shown_epochs(self._store, manifest, now, most_epochs(manifest))
            first = epochs[0].number if epochs else None
            return controls, epochs, [await older_epochs(self._store, manifest, first)]

        making = asked.estimating.in_turn(request, listed)
        values["controls"], epochs, left_out = await to_the_end(making)
        if script:
            return page("live.html", **values)
        return page(
            "survey.html",
            content.status,
            **values,
            epochs=[*epoch_choices(manifest, kind, epochs)],
            older=[each for each in left_out if each],
            survey=request.query.get("survey", ""),
            public=manifest.name in self._config.public,
            simulated=is_simulated(manifest.name),
            standing=self._standing(manifest, now),
            versions=self._catalogue.named(manifest.name),
            privacy=[*privacy_terms(manifest)],
        )

    def _standing(self, manifest: Manifest, now: float) -> str:
        """Return where a survey is in its life, in words."""
        schedule = manifest.schedule
        if self._catalogue.ended_at(manifest) is not None:
            return "ended"
        if now < schedule.start:
            return f"begins {instant_text(schedule.start)}"
        if now >= schedule.end:
            return "over"
        epoch = int((now - schedule.start) // schedule.epoch_seconds)
        return f"epoch {epoch} is open, the last is {schedule.epochs - 1}"


def _is_script(request: web.BaseRequest) -> bool:
    """Return whether a page that is open asks for what changes of it."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def _here(request: web.BaseRequest) -> dict[str, str]:
    """Return where a page is, relative to itself."""
    # As it came: in a decoded one, "C#" ends the query.
    url = request.rel_url
    return {"here": url.raw_path.rpartition("/")[2], "query": url.raw_query_string}


async def _static(_: web.BaseRequest, name: str) -> web.Response:
    if name not in STATIC:
        raise Refusal(RefusalCode.NOT_FOUND, "there is nothing at this path")
    body = await to_thread(static_file, name)
    return web.Response(
        body=body,
        content_type=STATIC[name],
        charset="utf-8",
        headers={"Cache-Control": "public, max-age=3600"},
    )


def _login(request: web.BaseRequest, status: int, text: str, to: str) -> web.Response:
    answer = page("login.html", status, root=root_of(request), known=False, text=text, to=to)
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if "HX-Request" in request.headers:  # the session has ended: the whole page is to say so
        answer.headers["HX-Refresh"] = "true"
    return answer


def _see(request: web.BaseRequest, to: str) -> web.Response:
    """Return the way to another page, relative to this one."""
    return web.Response(status=303, headers={"Location": f"{root_of(request)}{to}"})


def failure_page(request: web.BaseRequest, answer: web.Response) -> web.Response:
    """Return as a page what a program would be told; strangers are asked for a token.

    A page that is open gets what stands in place of the figures meanwhile, or that it is to be
    loaded anew: its session has ended.
    """
    if answer.status == 401:
        to = request.rel_url.raw_path_qs.lstrip("/")
        made = _login(request, 401, "These figures are for holders of a token.", to)
        made.headers["HX-Refresh"] = "true"
        return made
    assert isinstance(answer.body, bytes)
    told = loads(answer.body)
    made = page(
        "interrupted.html" if _is_script(request) else "failure.html",
        answer.status,
        root=root_of(request),
        **_here(request),
        known=bool(held_tokens(request)),
        title=told["title"],
        detail=told.get("detail", ""),
    )
    for name in ("Allow", "Retry-After"):
        if name in answer.headers:
            made.headers[name] = answer.headers[name]
    return made


async def _read_form(request: web.BaseRequest) -> dict[str, str]:
    """Return what a form of ours was filled in with; Refusal for anything else."""
    check_own_page(request)
    if media_type(request.headers.get("Content-Type", "")) != _FORM:
        raise Refusal(RefusalCode.UNSUPPORTED_MEDIA_TYPE, f"send {_FORM}")
    connection = request.protocol
    assert isinstance(connection, Connection)
    fields = parse_qs((await connection.read(request)).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}


def _without_empty(request: web.BaseRequest) -> web.BaseRequest:
    """Return a request without the parameters that a form leaves empty."""
    kept = [(key, value) for key, value in request.query.items() if value]
    if len(kept) == len(request.query):
        return request
    return request.clone(rel_url=request.rel_url.with_query(kept))
