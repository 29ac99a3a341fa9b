"""The published manifests that a device follows, and their cost, by the device's own rules."""

import math
from collections.abc import Sequence
from typing import Final

from deniable.budget import DEFAULT_LIFETIME_EPSILON, NANO
from deniable.client import Survey
from deniable.client.ledger.admission import fits_declaration
from deniable.client.ledger.allowance import Reservation
from deniable.client.ledger.following import chosen_of
from deniable.messages import Manifest
from deniable.messages.bundle import declaration_of

CEILING: Final = DEFAULT_LIFETIME_EPSILON * NANO
"""The lifetime ceiling of devices unless their app sets another, in units of 1e-9 epsilon."""


def declared(manifest: Manifest) -> Survey:
    """Return the declaration that `survey publish` prints for a manifest."""
    return Survey.declared(declaration_of(manifest))


def followed(survey: Survey, offered: Sequence[Manifest], now: float) -> list[Manifest]:
    """Return the running manifests that a declaration accepts: the newest begun, and the next."""
    return chosen_of(
        (
            manifest
            for manifest in offered
            if manifest.name == survey.name and fits_declaration(manifest, survey)
        ),
        now,
    )


def epochs_left(manifest: Manifest, now: float) -> int:
    """Return how many epochs are not over."""
    schedule = manifest.schedule
    over = max(0, int((now - schedule.start) // schedule.epoch_seconds))
    return max(0, schedule.epochs - over)


def reserved(follows: Sequence[Manifest], now: float) -> int:
    """Return the sum that a device reserves for manifests that it follows, in 1e-9 epsilon.

    The sum covers epochs that are not over and begin before the next manifest replaces theirs.
    """
    begins = [manifest.schedule.start for manifest in follows[1:]]
    return sum(
        Reservation.of(manifest).ahead(now, until=until)
        for manifest, until in zip(follows, [*begins, math.inf], strict=False)
    )


def reserved_by_all(offered: Sequence[Manifest], now: float) -> int:
    """Return the most that a device reserves if it declares each running name.

    For each name, the most expensive declaration counts, since an app has only one declaration.
    Earlier spending of the device is not included.
    """
    most: dict[str, int] = {}
    for manifest in offered:
        costs = reserved(followed(declared(manifest), offered, now), now)
        most[manifest.name] = max(most.get(manifest.name, 0), costs)
    return sum(most.values())
