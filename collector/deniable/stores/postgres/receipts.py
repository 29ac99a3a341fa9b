"""The receipts: what makes each report count exactly once.

The work is done by ``deniable.add_receipts`` in the database, in one transaction and one round
trip; why that keeps S2 to S4 and S7 whoever else is writing stands at its head, in the migration.

It is repeatable, which settles the connection that is lost around its COMMIT (S1, S3). Either the
group was not stored, and the second attempt stores it. Or it was: then the second attempt finds
every receipt with the same response, stores and counts nothing, and calls them duplicates. Both
verdicts acknowledge the report, and both are true: it is stored, and counted once. (If the epoch
was sealed in between, the second attempt is told so, though the receipt stands and is counted. That
takes a seal in the moment of a lost connection, and nothing is counted twice then either.)
"""

from collections.abc import Sequence
from typing import Final

from deniable.messages.receipt import Receipt
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.sessions import FORGETFUL
from deniable.stores.store import StoreError, Verdict

__all__ = ["add_receipts"]

_REFUSALS: Final = (Verdict.ACCEPTED, Verdict.ENDED, Verdict.SEALED, Verdict.DISTRUSTED)
"""By the number that the database gives a lot."""


async def add_receipts(
    connection: Connection, slot: int, receipts: Sequence[Receipt]
) -> list[Verdict]:
    """Store receipts in one transaction; one verdict each, in their order.

    Args:
        connection: to the database, outside a transaction.
        slot: to which row of the counts they are added, so that stores do not share rows.
        receipts: at least one.

    Raises:
        StoreError: if a survey is not in this store, and nothing was stored; or if what was stored
            may be lost.
    """
    ids, epochs, keys, responses, issuers = zip(*receipts, strict=True)
    terms = list(zip(ids, epochs, issuers, strict=True))
    numbers = {lot: number for number, lot in enumerate(dict.fromkeys(terms), start=1)}
    lots = [numbers[each] for each in terms]
    lot_ids, lot_epochs, lot_issuers = zip(*numbers, strict=True)
    row = await connection.fetchrow(
        "SELECT *, current_setting('fsync') = 'off'"
        " FROM deniable.add_receipts($1, $2, $3, $4, $5, $6, $7)",
        slot,
        lot_ids,
        lot_epochs,
        [issuer or b"" for issuer in lot_issuers],
        lots,
        keys,
        responses,
    )
    assert row is not None
    refusals, repeats, stored, forgetful = row
    if forgetful:  # unlike synchronous_commit it can be switched off below a connection
        raise StoreError(FORGETFUL)
    if refusals is None:
        raise StoreError("the survey is not in this store")
    if any(refusals):
        of_lot = [_REFUSALS[refusal] for refusal in refusals]
        verdicts = [of_lot[lot - 1] for lot in lots]
    else:
        verdicts = [Verdict.ACCEPTED] * len(receipts)
    for report, response in zip(repeats or (), stored or (), strict=True):
        same = responses[report - 1] == response
        verdicts[report - 1] = Verdict.DUPLICATE if same else Verdict.CONFLICT
    return verdicts
