"""Pictures of a plan: the users that each way to ask needs, on logarithmic axes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import ceil, floor, inf, log10
from typing import Final

from deniable.estimates import Accuracy
from deniable.estimates.charts import Markup, Picture
from deniable.estimates.charts.svg import element, label, picture
from deniable.messages import InvalidManifest, Manifest
from deniable.planning.planned import Drafts, Plan
from deniable.planning.ways import AS_IN_FILE, BEST, PLAIN, UNPROTECTED, ways_to_ask

_Points = Sequence[tuple[float, float]]
_At = Callable[[float, float], tuple[float, float]]

_EPSILONS: Final = (
    *("0.1", "0.13", "0.16", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "1"),
    *("1.3", "1.6", "2", "2.5", "3", "3.5", "4", "5", "6", "7", "8"),
)
_SIZES: Final = tuple(10 ** (step / 10) for step in range(-7, 8))
"""By how much a size is made smaller and larger."""

_CLASSES: Final = {AS_IN_FILE: "own", PLAIN: "plain", BEST: "best", UNPROTECTED: "open"}
_LEFT, _TOP, _WIDE, _HIGH = 92, 48, 400, 300
_WHOLE: Final = (700, 402)


def users_by_epsilon(made: Plan, drafts: Drafts, share: float | None = None) -> Picture:
    """Return the users that each way needs against epsilon, at the plan's accuracy."""
    lines: dict[str, list[tuple[float, float]]] = {title: [] for title in _CLASSES}
    for epsilon in _EPSILONS:
        # Not every survey has every epsilon: a matrix's own, two rounds below that of the first.
        with suppress(InvalidManifest):
            for title, variance in _variances(drafts(epsilon), share).items():
                if variance < inf:
                    lines[title].append((float(epsilon), made.accuracy.reports(variance)))
    return _drawn(made, "epsilon of a report", lines, float(made.manifest.epsilon))


def users_by_size(made: Plan, across: str, unit: float = 1.0) -> Picture:
    """Return the users that each way needs against what is to be reached, named ``across``.

    In units of which each is so large.
    """
    size, scale = made.accuracy.size, made.accuracy.scale
    lines = {
        way.title: [
            (size * times / unit, Accuracy(size * times, scale).reports(way.variance))
            for times in _SIZES
        ]
        for way in made.ways
        if way.variance < inf
    }
    return _drawn(made, across, lines, size / unit)


def _variances(manifest: Manifest, share: float | None) -> dict[str, float]:
    """Return the variance of each way, also where two of them are the same."""
    variances = {way.title: way.variance for way in ways_to_ask(manifest, share)}
    variances.setdefault(PLAIN, variances[AS_IN_FILE])
    if manifest.values is None:
        variances.setdefault(BEST, min(variances[AS_IN_FILE], variances[PLAIN]))
    return variances


def _drawn(made: Plan, across: str, lines: Mapping[str, _Points], mark: float) -> Picture:
    # A line that lies on another one is the same way.
    drawn = {
        title: points
        for number, (title, points) in enumerate(lines.items())
        if points and points not in [*lines.values()][:number]
    }
    xs = [x for points in drawn.values() for x, _ in points]
    ys = [y for points in drawn.values() for _, y in points]
    low = floor(log10(min(ys)))
    high = max(ceil(log10(max(ys))), low + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        right = log10(x / min(xs)) / log10(max(xs) / min(xs))
        up = (log10(y) - low) / (high - low)
        return _LEFT + _WIDE * right, _TOP + _HIGH * (1 - up)

    title = f"Users needed: {made.manifest.question}"
    parts = [*_axes(at, range(low, high + 1), min(xs), max(xs), across)]
    for name, points in drawn.items():
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        parts.append(element("polyline", points=path, cls=f"line {_CLASSES[name]}"))
    parts += _names((at(*points[-1])[1], name) for name, points in drawn.items())
    needed, summary = made.reports(made.ways[0]), ""
    if needed is not None and min(xs) <= mark <= max(xs):
        summary = f"As in the file, at {across} {mark:g}: {needed:,} users."
        x, y = at(mark, needed)
        parts.append(element("circle", cx=x, cy=y, r=5, cls="dot"))
        parts.append(element("text", f"{needed:,}", x=x + 9, y=y - 7, cls="over"))
    heading = label(title, _WHOLE[0] - 32, x=16, y=26, cls="heading")
    return Picture(picture(*_WHOLE, title, summary, heading, *parts))


def _axes(at: _At, powers: range, least: float, most: float, across: str) -> Iterator[Markup]:
    for power in powers:
        x, y = at(least, 10**power)
        yield element("path", d=f"M{x:.1f} {y:.1f}h{_WIDE}", cls="grid")
        yield element("text", _short(power), x=x - 8, y=y + 4, cls="end note")
    for tick in _ticks(least, most):
        x, y = at(tick, 10.0 ** powers[0])
        yield element("path", d=f"M{x:.1f} {y:.1f}v-{_HIGH}", cls="grid")
        yield element("text", f"{tick:g}", x=x, y=y + 18, cls="middle note")
    yield element("text", across, x=_LEFT + _WIDE / 2, y=_TOP + _HIGH + 42, cls="middle")


def _ticks(least: float, most: float) -> list[float]:
    """Return the numbers 1, 2 or 5 times a power of ten within the range."""
    powers = range(floor(log10(least)), ceil(log10(most)) + 1)
    listed = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [tick for tick in listed if least * 0.999 <= tick <= most * 1.001]


def _names(ends: Iterable[tuple[float, str]]) -> Iterator[Markup]:
    """Yield the names of the lines beside their ends, one below the other."""
    free = 0.0
    for y, name in sorted(ends):
        y = max(y + 4, free)
        free = y + 17
        yield element("text", name, x=_LEFT + _WIDE + 10, y=y, cls=f"way {_CLASSES[name]}")


def _short(power: int) -> str:
    if power < 6:
        return f"{10**power:,}"
    return f"{10 ** (power - 6):,} million" if power < 12 else f"10^{power}"
