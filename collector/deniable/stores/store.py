"""The store's contract: the promises of every database behind a collector.

S1. What an answer rests on is durable before it is given: when ``add`` returns, what it accepted
    survives the loss of power, and so does whatever it called repeated, sealed, ended or distrusted
    by. A group that would write nothing therefore makes a durable write of its own.
S2. First write wins: a report's identity is (survey, epoch, key). A repeat with the same response
    is a duplicate, with another a conflict; in index order, also within one batch or commit group.
S3. A report is counted exactly once, in the transaction that stores its receipt.
S4. A sealed epoch accepts nothing, duplicates included: the seal is read in the same transaction.
    A seal is final. Its digest is that of the counts, which never change again.
S5. No column orders the receipts by arrival or links those of one device. What a database's own
    files tell beyond its tables is kept short, and documented (operations/storage.md, postgres.md).
S6. Receipts are pruned only after their epoch's seal; counts stay.
S7. An ended survey accepts nothing, nor what a distrusted issuer vouches for: both are
    read in the transaction of the insert.
S8. A store that was moved away accepts nothing: every write reads that in its own transaction. What
    was committed before is all there is to copy. It shows no figures either, wherever they would
    be read, since they continue elsewhere: StoreMoved names the place.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial

from deniable.messages import Manifest, Rotation
from deniable.stores.group_commit import GroupCommit
from deniable.stores.rules import Result, Rule, counting, operating
from deniable.stores.rules.copying import StoredRow
from deniable.stores.values import (
    Counts,
    LogExtension,
    Note,
    Receipt,
    Seal,
    StoredLog,
    Token,
    Verdict,
)


class Store(ABC):
    """A collector's store of what it acknowledged. Every method may raise StoreError.

    ``add`` is overloaded once more than ``MOST_WAITING`` reports wait for their commit.
    """

    def __init__(self) -> None:
        self._group = GroupCommit(self._commit)

    @abstractmethod
    async def _commit(self, together: list[Receipt]) -> list[Verdict]:
        """Store receipts durably in one transaction; return one verdict for each."""

    @abstractmethod
    async def _read(self, begin: Callable[[], Rule[Result]]) -> Result:
        """Follow a rule that only reads."""

    @abstractmethod
    async def _write(
        self,
        begin: Callable[[], Rule[Result]],
        *,
        repeatable: bool = True,
        though_moved: bool = False,
    ) -> Result:
        """Follow a rule in a transaction that writes, durably also if nothing changes (S1).

        The rule starts again with each attempt of the transaction; a rule that is not repeatable is
        not retried once it may have been committed. A store that was moved away is written to only
        ``though_moved`` (S8).
        """

    @property
    def connections(self) -> tuple[int, int, int] | None:
        """Return the connections to a server that are allowed, open and in use; None for a file."""
        return None

    async def lagging_standbys(self) -> int:
        """Return the number of the store's standbys for which no acknowledgement waits."""
        return 0

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store verified reports durably; return one verdict for each, in their order."""
        return await self._group.add(receipts)

    async def publish(
        self,
        manifest: Manifest,
        envelope: bytes,
        extension: LogExtension | None = None,
        now: int | None = None,
    ) -> None:
        """Add a survey, and extend the public log by it; publishing it again changes nothing.

        Without ``now`` the time of its publication is unknown.

        Raises:
            SurveyConflict: if the name has a different manifest of this or a higher sequence.
            LogConflict: if the log does not have the size that is extended.
        """
        await self._write(lambda: operating.publish(manifest, envelope, extension, now))

    async def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""
        return await self._read(operating.surveys)

    async def published_at(self) -> dict[bytes, int]:
        """Return the ids of surveys with their times of publication in Unix seconds, if known."""
        return await self._read(operating.published_at)

    async def rotate(
        self,
        rotation: Rotation,
        envelope: bytes,
        sign_anew: Callable[[bytes], bytes],
        extension: LogExtension | None = None,
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one.

        The public log is extended with it.
        ``sign_anew`` returns the envelope that replaces a survey's, or the same one. The number
        that it changed is returned.

        Raises:
            RotationConflict: if one of the keys was rotated before, or too many were.
            LogConflict: if the log does not have the size that is extended.
        """
        handing_over = partial(operating.rotate, rotation, envelope, sign_anew, extension)
        return await self._write(handing_over, repeatable=False)

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        return await self._read(operating.rotations)

    async def log(self, start: int = 0) -> StoredLog:
        """Return the public log, its entries from a position on."""
        return await self._read(lambda: operating.log(start))

    async def extend_log(self, extension: LogExtension) -> None:
        """Append entries to the public log, with the checkpoint that covers them.

        Raises:
            LogConflict: if the log does not have the size that is extended.
        """
        await self._write(lambda: operating.extend(extension), repeatable=False)

    async def cosign_log(self, add: Callable[[str], tuple[str, bool]]) -> None:
        """Replace the log's newest checkpoint by what ``add`` makes of it.

        It returns the checkpoint with more cosignatures, and whether a quorum of the collector's
        witnesses has cosigned it.
        """
        await self._write(lambda: operating.cosign(add))

    async def counts(self, survey_id: bytes, epoch: int) -> Counts:
        """Return the count of each response, as figures may show it.

        Figures stand until max(1, minimum_reports) more are counted than they show. That is judged
        when they are read: reading takes the step, for every reader alike, and ``add`` does nothing
        for it. There are no counts while too few reports are counted.
        """
        return await self._current_figures(counting.shown_counts, survey_id, epoch)

    async def reports(self, survey_id: bytes, epoch: int) -> int:
        """Return the number of reports in :meth:`counts`, without reading them one by one."""
        return await self._current_figures(counting.shown_reports, survey_id, epoch)

    async def counted(self, survey_id: bytes, epoch: int) -> int:
        """Return the number of an epoch's reports, including those that no figure shows yet.

        It is for operators: others could learn from it when a report comes.
        """
        return await self._figures(counting.counted_reports, survey_id, epoch)

    async def _current_figures(
        self, view: Callable[[bytes, int], Rule[tuple[Result, bool]]], survey_id: bytes, epoch: int
    ) -> Result:
        figures, due = await self._figures(view, survey_id, epoch)
        if due:
            await self._write(lambda: counting.take_step(survey_id, epoch))
            # Once: under load the next step may be due by now.
            figures, _ = await self._figures(view, survey_id, epoch)
        return figures

    async def _figures(
        self, view: Callable[..., Rule[Result]], survey_id: bytes, *epoch: int
    ) -> Result:
        """Follow a rule that reads what was counted, unless the store was moved away (S8)."""

        def unless_moved() -> Rule[Result]:
            yield from operating.check_unmoved()
            return (yield from view(survey_id, *epoch))

        return await self._read(unless_moved)

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with max(1, minimum_reports) counted reports, or None."""
        return await self._figures(counting.newest_epoch, survey_id)

    async def oldest_epoch(self, survey_id: bytes) -> int | None:
        """Return the oldest such epoch, or None."""
        return await self._figures(counting.oldest_epoch, survey_id)

    async def newest_counted(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with a counted report, or None; for upkeep, never to be shown."""
        return await self._read(lambda: counting.newest_counted(survey_id))

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        """Seal an epoch for good; return the first seal that was set."""
        seal, _ = await self._write(lambda: counting.seal(survey_id, epoch, now))
        return seal

    async def seals(self, survey_id: bytes) -> list[Seal]:
        """Return the seals of a survey, by epoch."""
        return await self._read(lambda: counting.seals(survey_id))

    async def standing_seal(self, survey_id: bytes, epoch: int) -> Seal | None:
        """Return the seal of an epoch; None if it has none yet."""
        return await self._read(lambda: counting.standing_seal(survey_id, epoch))

    @abstractmethod
    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        """Erase the receipts of an epoch; return their number.

        It may be interrupted, or done by several at once: what is left is erased by the next call,
        and ``pruned_at`` is set once nothing is.

        Raises:
            NotSealed: if it was not sealed at least 24 hours before ``now``.
        """

    async def end(self, survey_id: bytes, now: int) -> None:
        """End a survey for good: it accepts no report of any epoch. The first end's time counts."""
        await self._write(lambda: counting.end(survey_id, now))

    async def ended(self) -> dict[bytes, int]:
        """Return the ids of ended surveys, with the times of their ends in Unix seconds."""
        return await self._read(counting.ended)

    async def distrust(self, issuer: bytes, now: int) -> None:
        """Refuse every further report that this issuer vouches for, in any survey, for good."""
        await self._write(lambda: counting.distrust(issuer, now))

    async def distrusted(self) -> frozenset[bytes]:
        """Return the public keys of the issuers that are no longer trusted."""
        return await self._read(counting.distrusted)

    async def add_token(self, token: Token) -> None:
        """Keep the digest of a token; StoreError if it exists already."""
        await self._write(lambda: operating.add_token(token), repeatable=False)

    async def tokens(self) -> list[Token]:
        """Return the tokens, oldest first."""
        return await self._read(operating.tokens)

    async def revoke_token(self, digest: bytes) -> bool:
        """Forget a token; return whether the store had it."""
        return await self._write(lambda: operating.revoke_token(digest), repeatable=False)

    async def token(self, digest: bytes) -> Token | None:
        """Return the token with this digest, also after its end; None if there is none."""
        return await self._read(lambda: operating.token(digest))

    async def set_public(self, name: str, *, public: bool) -> None:
        """Decide whether anyone may read the figures of a name, whatever the setting says."""
        await self._write(lambda: operating.set_public(name, public))

    async def public(self) -> dict[str, bool]:
        """Return the names with such a decision, and whether anyone may read their figures."""
        return await self._read(operating.public)

    async def add_note(self, name: str, note: Note) -> None:
        """Keep a note about the surveys of a name; StoreError if there are too many."""
        await self._write(lambda: operating.add_note(name, note))

    async def notes(self, name: str) -> list[Note]:
        """Return the notes about the surveys of a name, by their times."""
        return await self._read(lambda: operating.notes(name))

    async def remove_note(self, name: str, note: Note) -> bool:
        """Remove a note; return whether the store had it."""
        return await self._write(lambda: operating.remove_note(name, note), repeatable=False)

    @abstractmethod
    async def check(self) -> list[str]:
        """Recount the receipts, and return a line for each fault.

        Counts equal their receipts where these are kept; seals' digests are those of the counts;
        what is shown is at most what is counted.
        """

    async def ping(self) -> None:
        """Check that the store accepts a durable write, by making one."""
        await self._write(operating.touch)

    @abstractmethod
    async def time(self) -> float:
        """Return Unix seconds by the store's own clock: the database's, or the file system's."""

    async def move_away(self, to: str) -> None:
        """Mark the store as moved; from this commit on every write raises StoreMoved.

        That includes ``ping``; and so does whatever reads figures. What was committed before is in
        ``rows()``. Operators learn the new place, ``to``; doing it again for the same place changes
        nothing.

        Raises:
            StoreMoved: if it was moved to another place before.
        """
        await self._write(lambda: operating.move_away(to), though_moved=True)

    async def cancel_move(self) -> None:
        """Lift the mark of :meth:`move_away`; without one this changes nothing."""
        await self._write(operating.cancel_move, though_moved=True)

    async def check_unmoved(self) -> None:
        """Raise StoreMoved, with the new place, if the store was moved away."""
        await self._read(operating.check_unmoved)

    async def moved_to(self) -> str | None:
        """Return the place that the store was moved to; None while it accepts reports."""
        return await self._read(operating.moved_to)

    async def note_backup(self, now: int) -> None:
        """Note that a backup was made at this time, in Unix seconds."""
        await self._write(lambda: operating.note_backup(now))

    async def backed_up_at(self) -> int | None:
        """Return the time of the last noted backup, in Unix seconds; None if there is none."""
        return await self._read(operating.backed_up_at)

    @abstractmethod
    def rows(self) -> AsyncGenerator[Sequence[StoredRow], None]:
        """Read all rows as of one moment, in lists of one type of row."""

    @abstractmethod
    async def fill(self, chunks: AsyncIterator[Sequence[StoredRow]]) -> None:
        """Write all rows of another store, or none; NotEmpty if this one holds anything."""

    @abstractmethod
    async def close(self) -> None:
        """Commit the receipts that were taken, then let go of the store."""
