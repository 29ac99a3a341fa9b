"""The store and what is published in it: its schema, its order, surveys that need somebody."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from deniable.cli.doctor.finding import Finding, bad, doubtful, good
from deniable.cli.workplace import published, with_store
from deniable.messages import Manifest, Refusal
from deniable.server import Config, authority_chain
from deniable.stores import Seal, Store, StoreError
from deniable.stores.sqlite.migrating import VERSION

__all__ = ["Looked", "check_schema", "judge_surveys", "look_into_store"]

_QUICK_BYTES = 64 << 20
_ENDING_DAYS = 7
_OVERDUE_SECONDS = 3_600.0

Looked = tuple[list[Finding], bytes]
"""What was found in the store, and the public key that signs now."""


def check_schema(config: Config) -> Finding | None:
    """Check that the store is there and of this version, without changing it; None if it is."""
    file = config.store
    if not isinstance(file, Path):
        return None
    if not file.exists():
        return bad("store", f"{file} does not exist", "is `store` right? deniable init makes one")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            (found,) = opened.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        return bad("store", f"{file} cannot be read ({error})", "is it a store? restore a backup")
    if found > VERSION:
        return bad("store", f"schema {found}, written by a newer deniable", "upgrade deniable")
    if found < VERSION:
        return doubtful(
            "store",
            f"schema {found}; this version brings it to {VERSION} when it serves",
            "back it up first; then serve, and ask the doctor again",
        )
    return None


def look_into_store(config: Config, now: float) -> Looked:
    """Open the store and look at its order and surveys; the server may be running."""

    async def look(store: Store) -> Looked:
        await store.ping()
        findings = [good("store", _where(config))]
        if isinstance(config.store, Path) and config.store.stat().st_size <= _QUICK_BYTES:
            findings.append(_judge_order(await store.check()))
        else:
            findings.append(good("recount", "left out, being long: deniable store check"))
        chain = await authority_chain(store, config.authority)
        surveys = await published(store, config)
        ended = await store.ended()
        seals = {each.survey_id: await store.seals(each.survey_id) for each in surveys}
        findings += judge_surveys(surveys, seals, ended, now)
        return findings, chain[-1]

    try:
        return with_store(config, look)
    except Refusal as refusal:
        return [bad("store", f"its rotations are not sound: {refusal}", _RESTORE)], config.authority
    except (StoreError, OSError) as error:
        return [bad("store", " ".join(str(error).split()), _RESTORE)], config.authority


_RESTORE = "restore a backup, or see docs/operations.md"


def _where(config: Config) -> str:
    if not isinstance(config.store, Path):
        return "PostgreSQL answers"
    return f"{config.store}, {config.store.stat().st_size / 2**20:,.1f} MiB, schema {VERSION}"


def _judge_order(faults: list[str]) -> Finding:
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        return bad("recount", faults[0] + more, "deniable store check lists all; keep a copy")
    return good("recount", "counts are those of the receipts and seals")


def judge_surveys(
    surveys: list[Manifest],
    seals: dict[bytes, list[Seal]],
    ended: dict[bytes, int],
    now: float,
) -> Iterator[Finding]:
    """Judge what is published.

    Args:
        surveys: by name, the newest first.
        seals: of each, by its id.
        ended: when surveys were ended, by their ids.
        now: Unix seconds.
    """
    newest: dict[str, Manifest] = {}
    for manifest in surveys:
        newest.setdefault(manifest.name, manifest)
    if not newest:
        yield doubtful("surveys", "none is published", "deniable survey publish FILE")
        return
    soon = {
        name: manifest.schedule.end
        for name, manifest in newest.items()
        if manifest.survey_id not in ended
        and now <= manifest.schedule.end < now + _ENDING_DAYS * 86_400
    }
    if soon:
        name = min(soon, key=soon.__getitem__)
        yield doubtful(
            "surveys",
            f"{len(newest)} published; {name} ends on {_day(soon[name])}",
            "publish a successor, if it is to go on",
        )
    else:
        running = sum(
            each.survey_id not in ended and now <= each.schedule.end for each in newest.values()
        )
        yield good("surveys", f"{len(newest)} published, {running} still to take reports")
    overdue = [
        (manifest, epoch) for manifest in surveys for epoch in _overdue(manifest, seals, now)
    ]
    if overdue:
        manifest, epoch = overdue[0]
        yield doubtful(
            "seals",
            f"{len(overdue)} overdue, such as epoch {epoch} of {manifest.name}",
            "deniable serve sets them by the clock, unless upkeep_seconds is 0: does it run?",
        )
    else:
        yield good("seals", "every epoch that is over is sealed")


def _overdue(manifest: Manifest, seals: dict[bytes, list[Seal]], now: float) -> Iterator[int]:
    standing = {seal.epoch for seal in seals.get(manifest.survey_id, [])}
    schedule = manifest.schedule
    for epoch in range(schedule.epochs):
        if schedule.closes(epoch) + _OVERDUE_SECONDS > now:
            return
        if epoch not in standing:
            yield epoch


def _day(when: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(when))
