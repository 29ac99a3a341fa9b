"""Stores: where acknowledged reports are durable and counted once."""

from deniable.stores.figures import Figures, shown_figures
from deniable.stores.sqlite import SqliteStore
from deniable.stores.store import (
    Overloaded,
    Role,
    RotationConflict,
    Store,
    StoreError,
    StoreFull,
    SurveyConflict,
    UnknownSchema,
    Verdict,
)

__all__ = [
    "Figures",
    "Overloaded",
    "Role",
    "RotationConflict",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreFull",
    "SurveyConflict",
    "UnknownSchema",
    "Verdict",
    "shown_figures",
]
