"""The refusal codes as docs/protocol.md has them, in the table of "Upload"."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from deniable.messages import RefusalCode


class Documented(NamedTuple):
    """What the table says of one code."""

    status: int | None
    device: str

    @property
    def dropped(self) -> bool:
        """Whether a device gives up a single report for it."""
        return "drop" in self.device


def _parts(cell: str, separator: str) -> list[str]:
    return [part.strip() for part in cell.split(separator)]


def _read(text: str) -> dict[str, Documented]:
    upload = text.split("## Upload\n")[1].split("\n## ")[0]
    _, _, *rows = [line for line in upload.splitlines() if line.startswith("|")]
    found: dict[str, Documented] = {}
    for row in rows:
        named, statuses, device = _parts(row, "|")[1:-1]
        # Codes that a semicolon parts have each its own status and action, those of a comma share.
        groups = _parts(re.sub(r"\(.*?\)", "", named), ";")
        devices = _parts(device, ";") if len(groups) > 1 else [device]
        for group, status, action in zip(groups, _parts(statuses, ";"), devices, strict=True):
            codes = _parts(group, ",")
            numbers = [int(each) for each in status.split(", ")] if status else [None] * len(codes)
            for code, number in zip(codes, numbers, strict=True):
                assert code not in found, f"{code} stands twice in the table"
                found[code] = Documented(number, action)
    return found


TABLE: Final = _read((Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8"))
"""By the code's name."""

DROPPED: Final = {code for code in RefusalCode if TABLE[code].dropped}
RESENT: Final = set(RefusalCode) - DROPPED
TOO_LATE: Final = {code for code in RefusalCode if "may have been counted" in TABLE[code].device}
