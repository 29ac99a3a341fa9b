"""A made-up second schema of stores, as a later version of deniable may have."""

from typing import Final

import pytest

from deniable.doctor import store_checks
from deniable.stores import backups, opening
from deniable.stores.postgres import driver, postgres_store
from deniable.stores.sqlite import database

BROKEN: Final = "INSERT INTO what_is_not_there VALUES (1);"
"""A statement behind the others of the migration, which interrupts it half way."""


def have_second_schema(patch: pytest.MonkeyPatch, more: str = "") -> None:
    """Turn what is running into that later version, whose migration has more statements."""
    for module, table in ((database, "notes"), (driver, "deniable.notes")):
        script = f"ALTER TABLE {table} ADD COLUMN author TEXT;\n{more}"
        patch.setattr(module, "_MIGRATIONS", (*module._MIGRATIONS, script))
    for importer in (backups, store_checks, database, driver, opening, postgres_store):
        patch.setattr(importer, "VERSION", 2)
