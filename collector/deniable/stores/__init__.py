"""Stores: where acknowledged reports are durable and counted once."""

from typing import TYPE_CHECKING

from deniable.mechanisms.on_demand import on_demand
from deniable.messages.receipt import KEPT_SECONDS
from deniable.stores.backups import back_up, restore
from deniable.stores.counting import counts_digest
from deniable.stores.errors import (
    NotAdmitted,
    NotEmpty,
    NotSealed,
    Overloaded,
    RotationConflict,
    StoreError,
    StoreFull,
    StoreMoved,
    SurveyConflict,
    UnknownSchema,
    Unreachable,
)
from deniable.stores.figures import Figures, shown_figures
from deniable.stores.moving import move
from deniable.stores.opening import migrate_store, open_store, place_text
from deniable.stores.sqlite import SqliteStore
from deniable.stores.store import Store
from deniable.stores.values import Counts, Role, Seal, Token, Verdict

if TYPE_CHECKING:
    from deniable.stores.postgres import PostgresStore
else:  # asyncpg is imported by who has a database
    __getattr__ = on_demand(__name__, {"PostgresStore": "postgres"})

__all__ = [
    "KEPT_SECONDS",
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
