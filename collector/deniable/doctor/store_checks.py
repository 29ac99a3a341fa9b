"""The store: its schema, its integrity, and its publications."""

import shlex
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from deniable.directory import Config, authority_chain, default_key_file, signed_surveys, with_store
from deniable.directory.collector_directory import AGREEMENT_SECONDS, all_overdue, running
from deniable.directory.log_publishing import all_signed
from deniable.doctor.diagnosis import Diagnosis, bad, doubtful, good
from deniable.doctor.machine import check_rights
from deniable.intake import Due
from deniable.logs import SignedCheckpoint, log_origin
from deniable.messages import Manifest, Refusal
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


@dataclass(frozen=True, slots=True)
class Stored:
    """The examined content of a store."""

    config: Config
    now: float
    ahead: float  # seconds by which its clock differs from this machine's
    faults: list[str] | None  # None if it is too long to recount
    chain: tuple[bytes, ...]  # the authority's keys; the last signs now
    surveys: list[Manifest]
    others: int  # surveys that another authority signed
    offered: list[Manifest]  # the running ones
    overdue: list[tuple[Manifest, Due]]
    distrusted: frozenset[bytes]
    log: StoredLog
    record: SignedCheckpoint | PublicLogError | None  # beside the log's key, if that is here
    signed: list[bytes]  # everything that the authority signed and that is offered


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


def read_store(directory: Path, config: Config, now: float) -> Stored | Diagnosis:
    """Open the store and read the examined content, or return why that failed."""

    async def read(store: Store) -> Stored:
        await store.ping()
        ahead = await store.time() - time.time()
        short = isinstance(config.store, Path) and config.store.stat().st_size <= _QUICK_BYTES
        faults = await store.check() if short else None
        chain = await authority_chain(store, config.authority)
        surveys, others = await signed_surveys(store, config)
        log = await store.log()
        offered = running(surveys, await store.ended(), now)
        return Stored(
            config=config,
            now=now,
            ahead=ahead,
            faults=faults,
            chain=chain,
            surveys=surveys,
            others=others,
            offered=offered,
            overdue=await all_overdue(store, surveys, now),
            distrusted=await store.distrusted(),
            log=log,
            record=_record(directory, config, log),
            signed=await all_signed(store, config),
        )

    try:
        # An unavailable server is not tried again, and a group's lock is short.
        patience = _LOCK_SECONDS if isinstance(config.store, Path) else 0.0
        return with_store(config, read, patience=patience)
    except Refusal as refusal:
        return bad(f"its rotations are invalid: {refusal}", _RESTORE)
    except (StoreError, OSError) as error:
        return bad(" ".join(str(error).split()), _remedy(config, error))


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
