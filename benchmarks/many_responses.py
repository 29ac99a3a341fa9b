"""Designs of up to 2^20 responses: what a report costs the collector, and what a histogram does."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.rounds import interleave, seconds_each
from benchmarks.surveys import START, signed_survey
from benchmarks.table import Row, show
from deniable.estimates import decoder_of, estimate_histogram
from deniable.intake import judge_report
from deniable.messages import Manifest, Report, Specification, sign_report
from deniable.messages.receipt import RECEIPT_KEY_BYTES, Receipt
from deniable.stores.rules.surveys import publish
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.sqlite.driver import follow
from deniable.stores.sqlite.receipts import add_receipts

_DESIGNS: Final = {16: (17, 1, 5), 1024: (37, 2, 14), 65_536: (7, 6, 2)}
_DECODED: Final = {1024: (37, 2, 14), 10_000: (101, 2, 27)}
"""By the number of categories: q, m and s of the best affine design at epsilon 1, or .5."""
_ROUNDS: Final = 5
_REPORTS: Final = 2_000
_GROUP: Final = 100
_COUNTED: Final = 10_000_000


def run() -> None:
    """Measure and print."""
    surveys = {k: _survey(k, *design) for k, design in _DESIGNS.items()}
    with tempfile.TemporaryDirectory() as scratch:
        contenders: dict[str, Callable[[], float]] = {}
        for k, survey in surveys.items():
            contenders[f"judge {k}"] = partial(_judging, survey, _envelopes(survey))
            for what in ("new", "seen"):
                file = _empty_store(Path(scratch) / f"{what}-{k}.sqlite", survey)
                if what == "seen":
                    _count_each(file, survey)
                contenders[f"{what} {k}"] = partial(_storing, file, survey)
        found = interleave(contenders, _ROUNDS)
    whole = {k: found[f"judge {k}"] + found[f"seen {k}"] for k in surveys}
    for k in surveys:
        judge, new, seen = (found[f"{what} {k}"] for what in ("judge", "new", "seen"))
        show(
            f"a report of one of {surveys[k].mechanism.responses:,} responses, {k:,} categories",
            [
                Row("processor time to judge it", judge.scaled(1e6), "µs"),
                Row(
                    f"… to store it, {_GROUP} a commit, few responses counted",
                    new.scaled(1e6),
                    "µs",
                ),
                Row("… every response counted before", seen.scaled(1e6), "µs"),
                Row("judged and stored so ÷ of 16 categories", whole[k] / whole[16]),
            ],
        )
    for k, design in _DECODED.items():
        survey = _survey(k, *design)
        counts = _counts(survey)
        estimate_histogram(survey, 0, counts)
        made = interleave(
            {"made": seconds_each(partial(estimate_histogram, survey, 0, counts), 3)}, _ROUNDS
        )
        show(
            f"a histogram of {k:,} categories from {_COUNTED:,} reports, {len(counts):,} counts",
            [Row("from counts to intervals", made["made"].scaled(1e3), "ms")],
        )


def _survey(categories: int, q: int, m: int, s: int) -> Manifest:
    manifest, _ = signed_survey(categories, 8, "1")
    return replace(manifest, specification=Specification("affine", {"q": q, "m": m, "s": s}))


def _responses(survey: Manifest, reports: int) -> list[int]:
    random = np.random.default_rng()
    drawn: list[int] = random.integers(survey.mechanism.responses, size=reports).tolist()
    return drawn


def _envelopes(survey: Manifest) -> list[bytes]:
    return [
        sign_report(os.urandom(32), Report(survey.survey_id, 0, response), None)
        for response in _responses(survey, _REPORTS)
    ]


def _judging(survey: Manifest, envelopes: list[bytes]) -> float:
    """Return the processor seconds of judging one report."""
    known = {survey.survey_id: survey}.get
    used = time.process_time()
    for envelope in envelopes:
        judge_report(envelope, START, known)
    return (time.process_time() - used) / len(envelopes)


def _empty_store(file: Path, survey: Manifest) -> Path:
    with closing(SqliteDatabase(file)) as database, database.transaction() as connection:
        follow(connection, publish(survey, b""))
    return file


def _count_each(file: Path, survey: Manifest) -> None:
    """Count one report of each response."""
    with closing(SqliteDatabase(file)) as database, database.transaction() as connection:
        cells = ((1, 0, 0, response, 1) for response in range(survey.mechanism.responses))
        connection.executemany("INSERT INTO counts VALUES (?, ?, ?, ?, ?)", cells)


def _storing(file: Path, survey: Manifest) -> float:
    """Return the processor seconds of storing one receipt, in groups."""
    receipts = [
        Receipt(survey.survey_id, 0, os.urandom(RECEIPT_KEY_BYTES), response, None)
        for response in _responses(survey, 10 * _REPORTS)
    ]
    with closing(SqliteDatabase(file)) as database:
        used = time.process_time()
        for start in range(0, len(receipts), _GROUP):
            add_receipts(database, receipts[start : start + _GROUP])
        # What the log still holds is copied when it is closed, at the cost of this measurement.
        database.close()
        return (time.process_time() - used) / len(receipts)


def _counts(survey: Manifest) -> dict[int, int]:
    truth = 1 / np.arange(1, survey.mechanism.categories + 1)
    law = decoder_of(survey.mechanism).response_shares(truth / truth.sum())
    drawn = np.random.default_rng(2016).multinomial(_COUNTED, law / law.sum())
    return {int(response): int(drawn[response]) for response in np.flatnonzero(drawn)}
