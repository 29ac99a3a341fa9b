"""``GET /metrics``: the meters as Prometheus reads them, in its text format 0.0.4.

No series is of one survey: its figures would then be shown report by report.
"""

import asyncio
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import accumulate, chain
from typing import Final

from aiohttp import web

from deniable.server.gauges import GAUGES, Gauges
from deniable.server.meters import Meter, Meters
from deniable.server.routing import Route
from deniable.server.tokens import require_role
from deniable.stores import Role, Store

__all__ = ["BUILD_INFO", "METRICS_TYPE", "exposed_name", "exposition", "metrics_route"]

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUILD_INFO: Final = Meter(
    "build_info", "gauge", "always 1; its labels say what runs: version, python, event_loop"
)


def metrics_route(meters: Meters, gauges: Gauges, store: Store | None = None) -> Route:
    """Return the route.

    Args:
        meters: what is counted.
        gauges: what is measured.
        store: knows the tokens of operators, who may read it; None for anyone.
    """

    async def answer(request: web.BaseRequest, _: str) -> web.Response:
        if store is not None:
            await require_role(request, store, Role.OPERATOR)
        labels = {
            "version": version("deniable"),
            "python": platform.python_version(),
            "event_loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
        }
        return web.Response(
            body=exposition(meters, await gauges.read(), labels).encode(),
            headers={"Content-Type": METRICS_TYPE},
        )

    return Route("GET", "/metrics", answer)


def exposed_name(meter: Meter) -> str:
    """Return a meter's name as Prometheus gets it."""
    return f"deniable_{meter.name}{'_total' if meter.kind == 'counter' else ''}"


def exposition(meters: Meters, measured: Mapping[str, float], build: Mapping[str, str]) -> str:
    """Return the text.

    Args:
        meters: what is counted.
        measured: values of gauges, by name.
        build: labels of ``deniable_build_info``, without quotes, backslashes and line breaks.
    """
    lines = [*_heading(BUILD_INFO)]
    lines.append(f"{exposed_name(BUILD_INFO)}{_labels(**build)} 1")
    gauges = ((gauge, [measured[gauge.name]]) for gauge in GAUGES if gauge.name in measured)
    for meter, numbers in chain(meters.totals(), gauges):
        lines += _heading(meter)
        lines += _samples(meter, numbers)
    return "\n".join(lines) + "\n"


def _heading(meter: Meter) -> Iterator[str]:
    name = exposed_name(meter)
    yield f"# HELP {name} {meter.meaning}"
    yield f"# TYPE {name} {meter.kind}"


def _samples(meter: Meter, numbers: list[float]) -> Iterator[str]:
    name = exposed_name(meter)
    if meter.kind != "histogram":
        for values, number in zip(meter.values, numbers, strict=True):
            labels = dict(zip(meter.labels, values, strict=True))
            if number or len(labels) < 2:  # most pairs of values never come together
                yield f"{name}{_labels(**labels) if labels else ''} {number:.17g}"
        return
    *buckets, total = numbers
    ends = [*(f"{bound:g}" for bound in meter.bounds), "+Inf"]
    for end, number in zip(ends, accumulate(buckets), strict=True):
        yield f"{name}_bucket{_labels(le=end)} {number:.17g}"
    yield f"{name}_sum {total:.17g}"
    yield f"{name}_count {sum(buckets):.17g}"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
