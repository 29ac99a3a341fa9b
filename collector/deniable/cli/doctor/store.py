"""The store: its schema, its order, and what is published in it."""

import shlex
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from deniable.cli.doctor.finding import Finding, bad, doubtful, good
from deniable.cli.doctor.rights import check_rights
from deniable.cli.doctor.surveys import (
    judge_declarations,
    judge_issuers,
    judge_lifetime,
    judge_origin,
    judge_signatures,
    judge_surveys,
)
from deniable.messages import Refusal
from deniable.publishing.collector_directory import signed_surveys, with_store
from deniable.publishing.states import current, running
from deniable.server import Config, authority_chain
from deniable.server.life.upkeep import AGREEMENT_SECONDS
from deniable.server.operations.gauges import all_overdue
from deniable.stores import (
    NotAdmitted,
    Overloaded,
    Store,
    StoreError,
    StoreFull,
    StoreMoved,
    UnknownSchema,
    Unreachable,
)
from deniable.stores.sqlite.database import VERSION

_QUICK_BYTES = 64 << 20

Looked = tuple[list[Finding], bytes]
"""What was found in the store, and the public key that signs now."""


def check_schema(config: Config) -> Finding | None:
    """Check that the store is there and of this version, without changing it; None if it is."""
    file = config.store
    if not isinstance(file, Path):
        return None
    try:
        unwritable = check_rights(file)
    except FileNotFoundError:
        return bad(
            "store",
            f"{file} does not exist",
            "is `store` right? If it is lost: deniable store restore BACKUP; or, for an empty one,"
            f" touch {shlex.quote(str(file))}, then deniable store migrate",
        )
    except PermissionError as error:
        return bad("store", f"{file}: {error.strerror}", "run this as the user who serves")
    if unwritable is not None:
        return unwritable
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            (found,) = opened.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        return bad("store", f"{file} cannot be read ({error})", _remedy_of_file(error))
    if found > VERSION:
        return bad("store", f"schema {found}, written by a newer deniable", "upgrade deniable")
    if found < VERSION:
        return doubtful(
            "store",
            f"schema {found}; this version brings it to {VERSION} when it serves",
            "deniable store backup FILE; then deniable store migrate, or serve",
        )
    return None


def look_into_store(config: Config, now: float) -> Looked:
    """Open the store and look at its order and surveys; the server may be running."""

    async def look(store: Store) -> Looked:
        await store.ping()
        findings = [good("store", _where(config)), _judge_clock(await store.time() - time.time())]
        if isinstance(config.store, Path) and config.store.stat().st_size <= _QUICK_BYTES:
            findings.append(_judge_order(await store.check()))
        else:
            findings.append(good("recount", "left out, being long: deniable store check"))
        chain = await authority_chain(store, config.authority)
        surveys, others = await signed_surveys(store, config)
        ended = await store.ended()
        asked = running(surveys, ended, now)
        overdue, distrusted = await all_overdue(store, surveys, now), await store.distrusted()
        findings += [
            judge_signatures(others, others + len(surveys)),
            *judge_surveys(surveys, overdue, ended, now),
            judge_origin(current(asked), config.origin),
            judge_issuers(asked, distrusted),
            judge_lifetime(asked, now),
            judge_declarations(asked, now),
        ]
        return findings, chain[-1]

    try:
        return with_store(config, look)
    except Refusal as refusal:
        return [bad("store", f"its rotations are not sound: {refusal}", _RESTORE)], config.authority
    except (StoreError, OSError) as error:
        told = bad("store", " ".join(str(error).split()), _remedy(config, error))
        return [told], config.authority


_RESTORE = (
    "stop the server, empty the store (move its file and those beside it away, or drop the schema"
    " deniable), then: deniable store restore BACKUP; docs/operations.md tells what is lost"
)


def _remedy(config: Config, error: Exception) -> str:
    match error:
        case StoreFull():
            return "make room on the store's disk: reports are refused until then (HTTP 507)"
        case StoreMoved():
            return (
                "set `store` to its new place, and restart all collectors; if no collector has used"
                " that, and none is to: deniable store stay"
            )
        case _ if isinstance(config.store, Path):
            return _remedy_of_file(error.__cause__)
        case UnknownSchema():
            return "deniable store migrate makes the tables; is it the right database?"
        case NotAdmitted():
            return "look at role, password, rights and the database's name (docs/postgres.md)"
        case Overloaded():
            return "allow more connections (max_connections), or lower database_connections"
        case Unreachable():
            return "does it run? Are address and certificate in its URL right? (docs/postgres.md)"
    return "look at the database server's own log; docs/postgres.md tells what it must be set to"


def _remedy_of_file(error: BaseException | None) -> str:
    if getattr(error, "sqlite_errorcode", None) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return f"is it a store? If it is damaged: {_RESTORE}"
    return (
        "look at its disk (dmesg; room, quota and ulimit -f of whoever serves), and whether"
        " another program holds the file"
    )


def _where(config: Config) -> str:
    if not isinstance(config.store, Path):
        return "PostgreSQL answers"
    return f"{config.store}, {config.store.stat().st_size / 2**20:,.1f} MiB, schema {VERSION}"


def _judge_clock(ahead: float) -> Finding:
    if abs(ahead) <= AGREEMENT_SECONDS:
        return good("store's clock", "agrees with this machine's")
    return bad(
        "store's clock",
        f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's",
        "set the wrong one right: nothing is sealed, erased or ended until then",
    )


def _judge_order(faults: list[str]) -> Finding:
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        return bad(
            "recount",
            faults[0] + more,
            f"deniable store check lists all. {_RESTORE[0].upper()}{_RESTORE[1:]}",
        )
    return good("recount", "counts are those of the receipts and seals")
