"""What an operator should know when a collector starts, though it can serve all the same."""

import time
from collections.abc import Iterator, Mapping, Sequence

from deniable.cli.running import current, running
from deniable.cli.variables import meant, unknown
from deniable.cli.workplace import signed_surveys, with_store
from deniable.messages import Manifest, Refusal
from deniable.server import Config
from deniable.stores import Store

__all__ = ["start_warnings"]


def start_warnings(config: Config, environment: Mapping[str, str]) -> list[str]:
    """Return a line for each thing that is hardly meant so.

    The store is only read; a SQLite file of an older version is migrated, as serving would.

    Args:
        config: the settings.
        environment: the variables.

    Raises:
        StoreError: if the store cannot be opened.
    """

    async def look(store: Store) -> tuple[str | None, list[Manifest], list[Manifest]]:
        moved_to = await store.moved_to()
        try:
            surveys, _ = await signed_surveys(store, config)
        except Refusal:  # rotations that are not sound: the server logs them, and offers the rest
            return moved_to, [], []
        return moved_to, surveys, current(running(surveys, await store.ended(), time.time()))

    moved_to, surveys, asked = with_store(config, look, migrate=True)
    return [
        *_about_variables(environment),
        *_about_move(moved_to),
        *_about_surveys(config, surveys, asked),
    ]


def _about_variables(environment: Mapping[str, str]) -> Iterator[str]:
    for variable in unknown(environment):
        setting = meant(variable)
        if setting is not None:
            yield f"{variable} is no setting, and without effect; is {setting} meant?"


def _about_move(to: str | None) -> Iterator[str]:
    if to is not None:
        yield f"the store was moved to {to}, and takes no report; set `store` to that"


def _about_surveys(
    config: Config, surveys: Sequence[Manifest], asked: Sequence[Manifest]
) -> Iterator[str]:
    for each in asked:
        if each.origin != config.origin:
            yield (
                f"{each.name} is signed for {each.origin}, not for {config.origin}: no device takes"
                " it; put origin back, or publish its file again"
            )
    for name in sorted(config.public - {each.name for each in surveys}):
        yield f"{name!r} in public is not published"
