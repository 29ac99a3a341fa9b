"""Stores: where acknowledged reports are durable and counted once."""

from deniable.stores.digest import counts_digest
from deniable.stores.figures import Figures, shown_figures
from deniable.stores.sqlite import SqliteStore
from deniable.stores.store import (
    KEPT_SECONDS,
    Counts,
    NotSealed,
    Overloaded,
    Role,
    RotationConflict,
    Seal,
    Store,
    StoreError,
    StoreFull,
    SurveyConflict,
    Token,
    UnknownSchema,
    Verdict,
)

__all__ = [
    "KEPT_SECONDS",
    "Counts",
    "Figures",
    "NotSealed",
    "Overloaded",
    "Role",
    "RotationConflict",
    "Seal",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreFull",
    "SurveyConflict",
    "Token",
    "UnknownSchema",
    "Verdict",
    "counts_digest",
    "shown_figures",
]
