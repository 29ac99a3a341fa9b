"""Moving a store to another place while collectors run: nothing acknowledged stays behind.

The old store is fenced before it is copied (S8), and the copy is one transaction. After a failure
the mark is lifted if the new store is seen to hold nothing; else, and if this process is killed, it
stays, and doing the same again goes on.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from deniable.stores.errors import NotEmpty, StoreError
from deniable.stores.rules.copying import CountRow, StoredRow, SurveyRow
from deniable.stores.store import Store


async def move(source: Store, target: Store, to: str) -> None:
    """Move all rows of a store into an empty one; the old one takes nothing more.

    Whoever uses the old one is told where the new one is: ``to``.

    Raises:
        NotEmpty: if the new store holds something that is not from an earlier such move.
        StoreMoved: if the old one was moved to another place.
        StoreError: if it was not done. The old store takes reports again, unless it cannot be
            told whether the new one was filled.
    """
    try:
        async with aclosing(_fenced(source, to)) as chunks:
            await target.fill(chunks)
    except NotEmpty:
        if await source.moved_to() != to:
            raise
        if not await _counted(source) <= await _counted(target):
            raise StoreError("the new store holds something else than the old one held") from None
    except BaseException:
        if await source.moved_to() == to:
            # A commit may have been done whose answer was lost. This waits for one under way.
            with suppress(NotEmpty):
                await target.fill(_lifted(source))
        raise


# Both run while nobody else can fill the new store: of two moves at once, none lifts the mark under
# which the other copies.
async def _fenced(source: Store, to: str) -> AsyncGenerator[Sequence[StoredRow], None]:
    await source.move_away(to)
    async with aclosing(source.rows()) as chunks:
        async for chunk in chunks:
            yield chunk
    if await source.moved_to() != to:  # what came since would be missing
        raise StoreError("the move was cancelled while the old store was copied")


async def _lifted(source: Store) -> AsyncGenerator[Sequence[StoredRow], None]:
    await source.cancel_move()
    for nothing in list[Sequence[StoredRow]]():
        yield nothing


async def _counted(store: Store) -> Counter[object]:
    """Return the counts that never fall: of surveys, and of each response's reports."""
    held: Counter[object] = Counter()
    async for chunk in store.rows():
        for row in chunk:
            if isinstance(row, SurveyRow):
                held[row.survey_id] = 1
            elif isinstance(row, CountRow):
                held[row[:-1]] = row.reports
    return held
