"""``python -m benchmarks.choosing``: draw the pictures of docs/choosing*.md."""

from collections.abc import Iterable, Iterator
from math import log, log10
from pathlib import Path
from typing import Final

import numpy as np

from deniable.estimates import reports_for_half_width
from deniable.estimates.decoders import decoder_of
from deniable.mechanisms import RandomisedResponse, SurveyMechanism, TwoRound
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import Specification
from deniable.planning import Candidate, best, best_fresh, candidates
from deniable.planning.candidates import lower_bound
from deniable.planning.specification import specified

_DOCS: Final = Path(__file__).parents[1] / "docs"

_COLOURS: Final = {
    "randomised-response": "#8a8f98",
    "subset": "#d98200",
    "affine": "#1769aa",
    "difference-set": "#2e8b57",
}
_INK: Final = "#222"

_SIZES: Final = (
    *(2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 50, 105, 128, 256, 512, 1024, 2048, 4096),
    *(10_000, 16_384, 32_768, 65_536),
)
_EPSILONS: Final = ("0.25", "0.5", "0.75", "1", "1.5", "2", "2.5", "3", "3.5", "4", "5", "6")

_ERROR: Final = 0.01
"""The standard error, as a root mean square over the categories, for which users are counted."""


def main() -> None:
    """Draw them."""
    for name, svg in (
        ("kinds", _kinds()),
        ("users", _users()),
        ("repeated", _repeated()),
        ("distributions", _distributions()),
        ("epsilon", _of_hundred()),
    ):
        target = _DOCS / f"choosing-{name}.svg"
        target.write_text(svg, "utf-8")
        print(target)


def _of_hundred() -> str:
    """Return of 100 devices with five answers how many send the true one, by epsilon."""
    side, gap, left, top = 12, 3, 24, 66
    wide = 10 * (side + gap)
    title = "Of 100 devices with five answers, how many send the true one by randomised response"
    parts = [_text(16, 26, title, 15)]
    for column, epsilon in enumerate(("0.5", "1", "2", "4", "8")):
        mechanism, x = RandomisedResponse(5, epsilon), left + column * (wide + 24)
        truth = float(mechanism.truth) * 100
        parts.append(_text(x, top - 14, f"epsilon {epsilon}", 13))
        parts += [
            _box(
                x + number % 10 * (side + gap),
                top + number // 10 * (side + gap),
                side,
                side,
                _COLOURS["affine"] if number < round(truth) else "#d5d9df",
            )
            for number in range(100)
        ]
        sent = f"{truth:.1f}" if truth > 99 else f"{truth:.0f}"
        reports = reports_for_half_width(best(5, epsilon).mechanism(), 0.02)
        parts.append(_text(x, top + wide + 18, f"{sent} send the truth", 12))
        parts.append(_text(x, top + wide + 36, f"± 2 points: {reports:,} reports", 11))
    return _svg(left + 5 * (wide + 24), top + wide + 56, parts)


def _randomised_response(categories: int, epsilon: float, largest_share: float) -> float:
    plain = Candidate("randomised-response", categories, categories, 1, 0)
    return plain.cost(epsilon, 0.0, largest_share)


def _kinds() -> str:
    """Return the table of the kinds that ``best`` chooses, and how much they save."""
    wide, high, left, top = 38, 30, 60, 74
    title = "The mechanism chosen, and how many times its users randomised response needs"
    parts = [_text(16, 24, title, 15)]
    for number, (kind, colour) in enumerate(_COLOURS.items()):
        x = left + 190 * number
        parts += [_box(x, 38, 14, 14, colour), _text(x + 20, 50, kind.replace("-", " "), 12)]
    for row, epsilon in enumerate(reversed(_EPSILONS)):
        y = top + high * row
        parts.append(_text(left - 8, y + 20, epsilon, 11, "end"))
        for column, k in enumerate(_SIZES):
            choice = best(k, epsilon)
            plain = _randomised_response(k, float(epsilon), choice.largest_share)
            times = max(1.0, plain / choice.cost)
            # From pale, where randomised response is as good, to full at 1,000 times its users.
            shade = min(1.0, 0.25 + 0.25 * log10(times))
            x = left + wide * column
            colour = _COLOURS[choice.candidate.kind]
            ink = "#fff" if shade > 0.7 else _INK
            parts += [
                _box(x, y, wide - 1, high - 1, colour, shade),
                _text(x + wide / 2, y + 19, _short(times), 10, "middle", ink),
            ]
    bottom = top + high * len(_EPSILONS)
    for column, k in enumerate(_SIZES):
        middle = left + wide * column + wide / 2
        parts.append(_text(middle, bottom + 16, f"{k:,}", 9, "middle"))
    parts += [
        _text(left + wide * len(_SIZES) / 2, bottom + 36, "categories, k", 12, "middle"),
        _text(left - 8, top - 8, "epsilon", 12, "end"),
    ]
    return _svg(left + wide * len(_SIZES) + 16, bottom + 48, parts)


def _short(times: float) -> str:
    if times >= 1000:
        return f"{times / 1000:.1f}k" if times < 10_000 else f"{times / 1000:.0f}k"
    return f"{times:.0f}" if times >= 10 else f"{times:.1f}"


def _users() -> str:
    """Return the curves of the users that each kind needs, beside the bound."""
    title = f"Users for a standard error of {100 * _ERROR:.0f} percentage point a category"
    parts = [_text(16, 24, title, 15)]
    for number, epsilon in enumerate((1.0, 3.0)):
        parts += _panel(70 + 430 * number, 60, epsilon)
    return _svg(880, 440, parts)


_SIDES: Final = 340, 310
_MOST_CATEGORIES: Final = 65_536
_LEAST_USERS: Final = 1e2
_MOST_USERS: Final = 1e9


def _panel(left: int, top: int, epsilon: float) -> Iterator[str]:
    wide, high = _SIDES

    def at(k: float, users: float) -> tuple[float, float]:
        across = log10(k / 2) / log10(_MOST_CATEGORIES / 2)
        up = log10(users / _LEAST_USERS) / log10(_MOST_USERS / _LEAST_USERS)
        return left + wide * across, top + high * (1 - up)

    yield _text(left + wide / 2, top - 10, f"epsilon {epsilon:g}", 13, "middle")
    for power in range(2, 10):
        x, y = at(2, 10**power)
        yield _line([(x, y), (x + wide, y)], "#ddd", 1)
        yield _text(x - 6, y + 4, f"10{_superscript(power)}", 11, "end")
    for k in (2, 16, 128, 1024, 8192, 65_536):
        x, y = at(k, _LEAST_USERS)
        yield _line([(x, y), (x, y + 5)], _INK, 1)
        yield _text(x, y + 18, f"{k:,}", 11, "middle")
    yield _text(left + wide / 2, top + high + 38, "categories, k", 12, "middle")
    sizes = sorted({round(2 * 32_768 ** (i / 60)) for i in range(61)})
    bounds = [(k, lower_bound(k, epsilon)) for k in sizes]
    curves: dict[str, list[tuple[int, float]]] = {
        kind: [] for kind in ("randomised-response", "subset", "affine")
    }
    lines: list[str] = []
    for k in sizes:
        for kind, cost in _best_of_kinds(k, epsilon).items():
            if kind in curves:
                curves[kind].append((k, cost))
    # Where they meet, each is seen beside the next.
    for width, (kind, points) in zip((2, 3.5, 6), curves.items(), strict=True):
        lines.append(_line([at(*_needed(*point)) for point in points], _COLOURS[kind], width))
    yield from reversed(lines)
    yield _line([at(*_needed(*point)) for point in bounds], _INK, 1.2, dashed=True)
    ends = {"randomised-response": "randomised response", "affine": "affine"}
    for kind, name in ends.items():
        x, y = at(*_needed(*curves[kind][-1]))
        yield _text(x - (4 if kind == "affine" else 24), y - 9, name, 12, "end", _COLOURS[kind])
    x, y = at(*_needed(*curves["subset"][-1]))
    yield _text(x, y + 20, "subset", 12, "start", _COLOURS["subset"])
    x, y = at(*_needed(*bounds[-1]))
    yield _text(x - 4, y + 18, "the least possible", 12, "end")


def _distributions() -> str:
    """Return the curves of the users that shares up to an answer take, of ordered answers."""
    title = "Ordered answers at epsilon 1: users for a standard error of 1 percentage point"
    (wide, high), (left, top), (least, most) = (620, 310), (80, 60), (1e4, 1e8)
    sizes = (6, 8, 12, 16, 24, 32, 49, 64, 100, 128, 200, 256, 400, 512, 1024)

    def at(k: float, users: float) -> tuple[float, float]:
        across = log10(k / sizes[0]) / log10(sizes[-1] / sizes[0])
        return left + wide * across, top + high * (1 - log10(users / least) / log10(most / least))

    parts = [_text(16, 24, title, 15), _text(left - 8, top - 12, "users", 12, "end")]
    for power in range(4, 9):
        x, y = at(sizes[0], 10**power)
        parts += [_line([(x, y), (x + wide, y)], "#ddd", 1)]
        parts += [_text(x - 6, y + 4, f"10{_superscript(power)}", 11, "end")]
    for k in (6, 16, 49, 128, 256, 512, 1024):
        x, y = at(k, least)
        parts.append(_text(x, y + 18, f"{k:,}", 11, "middle"))
    parts.append(_text(left + wide / 2, top + high + 38, "ordered answers, k", 12, "middle"))
    for name, colour, mechanism in (
        ("randomised response", _COLOURS["randomised-response"], _plain),
        ("one design", _COLOURS["affine"], _design),
        ("levels", "#2a8a43", _levels),
    ):
        users = [(k, _prefix_variance(mechanism(k)) / _ERROR**2) for k in sizes]
        shown = [(k, count) for k, count in users if count <= most]
        parts.append(_line([at(*point) for point in shown], colour, 2.5))
        x, y = at(*shown[-1])
        parts.append(_text(x + 6, y + 4, name, 12, "start", colour))
    return _svg(left + wide + 160, top + high + 60, parts)


def _plain(categories: int) -> SurveyMechanism:
    return RandomisedResponse(categories, "1")


def _design(categories: int) -> SurveyMechanism:
    return best(categories, "1").mechanism()


def _levels(categories: int) -> SurveyMechanism:
    return specified("levels", categories, "1").mechanism(categories, "1", "0")


def _prefix_variance(mechanism: SurveyMechanism) -> float:
    """Return the mean n Var of the shares up to an answer, of equally frequent answers."""
    decoder, k = decoder_of(mechanism), mechanism.categories
    shares, total = decoder.even_shares, 0.0
    for weights in np.array_split(np.tri(k)[:-1], -(-k * mechanism.responses // _MOST_KERNELS)):
        kernels = decoder.kernels(weights)
        total += float(((kernels**2) @ shares - (kernels @ shares) ** 2).sum())
    return total / (k - 1)


_MOST_KERNELS: Final = 1 << 24


def _repeated() -> str:
    """Return what reports of a constant answer reveal, and the users that a kept level takes."""
    title = (
        "Kept responses at epsilon 1 a report: what reports reveal together, and users they take"
    )
    parts = [_text(16, 24, title, 15), *_revealed(70, 60), *_kept_levels(500, 60)]
    return _svg(880, 440, parts)


_KEPT: Final = "4"
_PLANNED: Final = 30


def _revealed(left: int, top: int) -> Iterator[str]:
    """Yield the panel of the epsilon of 1 to 12 reports about one of 105 answers."""
    (wide, high), reports, most = _SIDES, range(1, 13), 8

    def at(count: float, epsilon: float) -> tuple[float, float]:
        return left + wide * (count - 1) / (len(reports) - 1), top + high * (1 - epsilon / most)

    yield _text(left + wide / 2, top - 10, f"105 answers, kept {_KEPT}", 13, "middle")
    for epsilon in range(0, most + 1, 2):
        x, y = at(1, epsilon)
        yield _line([(x, y), (x + wide, y)], "#ddd", 1)
        yield _text(x - 6, y + 4, f"{epsilon}", 11, "end")
    for count in (1, 2, 4, 6, 8, 10, 12):
        x, y = at(count, 0)
        yield _text(x, y + 18, f"{count}", 11, "middle")
    yield _text(left + wide / 2, top + high + 38, "reports of a constant answer", 12, "middle")
    yield _text(left - 8, top - 8, "epsilon", 12, "end")
    bound = lower_bound(105, 1.0)
    ways = (
        (SINGLE, _COLOURS["randomised-response"], 40),
        (best_fresh(105, "1", _KEPT, _PLANNED, 0.0), _COLOURS["affine"], 64),
    )
    yield _line([at(count, count) for count in range(1, most + 1)], _INK, 1.5, dashed=True)
    yield _text(*at(6.1, 7.4), "drawn afresh each time", 12, "end")
    for fresh, colour, below in ways:
        parameters = {"kept": _KEPT, "fresh": fresh}
        made = Specification("two-round", parameters).mechanism(105, "1", "0")
        assert isinstance(made, TwoRound)
        levels = [(count, log(made.constant_odds(count))) for count in reports]
        yield _line([at(*level) for level in levels], colour, 2.5)
        x, y = at(12, 4)
        times = Candidate.of_answering(105, fresh).cost(1.0) / bound
        name = "one answer" if fresh == SINGLE else f"{made.design.block} answers"
        text = f"sets of {name}: {times:.3g} × the fewest users"
        yield _text(x, y + below, text, 12, "end", colour)


def _kept_levels(left: int, top: int) -> Iterator[str]:
    """Yield the panel of the users over the fewest possible, by the level that is kept."""
    (wide, high), least, most, ends = _SIDES, 1.0, 9.0, 1000.0
    levels = [1.25 + 0.25 * step for step in range(32)]

    def at(kept: float, times: float) -> tuple[float, float]:
        up = log10(times) / log10(ends)
        return left + wide * (kept - least) / (most - least), top + high * (1 - up)

    yield _text(left + wide / 2, top - 10, "users over the fewest possible", 13, "middle")
    for power in range(4):
        x, y = at(least, 10**power)
        yield _line([(x, y), (x + wide, y)], "#ddd", 1)
        yield _text(x - 6, y + 4, f"{10**power:,}", 11, "end")
    for mark in range(1, 10):
        x, y = at(mark, 1)
        yield _text(x, y + 18, f"{mark}", 11, "middle")
    yield _text(left + wide / 2, top + high + 38, "epsilon that is kept", 12, "middle")
    for k in (10_000, 1024, 105, 26):
        bound, points = lower_bound(k, 1.0), []
        for kept in levels:
            fresh = best_fresh(k, "1", f"{kept:g}", _PLANNED, 0.0)
            points.append((kept, Candidate.of_answering(k, fresh).cost(1.0) / bound))
        yield _line([at(*point) for point in points], _COLOURS["affine"], 2)
        x, y = at(*points[3])
        yield _text(x - 28, y + 16, f"k = {k:,}", 12, "start", _COLOURS["affine"])


def _best_of_kinds(categories: int, epsilon: float) -> dict[str, float]:
    """Return the least cost of each kind."""
    costs: dict[str, float] = {}
    for each in candidates(categories, epsilon):
        costs[each.kind] = min(each.cost(epsilon), costs.get(each.kind, float("inf")))
    return costs


def _needed(categories: int, cost: float) -> tuple[int, float]:
    return categories, cost / categories / _ERROR**2


def _superscript(number: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))


def _box(x: float, y: float, wide: float, high: float, colour: str, shade: float = 1.0) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"'
        f' fill="{colour}" fill-opacity="{shade:.2f}"/>'
    )


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", colour: str = _INK
) -> str:
    return (
        f'<text x="{x:g}" y="{y:.4g}" font-size="{size}" text-anchor="{anchor}"'
        f' fill="{colour}">{text}</text>'
    )


def _line(
    points: Iterable[tuple[float, float]], colour: str, width: float, *, dashed: bool = False
) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}"'
        f' stroke-width="{width:g}"{dashes}/>'
    )


def _svg(wide: float, high: float, parts: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}"'
            f' width="{wide:g}" height="{high:g}" font-family="system-ui, sans-serif">',
            _box(0, 0, wide, high, "#fff"),
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main()
