"""The store's contract: the promises of every database behind a collector.

S1. An answer is given only after the data behind it is durable. When ``add`` returns, everything
    that it accepted survives a power failure, and so does the reason for every repeated, sealed,
    ended or distrusted verdict. A group without writes therefore makes a durable one.
S2. First write wins: a report's identity is (survey, epoch, key). A repeat with the same response
    is a duplicate, with another a conflict; this applies in index order, also within one batch or
    commit group.
S3. A report is counted exactly once, in the transaction that stores its receipt.
S4. A sealed epoch accepts nothing, not even duplicates: the seal is read in the same transaction. A
    seal is final. Its digest covers the counts, which never change again.
S5. No column orders the receipts by arrival or links those of one device. Any such trace in a
    database's own files is kept short, and documented (operations/storage.md, postgres.md).
S6. Receipts are pruned only after their epoch's seal; counts stay.
S7. An ended survey accepts nothing, and no survey accepts reports that a distrusted issuer vouches
    for: both are read in the transaction of the insert.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial

from deniable.messages import Manifest, Rotation
from deniable.stores.group_commit import GroupCommit
from deniable.stores.rules import Result, Rule, counting, operating
from deniable.stores.rules.copying import Part
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
    """A collector's store of the reports that it acknowledged. Every method may raise StoreError.

    ``add`` raises Overloaded once more than ``MOST_WAITING`` reports wait for their commit.
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
    ) -> Result:
        """Follow a rule in a writing transaction, durable even if nothing changes (S1).

        The rule starts again with each attempt of the transaction; a rule that is not repeatable is
        not retried once it may have been committed.
        """

    @property
    def connections(self) -> tuple[int, int, int] | None:
        """Return the connections to a server that are allowed, open and in use; None for a file."""
        return None

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
        """Add a survey, and extend the public log with it; publishing it again changes nothing.

        Without ``now``, the survey's time of publication is unknown.

        Raises:
            SurveyConflict: if the name has a different manifest with this or a higher sequence.
            StoreError: if the log's size is not the extension's.
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
        """Publish a rotation of the authority's key, and re-sign every survey with the new key.

        The public log is extended with it. ``sign_anew`` returns a survey's new envelope, or the
        same one. Returns the number of changed surveys.

        Raises:
            StoreError: if one of the keys was rotated before, or too many were, or the log's size
                is not the extension's.
        """
        handing_over = partial(operating.rotate, rotation, envelope, sign_anew, extension)
        return await self._write(handing_over, repeatable=False)

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        return await self._read(operating.rotations)

    async def log(self, start: int = 0) -> StoredLog:
        """Return the public log, with its entries from a position on."""
        return await self._read(lambda: operating.log(start))

    async def extend_log(self, extension: LogExtension) -> None:
        """Append entries to the public log, with the checkpoint that covers the entries.

        Raises:
            StoreError: if the log's size is not the extension's.
        """
        await self._write(lambda: operating.extend(extension), repeatable=False)

    async def cosign_log(self, add: Callable[[str], tuple[str, bool]]) -> None:
        """Replace the log's newest checkpoint with the result of ``add``.

        ``add`` returns the checkpoint with more cosignatures, and whether a quorum of the
        collector's witnesses has cosigned it.
        """
        await self._write(lambda: operating.cosign(add))

    async def counts(self, survey_id: bytes, epoch: int) -> Counts:
        """Return the count of each response, as figures may show it.

        Figures are unchanged until max(1, minimum_reports) more reports are counted than they show.
        This is checked when they are read: reading takes the step, for all readers alike, and
        ``add`` does no work for it. There are no counts while too few reports are counted.
        """
        return await self._current_figures(counting.shown_counts, survey_id, epoch)

    async def reports(self, survey_id: bytes, epoch: int) -> int:
        """Return the number of reports in :meth:`counts`, without reading the counts one by one."""
        return await self._current_figures(counting.shown_reports, survey_id, epoch)

    async def counted(self, survey_id: bytes, epoch: int) -> int:
        """Return the number of an epoch's reports, including those that no figure shows yet.

        The number is for operators: others could infer from it when a report arrives.
        """
        return await self._read(lambda: counting.counted_reports(survey_id, epoch))

    async def _current_figures(
        self, view: Callable[[bytes, int], Rule[tuple[Result, bool]]], survey_id: bytes, epoch: int
    ) -> Result:
        figures, due = await self._read(lambda: view(survey_id, epoch))
        if due:
            await self._write(lambda: counting.take_step(survey_id, epoch))
            # Once: under load the next step may be due by now.
            figures, _ = await self._read(lambda: view(survey_id, epoch))
        return figures

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with max(1, minimum_reports) counted reports, or None."""
        return await self._read(lambda: counting.outermost(survey_id, "DESC"))

    async def oldest_epoch(self, survey_id: bytes) -> int | None:
        """Return the oldest epoch with max(1, minimum_reports) counted reports, or None."""
        return await self._read(lambda: counting.outermost(survey_id, "ASC"))

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
        """Return the seal of an epoch; None if the epoch has no seal yet."""
        return await self._read(lambda: counting.standing_seal(survey_id, epoch))

    @abstractmethod
    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        """Erase the receipts of an epoch; return their number.

        The call may be interrupted, or run concurrently: the next call erases the rest, and
        ``pruned_at`` is set once none is left.

        Raises:
            StoreError: if the epoch was not sealed at least 24 hours before ``now``.
        """

    async def end(self, survey_id: bytes, now: int) -> None:
        """End a survey for good: it accepts no report of any epoch. The first end's time counts."""
        await self._write(lambda: counting.end(survey_id, now))

    async def ended(self) -> dict[bytes, int]:
        """Return the ids of ended surveys, with the times of their ends in Unix seconds."""
        return await self._read(counting.ended)

    async def distrust(self, issuer: bytes, now: int) -> None:
        """Refuse all further reports that this issuer vouches for, in any survey, for good."""
        await self._write(lambda: counting.distrust(issuer, now))

    async def distrusted(self) -> frozenset[bytes]:
        """Return the public keys of the issuers that are no longer trusted."""
        return await self._read(counting.distrusted)

    async def add_token(self, token: Token) -> None:
        """Store the digest of a token; StoreError if the digest already exists."""
        await self._write(lambda: operating.add_token(token), repeatable=False)

    async def tokens(self) -> list[Token]:
        """Return the tokens, oldest first."""
        return await self._read(operating.tokens)

    async def revoke_token(self, digest: bytes) -> bool:
        """Forget a token; return whether the store had it."""
        return await self._write(lambda: operating.revoke_token(digest), repeatable=False)

    async def token(self, digest: bytes) -> Token | None:
        """Return the token with this digest, even an expired one; None if it does not exist."""
        return await self._read(lambda: operating.token(digest))

    async def add_note(self, name: str, note: Note) -> None:
        """Store a note about the surveys of a name; StoreError if there are too many."""
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
        shown counts do not exceed counted ones.
        """

    async def ping(self) -> None:
        """Check that the store accepts a durable write by making one."""
        await self._write(operating.touch)

    @abstractmethod
    async def time(self) -> float:
        """Return Unix seconds by the store's own clock: the database's, or the file system's."""

    async def note_backup(self, now: int) -> None:
        """Note that a backup was made at this time, in Unix seconds."""
        await self._write(lambda: operating.note_backup(now))

    async def backed_up_at(self) -> int | None:
        """Return the time of the last noted backup, in Unix seconds; None if there is none."""
        return await self._read(operating.backed_up_at)

    @abstractmethod
    def rows(self) -> AsyncGenerator[Part, None]:
        """Read all rows as of one moment, in parts of one table."""

    @abstractmethod
    async def fill(self, parts: AsyncIterator[Part]) -> None:
        """Write all rows of another store, or none; StoreError if this store contains any."""

    @abstractmethod
    async def close(self) -> None:
        """Commit the waiting receipts, then close the store."""
