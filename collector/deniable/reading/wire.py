"""Epochs, counts and notes in a collector's JSON answers: written and read in one module."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from deniable.documents import Column, Table
from deniable.documents.programs import Field, Json, plain
from deniable.messages import Manifest
from deniable.reading.epochs import EpochStanding, EpochState, instant_text, iso_time
from deniable.reading.source import EpochCounts, ListedEpoch, NotReached, Untrusted, added_up
from deniable.stores.values import MOST_NOTES, Note, Seal, check_note

Read = TypeVar("Read")

MEANING: Final = (
    "responses are randomised, not true answers: to estimate shares, use the survey's mechanism"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def epochs_map(
    manifest: Manifest, epochs: Iterable[ListedEpoch], distrusted: Iterable[bytes]
) -> dict[str, Any]:
    """Return the epochs that have figures, as plain values for JSON."""
    schedule = manifest.schedule
    return {
        **_survey(manifest),
        "epochs": [
            {
                "epoch": epoch.number,
                "start": iso_time(schedule.epoch_start(epoch.number)),
                "end": iso_time(schedule.epoch_start(epoch.number + 1)),
                "n": epoch.n,
                "state": epoch.state.value,
                "seal": epoch.standing.seal,
                "whole": None if epoch.seal is None else epoch.seal.reports == epoch.n,
                "sealed_at": None if epoch.seal is None else epoch.seal.sealed_at,
                "pruned_at": None if epoch.seal is None else epoch.seal.pruned_at,
            }
            for epoch in epochs
            if epoch.n
        ],
        "distrusted_issuers": sorted(issuer.hex() for issuer in distrusted),
    }


def read_epochs(
    manifest: Manifest, body: object
) -> tuple[tuple[ListedEpoch, ...], frozenset[bytes]]:
    """Return the epochs that have figures, and the distrusted issuers.

    Raises:
        NotReached: if the body is not such an answer.
        Untrusted: if the answer is about another survey.
    """

    def epoch(row: Any) -> ListedEpoch:
        n, seal = _count(row["n"], 1), None
        if row["sealed_at"] is not None:
            seal = Seal(
                _epoch(manifest, row["epoch"]),
                _count(row["sealed_at"]),
                n if row["whole"] is True else None,
                b"" if row["seal"] is None else bytes.fromhex(_digest(row["seal"])),
                None if row["pruned_at"] is None else _count(row["pruned_at"]),
            )
        return ListedEpoch(_epoch(manifest, row["epoch"]), n, EpochState(row["state"]), seal)

    def read(answer: Any) -> tuple[tuple[ListedEpoch, ...], frozenset[bytes]]:
        return (
            tuple(map(epoch, answer["epochs"])),
            frozenset(map(bytes.fromhex, answer["distrusted_issuers"])),
        )

    return _understood(manifest, body, read)


def counts_map(manifest: Manifest, epochs: Sequence[EpochCounts]) -> dict[str, Any]:
    """Return counts as plain values for JSON."""
    return {
        **_survey(manifest),
        "meaning": MEANING,
        "epochs": [
            {
                "epoch": epoch.epoch,
                "n": epoch.reports,
                "state": epoch.standing.state.value,
                "seal": epoch.standing.seal,
                "whole": epoch.by_issuer is not None,
                "distrusted": epoch.distrusted,
                "relayed": epoch.relayed,
                "counts": [
                    {
                        "issuer": None if issuer is None else issuer.hex(),
                        "responses": sorted(counts),
                        "reports": [counts[response] for response in sorted(counts)],
                    }
                    for issuer, counts in _parts(epoch).items()
                ],
            }
            for epoch in epochs
        ],
    }


def read_counts(manifest: Manifest, body: object) -> tuple[EpochCounts, ...]:
    """Return counts; complete counts are checked against their seals.

    Raises:
        NotReached: if the body is not such an answer.
        Untrusted: if the answer is about another survey, or does not match the seal.
    """

    def part(row: Any) -> dict[int, int]:
        counts = dict(zip(map(_count, row["responses"]), row["reports"], strict=True))
        if len(counts) != len(row["responses"]) or min(map(_count, counts.values())) < 1:
            raise ValueError("a response occurs more than once, or not at all")
        if max(counts) >= manifest.mechanism.responses:
            raise ValueError("there is no such response")
        return counts

    def epoch(row: Any) -> EpochCounts:
        parts = {
            None if counts["issuer"] is None else bytes.fromhex(counts["issuer"]): part(counts)
            for counts in row["counts"]
        }
        if len(parts) != len(row["counts"]):
            raise ValueError("an issuer occurs twice")
        seal = None if row["seal"] is None else _digest(row["seal"])
        state, whole = EpochState(row["state"]), row["whole"] is True
        standing = EpochStanding(state, seal)
        # A survey without a minimum withholds nothing; and complete counts have their digest.
        sealed = state is EpochState.SEALED
        if (
            (whole and seal is None)
            or (seal is not None and not sealed)
            or (sealed and manifest.minimum_reports <= 1 and not whole)
        ):
            raise Untrusted("the counts of a sealed epoch are incomplete: its seal covers more")
        counts = EpochCounts(
            manifest.survey_id,
            _epoch(manifest, row["epoch"]),
            added_up(list(parts.values())),
            _count(row["distrusted"]),
            standing,
            parts if whole else None,
            row.get("relayed") is True,
        )
        if _count(row["n"], 1) != counts.reports or counts.distrusted > counts.reports:
            raise ValueError("the number of entries is not the number announced")
        counts.check()
        return counts

    return _understood(manifest, body, lambda answer: tuple(map(epoch, answer["epochs"])))


def _parts(epoch: EpochCounts) -> Mapping[bytes | None, Mapping[int, int]]:
    return {None: epoch.counts} if epoch.by_issuer is None else epoch.by_issuer


def _survey(manifest: Manifest) -> dict[str, Any]:
    return {"survey": manifest.name, "survey_id": manifest.survey_id.hex()}


def _understood(manifest: Manifest, body: object, read: Callable[[Any], Read]) -> Read:
    try:
        if not isinstance(body, dict) or body["survey_id"] != manifest.survey_id.hex():
            raise Untrusted("the collector returned a survey that was not requested")
        return read(body)
    except (KeyError, TypeError, ValueError) as error:
        raise NotReached(
            "this version cannot read the answer; check that it comes from a collector of about "
            "the same version"
        ) from error


def _count(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 1 << 63:
        raise ValueError("not a count")
    return value


def _digest(value: object) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise ValueError("not a digest")
    return value


def _epoch(manifest: Manifest, value: object) -> int:
    if _count(value) >= manifest.schedule.epochs:
        raise ValueError("there is no such epoch")
    return _count(value)


_NOTE: Final = (
    Field("at", lambda note: iso_time(note.at)),
    Field("text"),
)


def note_maps(notes: Sequence[Note]) -> list[Json]:
    """Return notes as plain values for JSON."""
    return [plain(note, _NOTE) for note in notes]


def read_notes(values: Any) -> tuple[Note, ...]:
    """Return the notes from plain values; ValueError if the values are invalid."""
    if not isinstance(values, list) or len(values) > MOST_NOTES:
        raise ValueError("not a list of notes")
    try:
        return tuple(
            Note(int(datetime.fromisoformat(value["at"]).timestamp()), check_note(value["text"]))
            for value in values
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError("not a list of notes") from error


def numbered_notes(notes: Sequence[Note]) -> Table:
    """Return the table of notes beside a chart that marks them with their numbers."""
    columns = [
        Column("mark", "", "number"),
        Column("at", "at", "name", cell=lambda row: row["when"]),
        Column("text", "what happened"),
    ]
    pairs = enumerate(zip(note_maps(notes), notes, strict=True), start=1)
    rows = [row | {"mark": mark, "when": instant_text(note.at)} for mark, (row, note) in pairs]
    return Table(columns, rows, title="What happened")
