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

from deniable.stores.errors import StoreError
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.migrating import VERSION
from deniable.stores.receipt import Receipt
from deniable.stores.statements import Verdict

_REFUSALS: Final = (Verdict.ACCEPTED, Verdict.ENDED, Verdict.SEALED)
"""By the number that the database gives a part."""


async def add_receipts(connection: Connection, receipts: Sequence[Receipt]) -> list[Verdict]:
    """Store receipts, at least one, in one transaction; one verdict each, in their order.

    Raises:
        StoreError: if a survey is not in this store; nothing was stored.
    """
    # By survey, epoch and key; of one key the first stays the first (S2).
    order = sorted(range(len(receipts)), key=lambda position: receipts[position][:3])
    in_order = [receipts[position] for position in order]
    ids, epochs, keys, responses, issuers = zip(*in_order, strict=True)
    ends = {part: place for place, part in enumerate(zip(ids, epochs, strict=True), start=1)}
    part_ids, part_epochs = zip(*ends, strict=True)
    places = {issuer: place for place, issuer in enumerate(dict.fromkeys(issuers), start=1)}
    row = await connection.fetchrow(
        "SELECT * FROM deniable.add_receipts($1, $2, $3, $4, $5, $6, $7, $8)",
        VERSION,
        part_ids,
        part_epochs,
        list(ends.values()),
        [issuer or b"" for issuer in places],
        [places[issuer] for issuer in issuers],
        keys,
        responses,
    )
    assert row is not None
    refusals, distrusted, repeats, stored = row
    if refusals is None:
        raise StoreError("the survey is not in this store")
    verdicts = [Verdict.ACCEPTED] * len(receipts)
    if any(refusals) or any(distrusted):
        of_part = dict(zip(ends, (_REFUSALS[refusal] for refusal in refusals), strict=True))
        unwelcome = {issuer for issuer, is_so in zip(places, distrusted, strict=True) if is_so}
        for position, receipt in enumerate(receipts):
            verdicts[position] = of_part[receipt.survey_id, receipt.epoch]
            if verdicts[position] is Verdict.ACCEPTED and receipt.issuer in unwelcome:
                verdicts[position] = Verdict.DISTRUSTED
    for report, response in zip(repeats or (), stored or (), strict=True):
        same = responses[report - 1] == response
        verdicts[order[report - 1]] = Verdict.DUPLICATE if same else Verdict.CONFLICT
    return verdicts
