"""The store that any number of collectors share: a PostgreSQL database."""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Final

from deniable.messages import Manifest, Rotation
from deniable.messages.receipt import Receipt
from deniable.stores.copying import Row
from deniable.stores.group_commit import GroupCommit
from deniable.stores.postgres import (
    checking,
    copying,
    counting,
    publishing,
    receipts,
    sealing,
    tokens,
)
from deniable.stores.postgres.connections import Connections, translated
from deniable.stores.postgres.migrating import VERSION, migrate, version
from deniable.stores.store import Counts, Role, Seal, Token, UnknownSchema, Verdict

__all__ = ["PostgresStore"]

_SLOTS: Final = 255


class PostgresStore:
    """A store in a PostgreSQL database; open it with :meth:`open`, inside the running event loop.

    Args:
        connections: to the database, whose schema is that of this version.
        most_waiting: how many reports may wait for their commit before ``add`` is overloaded.
    """

    def __init__(self, connections: Connections, most_waiting: int = 20_000) -> None:
        self._connections = connections
        # Which of the counts' rows this store adds to: two that share one wait for each other.
        self._slot = random.SystemRandom().randint(1, _SLOTS)
        self._group = GroupCommit(self._commit, most_waiting)

    @classmethod
    async def open(
        cls,
        url: str,
        most_waiting: int = 20_000,
        *,
        create: bool = False,
        most_connections: int = 4,
        patience: float = 5.0,
    ) -> "PostgresStore":
        """Open the store in a database, which must exist.

        Args:
            url: ``postgresql://…``, with all that asyncpg understands.
            most_waiting: how many reports may wait for their commit before ``add`` is overloaded.
            create: make the tables, if there are none.
            most_connections: how many there are at most.
            patience: for how many seconds a server that is away is waited for.

        Raises:
            UnknownSchema: if another version of deniable made the tables, or there are none.
            StoreError: if it cannot be opened.
        """
        connections = Connections(url, most_connections, patience)
        try:
            found = await connections.run(version)
            if found == 0 and not create:
                raise UnknownSchema(
                    "there is no store in this database; make one with: deniable store migrate"
                )
            if 0 < found < VERSION:
                raise UnknownSchema(
                    "an older version of deniable wrote the store: deniable store migrate"
                )
            if found == 0:
                await connections.transaction(migrate)
        except BaseException:
            await connections.close()
            raise
        return cls(connections, most_waiting)

    @staticmethod
    async def migrate(url: str) -> tuple[int, int]:
        """Bring a database's schema to this version; return which it had, 0 for none, and has.

        Raises:
            UnknownSchema: if a newer version of deniable made it.
            StoreError: if it cannot be opened or changed.
        """
        connections = Connections(url)
        try:
            return await connections.transaction(migrate), VERSION
        finally:
            await connections.close()

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store receipts durably; one verdict each, in their order."""
        return await self._group.add(receipts)

    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        if not together:
            return []
        return await self._connections.run(
            lambda connection: receipts.add_receipts(connection, self._slot, together), keep=True
        )

    async def publish(self, manifest: Manifest, envelope: bytes) -> None:
        """Add a survey."""
        await self._connections.transaction(
            lambda connection: publishing.publish(connection, manifest, envelope)
        )

    async def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""
        return await self._connections.run(publishing.surveys)

    async def rotate(
        self, rotation: Rotation, envelope: bytes, sign_anew: Callable[[bytes], bytes]
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one."""
        return await self._connections.transaction(
            lambda connection: publishing.rotate(connection, rotation, envelope, sign_anew),
            repeatable=False,
        )

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        return await self._connections.run(publishing.rotations)

    async def counts(self, survey_id: bytes, epoch: int, responses: int) -> Counts:
        """Return how often each response was counted, as figures may show it."""
        shown, due = await self._shown(survey_id, epoch, responses)
        if due:
            await self._connections.transaction(
                lambda connection: counting.take_step(connection, survey_id, epoch)
            )
            # Once: under load the next step may be due by now.
            shown, _ = await self._shown(survey_id, epoch, responses)
        return shown

    async def _shown(self, survey_id: bytes, epoch: int, responses: int) -> tuple[Counts, bool]:
        return await self._connections.run(
            lambda connection: counting.shown_counts(connection, survey_id, epoch, responses)
        )

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch of which enough is counted for a figure."""
        return await self._connections.run(
            lambda connection: counting.newest_epoch(connection, survey_id)
        )

    async def newest_counted(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with at least one counted report."""
        return await self._connections.run(
            lambda connection: counting.newest_counted(connection, survey_id)
        )

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        """Seal an epoch for good; return the seal that stands."""
        return await self._connections.transaction(
            lambda connection: sealing.seal(connection, survey_id, epoch, now)
        )

    async def seals(self, survey_id: bytes) -> list[Seal]:
        """Return the seals of a survey, by epoch."""
        return await self._connections.run(lambda connection: sealing.seals(connection, survey_id))

    async def standing_seal(self, survey_id: bytes, epoch: int) -> Seal | None:
        """Return the seal of an epoch; None while it has none."""
        return await self._connections.run(
            lambda connection: sealing.standing_seal(connection, survey_id, epoch)
        )

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        """Erase the receipts of an epoch, while others are stored; return how many there were."""
        erased = 0
        while some := await self._connections.transaction(
            lambda connection: sealing.erase(connection, survey_id, epoch, now)
        ):
            erased += some
        return erased

    async def end(self, survey_id: bytes, now: int) -> None:
        """End a survey for good."""
        await self._connections.transaction(
            lambda connection: sealing.end(connection, survey_id, now)
        )

    async def ended(self) -> dict[bytes, int]:
        """Return the ids of ended surveys, and when they ended."""
        return await self._connections.run(sealing.ended)

    async def distrust(self, issuer: bytes, now: int) -> None:
        """Take no further report that this issuer vouches for."""
        await self._connections.transaction(
            lambda connection: sealing.distrust(connection, issuer, now)
        )

    async def distrusted(self) -> frozenset[bytes]:
        """Return the public keys of the issuers that are not trusted any more."""
        return await self._connections.run(sealing.distrusted)

    async def add_token(self, token: Token) -> None:
        """Keep the digest of a token."""
        await self._connections.transaction(
            lambda connection: tokens.add_token(connection, token), repeatable=False
        )

    async def tokens(self) -> list[Token]:
        """Return what is known of the tokens, the oldest first."""
        return await self._connections.run(tokens.tokens)

    async def revoke_token(self, digest: bytes) -> bool:
        """Forget a token; return if there was such."""
        return await self._connections.transaction(
            lambda connection: tokens.revoke_token(connection, digest), repeatable=False
        )

    async def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest."""
        return await self._connections.run(lambda connection: tokens.token_role(connection, digest))

    async def check(self) -> list[str]:
        """Recount the receipts; return a line for each thing that is not as it must be."""
        return await self._connections.transaction(checking.faults)

    async def rows(self) -> AsyncIterator[Sequence[Row]]:
        """Read everything as of one moment, in lists of one type of row."""
        async with (
            self._connections.held() as connection,
            aclosing(copying.read_rows(connection)) as chunks,
        ):
            while True:
                with translated():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                yield chunk

    async def fill(self, chunks: AsyncIterator[Sequence[Row]]) -> None:
        """Write all that another store holds, or nothing."""
        async with self._connections.held() as connection:
            filling = copying.Filling(connection)
            with translated():
                await filling.begin()
            async for chunk in chunks:
                with translated():
                    await filling.write(chunk)

    async def time(self) -> float:
        """Return Unix seconds by the database server's clock."""
        return await self._connections.run(publishing.clock)

    async def ping(self) -> None:
        """Return if the store can be read."""
        await self._connections.run(publishing.ping)

    async def close(self) -> None:
        """Commit what was taken, then let go of the database."""
        await self._group.finish()
        await self._connections.close()
