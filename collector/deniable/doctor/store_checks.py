"""The store: its schema, its integrity, and its publications."""

import shlex
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from deniable.directory import Config, authority_chain, default_key_file, signed_surveys, with_store
from deniable.directory.collector_directory import AGREEMENT_SECONDS, all_overdue, current, running
from deniable.directory.log_publishing import all_signed, witnesses_of
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.doctor.machine import check_rights
from deniable.doctor.survey_checks import (
    check_gateway,
    judge_issuers,
    judge_lifetime,
    judge_log,
    judge_names,
    judge_origin,
    judge_seals,
    judge_signatures,
    judge_surveys,
)
from deniable.logs import SignedCheckpoint, log_origin
from deniable.messages import Refusal
from deniable.public_log.publish.public_log import PublicLogError
from deniable.public_log.publish.publisher import log_key_file, read_record
from deniable.stores import (
    NotAdmitted,
    Overloaded,
    Store,
    StoredLog,
    StoreError,
    StoreFull,
    StoreLocked,
    UnknownSchema,
    Unreachable,
)
from deniable.stores.sqlite.database import VERSION, version

_QUICK_BYTES = 64 << 20
_LOCK_SECONDS = 2.0


def check_schema(config: Config) -> Diagnosis | None:
    """Check that the store is there and of this version, without changing it; None if it is."""
    file = config.store
    if not isinstance(file, Path):
        return None
    try:
        unwritable = check_rights(file)
    except FileNotFoundError:
        return bad(
            f"{file} does not exist",
            "check `store`. If the file is lost, run deniable store restore BACKUP; for an empty "
            f"store, run touch {shlex.quote(str(file))}, then deniable store migrate",
        )
    except PermissionError as error:
        return bad(f"{file}: {error.strerror}", "run this command as the server's user")
    if unwritable is not None:
        return unwritable
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            stored_version = version(opened)
    except UnknownSchema as error:
        return bad(str(error), "upgrade deniable, or correct `store`")
    except sqlite3.Error as error:
        return bad(f"{file} cannot be read ({error})", _remedy_of_file(error))
    if stored_version < VERSION:
        return doubtful(
            f"schema {stored_version}; deniable serve will migrate it to {VERSION}",
            "run deniable store backup FILE, then deniable store migrate or deniable serve",
        )
    return None


def examine_store(
    directory: Path, config: Config, now: float
) -> tuple[bytes, list[tuple[str, Diagnosis | None]]]:
    """Return the authority's current key, and the findings by the names of their checks.

    A finding is None if the check does not apply; only the store's is there if it cannot be read.
    """

    async def read(store: Store) -> tuple[bytes, list[tuple[str, Diagnosis | None]]]:
        await store.ping()
        ahead = await store.time() - time.time()
        short = isinstance(config.store, Path) and config.store.stat().st_size <= _QUICK_BYTES
        faults = await store.check() if short else None
        chain = await authority_chain(store, config.authority)
        surveys, others = await signed_surveys(store, config)
        offered = running(surveys, await store.ended(), now)
        log, signed = await store.log(), await all_signed(store, config)
        record, witnesses = _record(directory, config, log), witnesses_of(config)
        return chain[-1], [
            ("store", describe(config)),
            ("store's clock", judge_store_clock(ahead)),
            ("recount", judge_order(faults)),
            ("authority", judge_signatures(others, others + len(surveys))),
            ("gateway", check_gateway(config, chain)),
            ("public log", judge_log(log, record, signed, witnesses, log_origin(config.origin))),
            ("surveys", judge_surveys(surveys, offered, now)),
            ("named surveys", judge_names(config, surveys)),
            ("seals", judge_seals(surveys, await all_overdue(store, surveys, now))),
            ("signed origin", judge_origin(current(offered), config.origin)),
            ("trusted issuers", judge_issuers(offered, await store.distrusted(), now)),
            ("lifetime", judge_lifetime(offered, now)),
        ]

    wrong = check_schema(config)
    if wrong is None:
        try:
            # An unavailable server is not tried again, and a group's lock is short.
            patience = _LOCK_SECONDS if isinstance(config.store, Path) else 0.0
            return with_store(config, read, patience=patience)
        except Refusal as refusal:
            wrong = bad(f"its rotations are invalid: {refusal}", _RESTORE)
        except (StoreError, OSError) as error:
            wrong = bad(" ".join(str(error).split()), _remedy(config, error))
    return config.authority, [("store", wrong)]


def _record(
    directory: Path, config: Config, log: StoredLog
) -> SignedCheckpoint | PublicLogError | None:
    """Return the record beside the log's key if it is here and readable."""
    origin = log.newest.split("\n", 1)[0] or log_origin(config.origin)
    try:
        return read_record(log_key_file(default_key_file(directory)), origin)
    except PublicLogError as error:
        return error
    except OSError:
        return None


_RESTORE = (
    "stop the server, empty the store (move its file and the -wal and -shm files elsewhere, "
    "or drop the schema deniable), then run deniable store restore BACKUP; "
    "docs/operations/backups.md lists the losses"
)


def _remedy(config: Config, error: Exception) -> str:
    match error:
        case StoreFull():
            return "free some space on the store's disk: reports are refused until then (HTTP 507)"
        case StoreLocked():
            file = shlex.quote(str(config.store))
            return f"find the program (fuser -v {file}), and end the program if it hangs"
        case _ if isinstance(config.store, Path):
            return _remedy_of_file(error.__cause__)
        case UnknownSchema():
            return "check `store`; if the database is empty, run deniable store migrate"
        case NotAdmitted():
            return (
                "check the role, the password, the rights and the database name (docs/postgres.md)"
            )
        case Overloaded():
            return "allow more connections (max_connections), or lower database_connections"
        case Unreachable():
            return (
                "check the database server, the URL's host and the certificate (docs/postgres.md)"
            )
    return (
        "check the database server's own log, and whether synchronous standbys are connected "
        "(docs/postgres.md)"
    )


def _remedy_of_file(error: BaseException | None) -> str:
    if getattr(error, "sqlite_errorcode", None) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return f"check that the file is a store. If it is damaged, {_RESTORE}"
    return (
        "check the disk (dmesg, free space, quota and ulimit -f of the server's user), and "
        "whether another program has locked the file"
    )


def describe(config: Config) -> Diagnosis:
    """Report which store accepted a write."""
    if not isinstance(config.store, Path):
        return good("PostgreSQL responds")
    size = config.store.stat().st_size / 2**20
    return good(f"{config.store}, {size:,.1f} MiB, schema {VERSION}")


def judge_store_clock(ahead: float) -> Diagnosis:
    """Assess by how many seconds the store's clock is ahead of this machine's."""
    if abs(ahead) <= AGREEMENT_SECONDS:
        return good("the same as this machine's")
    return bad(
        f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's",
        "correct the wrong clock: nothing is sealed, erased or ended until then",
    )


def judge_order(faults: list[str] | None) -> Diagnosis:
    """Assess the faults found by recounting; None if it was omitted."""
    if faults is None:
        return good("skipped, because the store is large: run deniable store check")
    if not faults:
        return good("the counts match the receipts and seals")
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return bad(
        faults[0] + more,
        f"deniable store check shows all faults. {_RESTORE[0].upper()}{_RESTORE[1:]}",
    )
