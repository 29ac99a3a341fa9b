"""How many reports the figures of a survey take."""

from asyncio import to_thread

from aiohttp import web

from deniable.server.pages.controls import EPSILONS, WIDTHS, free_epsilon
from deniable.server.pages.rendering import rendered
from deniable.server.pages.survey import Content, survey_page
from deniable.server.pages.visit import Visit
from deniable.server.routes.figures import to_the_end
from deniable.server.routes.parameters import asked_choice


async def plan(visit: Visit) -> web.Response:
    """Answer with the ways to ask, and the reports that each takes."""
    request = visit.request
    asked = await visit.asked()
    width = asked_choice(request, "width", WIDTHS)
    epsilon = asked_choice(request, "epsilon", EPSILONS)

    def made() -> str:
        from deniable.estimates import Accuracy
        from deniable.planning import plan, republished

        values = (survey := asked.newest).values
        span = 1.0 if values is None else float(values[-1] - values[0])
        accuracy = Accuracy.half_width(span * float(width))
        own, free = plan(survey, accuracy), free_epsilon(survey)
        others = plan(republished(survey, epsilon), accuracy) if free else own
        return rendered(visit.page.template, own=own, others=others, free=free, width=width)

    body = await to_the_end(asked.estimating.in_turn(request, lambda: to_thread(made)))
    return await survey_page(visit, asked, Content(body))
