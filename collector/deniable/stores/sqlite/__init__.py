"""The embedded store: one SQLite file."""

from deniable.stores.sqlite.sqlite_store import SqliteStore as SqliteStore
