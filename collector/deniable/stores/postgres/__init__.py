"""The PostgreSQL store, which any number of collectors can share."""

from deniable.stores.postgres.postgres_store import PostgresStore as PostgresStore
