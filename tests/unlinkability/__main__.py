"""The figures of docs/unlinkability.md: ``python -m tests.unlinkability [ACCOUNTS]``."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import mean
from typing import Final

from tests.unlinkability import views
from tests.unlinkability.active import EVERY_SECOND, SLOW
from tests.unlinkability.leaks import LIVED, WRITTEN, Leak
from tests.unlinkability.matcher import TOGETHER, Matcher, join, smallest_share, smallest_shift
from tests.unlinkability.people import HALF, People, always_on, habitual, independent
from tests.unlinkability.views import HIDDEN, JOINED, OF_TWO, View
from tests.unlinkability.world import Setting, World, live

_EPOCHS: Final = 4
_SETS: Final = (5, 20, 100)
_PEOPLE: Final[Mapping[str, People]] = {
    "independent": independent(),
    "always on": always_on,
    "an hour of their own, ± 4 h": habitual(4.0),
    "an hour of their own, ± 1 h": habitual(1.0),
    "an hour of their own, ± 15 min": habitual(0.25),
}
_MORE: Final[Mapping[str, Callable[[int], Setting]]] = {
    "a collector leaves half of the reports": lambda n: Setting(n, _EPOCHS, active=EVERY_SECOND),
    "an issuer leaves requests of half": lambda n: Setting(n, _EPOCHS, active=SLOW),
    "two surveys": lambda n: Setting(n, _EPOCHS, second=0.0),
    "two surveys, staggered": lambda n: Setting(n, _EPOCHS, second=HALF),
}


def main() -> None:
    """Print them; of 500 accounts it takes an hour."""
    accounts = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    honest = _lived(Setting(accounts, _EPOCHS))
    for view in (*HIDDEN, *JOINED, views.access_log_and_collector):
        _show("no leak", view, honest)
    among = views.most_open(honest)
    alone = among.count(1) / len(among)
    print(
        f"apps open at a report: {mean(among):.2f} on average, one alone: {alone:.0%}", flush=True
    )
    for name, setting in _MORE.items():
        world = _lived(setting(max(100, accounts // 5)))
        for view in (*HIDDEN, *OF_TWO):
            _show(name, view, world)
    for name, leak in WRITTEN.items():
        _show(name, views.issuer_and_collector, honest, leak)
    for name, leak in LIVED.items():
        categories = 4 if leak.padded else 300
        world = _lived(Setting(max(40, accounts // 8), _EPOCHS, leak=leak, categories=categories))
        for view in HIDDEN:
            _show(name, view, world)
    for name, people in _PEOPLE.items():
        world = _lived(Setting(max(100, accounts // 4), _EPOCHS, people))
        for view in HIDDEN[:2]:
            print(f"{name}, {view.__name__}: {_found(world, view)}", flush=True)


def _lived(setting: Setting) -> World:
    with tempfile.TemporaryDirectory() as folder:
        return live(setting, Path(folder))


def _show(name: str, view: View, world: World, leak: Leak | None = None) -> None:
    written = (leak or world.setting.leak).written
    verdict = join([written(pairing) for pairing in view(world)])
    if not verdict.pairs:
        print(f"{name}, {view.__name__}: no pairs", flush=True)
        return
    largest = max(verdict.z, key=lambda trait: verdict.z[trait])
    print(
        f"{name}, {view.__name__}: {verdict.hits} of {verdict.pairs} pairs right, "
        f"rank {verdict.rank[TOGETHER]:.3f}, largest z {verdict.z[largest]:.1f} ({largest}), "
        f"caught by {', '.join(sorted(verdict.leaks)) or 'nothing'}; "
        f"sees a shift of {smallest_shift(verdict.pairs):.3f}, "
        f"or {smallest_share(verdict.pairs, verdict.epochs):.1%} of devices",
        flush=True,
    )


def _found(world: World, view: View) -> str:
    """Return the shares of devices that are found among so many."""
    pairings = view(world)
    half, chance = len(pairings) // 2, Random(0)
    matcher = Matcher(pairings[:half])
    shares = []
    for size in _SETS:
        share = matcher.share_found(pairings[half:], size, chance)
        shares.append(f"{share:.1%} of {size} (chance {1 / size:.0%})")
    return ", ".join(shares)


if __name__ == "__main__":
    main()
