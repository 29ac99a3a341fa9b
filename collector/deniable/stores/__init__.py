"""Stores: where acknowledged reports are durable and counted once."""

from deniable.stores.backups import back_up, restore
from deniable.stores.copying import CopyableStore
from deniable.stores.digest import counts_digest
from deniable.stores.figures import Figures, shown_figures
from deniable.stores.moving import move
from deniable.stores.opening import migrate_store, open_store, place_text
from deniable.stores.postgres import PostgresStore
from deniable.stores.sqlite import SqliteStore
from deniable.stores.store import (
    KEPT_SECONDS,
    Counts,
    NotAdmitted,
    NotEmpty,
    NotSealed,
    Overloaded,
    Role,
    RotationConflict,
    Seal,
    Store,
    StoreError,
    StoreFull,
    StoreMoved,
    SurveyConflict,
    Token,
    UnknownSchema,
    Unreachable,
    Verdict,
)

__all__ = [
    "KEPT_SECONDS",
    "CopyableStore",
    "Counts",
    "Figures",
    "NotAdmitted",
    "NotEmpty",
    "NotSealed",
    "Overloaded",
    "PostgresStore",
    "Role",
    "RotationConflict",
    "Seal",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreMoved",
    "SurveyConflict",
    "Token",
    "UnknownSchema",
    "Unreachable",
    "Verdict",
    "back_up",
    "counts_digest",
    "migrate_store",
    "move",
    "open_store",
    "place_text",
    "restore",
    "shown_figures",
]
