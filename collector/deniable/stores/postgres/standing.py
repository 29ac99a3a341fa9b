"""How a store stands: whether it can be written, where it has moved to, when it was backed up."""

from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.locks import MOVE, begin_write, lock
from deniable.stores.store import StoreMoved

__all__ = ["backed_up_at", "move_away", "moved_to", "note_backup", "stay", "time", "touch"]


async def touch(connection: Connection) -> None:
    """Write something, within a transaction."""
    await connection.execute("UPDATE deniable.state SET touched = NOT touched")


async def time(connection: Connection) -> float:
    """Return Unix seconds by the database's clock."""
    return float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))


async def move_away(connection: Connection, to: str) -> None:
    """Mark the store as moved, within a transaction, once all that is being written is committed.

    Raises:
        StoreMoved: if it was moved to another place before.
    """
    await lock(connection, MOVE)
    # Also where the mark is there, this writes: it may not be durable yet.
    stands = await connection.fetchval(
        "INSERT INTO deniable.moves AS m (moved_to) VALUES ($1)"
        " ON CONFLICT (one) DO UPDATE SET moved_to = m.moved_to RETURNING moved_to",
        to,
    )
    if stands != to:
        raise StoreMoved(f"the store was moved to {stands} before; see deniable store stay")


async def stay(connection: Connection) -> None:
    """Lift the mark, within a transaction."""
    await lock(connection, MOVE)
    await connection.execute("DELETE FROM deniable.moves")
    await begin_write(connection)  # where there was none, too


async def moved_to(connection: Connection) -> str | None:
    """Return where the store was moved to; None while it takes reports."""
    to = await connection.fetchval("SELECT moved_to FROM deniable.moves")
    return None if to is None else str(to)


async def note_backup(connection: Connection, now: int) -> None:
    """Note that a backup was made, within a transaction."""
    await connection.execute("UPDATE deniable.state SET backed_up_at = $1", now)


async def backed_up_at(connection: Connection) -> int | None:
    """Return when the last backup was noted; None if none was."""
    noted = await connection.fetchval("SELECT backed_up_at FROM deniable.state")
    return None if noted is None else int(noted)
