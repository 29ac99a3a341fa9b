"""The store that any number of collectors share: one PostgreSQL database."""

from deniable.stores.postgres.postgres_store import PostgresStore as PostgresStore
