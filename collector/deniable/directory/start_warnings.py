"""Warnings for an operator when a collector starts, though it can serve all the same."""

import time
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from deniable.directory.collector_directory import signed_surveys, with_store
from deniable.directory.settings import SETTINGS, Config
from deniable.directory.states import current, running
from deniable.messages import Manifest, Refusal
from deniable.stores import Store

_PREFIX: Final = "DENIABLE_"
_OTHERS: Final = frozenset({"DENIABLE_DIR", "DENIABLE_CONSENT", "DENIABLE_DEBUG"})
_LIKENESS: Final = 0.7
"""Of PROT and PORT. What Kubernetes sets, such as PORT_8377_TCP, is less like any."""

VARIABLES: Final = frozenset(
    variable for setting in SETTINGS for variable in (setting.variable, f"{setting.variable}_FILE")
)
"""Every environment variable that is a setting."""


def start_warnings(config: Config, environment: Mapping[str, str]) -> list[str]:
    """Return a line for each thing that is hardly meant so.

    The store is only read; a SQLite file of an older version is migrated, as serving would.

    Raises:
        StoreError: if the store cannot be opened.
    """

    async def look(store: Store) -> list[str]:
        warnings = list(_about_variables(environment))
        to = await store.moved_to()
        if to is not None:
            warnings.append(
                f"the store was moved to {to}, and takes no report; set `store` to that, once"
                " deniable store move is done"
            )
        try:
            surveys, _ = await signed_surveys(store, config)
        except Refusal:  # rotations that are not sound: the server logs them, and offers the rest
            surveys, offered = [], []
        else:
            offered = current(running(surveys, await store.ended(), time.time()))
        return [*warnings, *_about_surveys(config, surveys, offered)]

    return with_store(config, look, migrate=True)


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return the variables that look like ours and are not, sorted."""
    ours = {name for name in environment if name.startswith(_PREFIX)}
    return sorted(ours - VARIABLES - _OTHERS)


def _about_variables(environment: Mapping[str, str]) -> Iterator[str]:
    names = [name.removeprefix(_PREFIX) for name in sorted(VARIABLES)]
    for variable in unknown_variables(environment):
        for meant in get_close_matches(variable.removeprefix(_PREFIX), names, 1, _LIKENESS):
            yield f"{variable} is no setting, and without effect; is {_PREFIX}{meant} meant?"


def _about_surveys(
    config: Config, surveys: Iterable[Manifest], offered: Iterable[Manifest]
) -> Iterator[str]:
    for survey in offered:
        if survey.origin != config.origin:
            yield (
                f"{survey.name} is signed for {survey.origin}, not for {config.origin}: no device"
                " takes it; put origin back, or publish its file again"
            )
    published = {survey.name for survey in surveys}
    for setting in ("public", "metrics_surveys"):
        for name in sorted(getattr(config, setting) - published):
            yield f"{name!r} in {setting} is not published"
