"""Stores, which keep acknowledged reports durably and count each once."""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand
from deniable.stores.opening import migrate_store as migrate_store
from deniable.stores.opening import open_store as open_store
from deniable.stores.sqlite import SqliteStore as SqliteStore
from deniable.stores.store import Store as Store
from deniable.stores.values import KEPT_SECONDS as KEPT_SECONDS
from deniable.stores.values import Counts as Counts
from deniable.stores.values import LogExtension as LogExtension
from deniable.stores.values import NotAdmitted as NotAdmitted
from deniable.stores.values import Note as Note
from deniable.stores.values import Overloaded as Overloaded
from deniable.stores.values import Role as Role
from deniable.stores.values import Seal as Seal
from deniable.stores.values import StoredLog as StoredLog
from deniable.stores.values import StoreError as StoreError
from deniable.stores.values import StoreFull as StoreFull
from deniable.stores.values import StoreLocked as StoreLocked
from deniable.stores.values import SurveyConflict as SurveyConflict
from deniable.stores.values import Token as Token
from deniable.stores.values import UnknownSchema as UnknownSchema
from deniable.stores.values import Unreachable as Unreachable
from deniable.stores.values import Verdict as Verdict
from deniable.stores.values import check_note as check_note
from deniable.stores.values import counts_digest as counts_digest

if TYPE_CHECKING:
    from deniable.stores.backups import back_up as back_up
    from deniable.stores.backups import restore as restore
    from deniable.stores.postgres import PostgresStore as PostgresStore
else:  # asyncpg is imported only for a database, and copying only when a store is copied
    _COPYING = dict.fromkeys(("back_up", "restore"), "backups")
    __getattr__ = on_demand(__name__, _COPYING | {"PostgresStore": "postgres"})
