"""What a disk holds after a power cut, rebuilt from what processes had synchronised by then.

``kill -9`` cannot show that: what a process had written the system still has. So ``power_cut.c`` is
preloaded into processes, and tells their writes and synchronisations. After a cut a file has every
write that was synchronised, and of the others any sectors; a file was made or deleted for certain
only once its folder was synchronised.
"""

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

_HEAD = struct.Struct("<IIqII")
_SECTOR = 512
_TRACE = "POWER_CUT_TRACE"


class Record(NamedTuple):
    """One line of a trace: W(rite), T(runcate), B(egin) and E(nd) of a sync, U(nlink), A(nswer)."""

    kind: str
    thread: int
    offset: int
    name: str
    data: bytes


def acknowledge(data: bytes) -> None:
    """Note in the trace of this process that somebody was given an answer."""
    trace = os.open(os.environ[_TRACE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(trace, _HEAD.pack(ord("A"), 0, 0, 0, len(data)) + data)
    os.close(trace)


def die_soon(synchronisations: int) -> None:
    """Have this process killed after so many synchronisations more, when it begins the next."""
    os.environ["POWER_CUT_DIE"] = str(synchronisations)


class Tracer:
    """Traces what processes do to the files of a folder; where there is no compiler, it skips.

    Args:
        folder: whose files.
        scratch: another, for the tracer's own.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("there is no C compiler: apt-get install gcc")
        self._folder, self._trace = folder.resolve(), scratch / "trace"
        self._library = scratch / "power_cut.so"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", self._library, source, "-ldl"], check=True
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment of a process that is to be traced."""
        return {
            **os.environ,
            "LD_PRELOAD": str(self._library),
            "POWER_CUT_ROOT": str(self._folder),
            _TRACE: str(self._trace),
        }

    def records(self) -> Iterator[Record]:
        """Read the trace; names are relative to the folder, whose own is empty."""
        trace, at = self._trace.read_bytes(), 0
        while at < len(trace):
            kind, thread, offset, name_bytes, data_bytes = _HEAD.unpack_from(trace, at)
            data = at + _HEAD.size + name_bytes
            name = trace[at + _HEAD.size : data].decode().removeprefix(str(self._folder))
            at = data + data_bytes
            yield Record(chr(kind), thread, offset, name.removeprefix("/"), trace[data:at])


@dataclass
class _File:
    synchronised: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes by their offset, and truncations to it, that are not on the disk for certain."""
    done: int = 0

    def begin(self) -> int:
        return self.done + len(self.pending)

    def end(self, begun: int) -> None:
        for _ in range(begun - self.done):
            _apply(self.synchronised, *self.pending.pop(0))
            self.done += 1

    def after_a_cut(self, chance: random.Random, share: float) -> bytes:
        image = bytearray(self.synchronised)
        for offset, data in self.pending:
            if data is None:
                if chance.random() < share:
                    _apply(image, offset, None)
                continue
            for start in range(0, len(data), _SECTOR):
                if chance.random() < share:
                    _apply(image, offset + start, data[start : start + _SECTOR])
        return bytes(image)


class Disk:
    """What is on the disk for certain, and what besides perhaps, as a trace is followed."""

    def __init__(self) -> None:
        self._now: dict[str, _File] = {}
        self._certain: dict[str, _File] = {}
        self._folder: list[tuple[str, _File | None]] = []
        """Files that were made or deleted, perhaps."""
        self._done = 0
        self._begun: dict[tuple[int, str], int] = {}

    def follow(self, record: Record) -> None:
        kind, thread, offset, name, data = record
        if name.endswith(("-shm", " (deleted)")) or kind == "A":
            return  # of shared memory nothing is expected to stay
        if kind in "WT":
            self._file(name).pending.append((offset, data if kind == "W" else None))
        elif kind == "U":
            del self._now[name]
            self._folder.append((name, None))
        elif kind == "B":
            begun = self._file(name).begin() if name else self._done + len(self._folder)
            self._begun[thread, name] = begun
        elif name:
            self._now[name].end(self._begun[thread, name])
        else:
            begun = self._begun[thread, name]
            while self._done < begun:
                self._change(self._certain, *self._folder.pop(0))
                self._done += 1

    def after_a_cut(self, place: Path, chance: random.Random, share: float) -> None:
        """Write the files as a power cut now may leave them.

        Args:
            place: an empty folder.
            chance: which sectors were written.
            share: how many of those that need not have been; also of what folders hold.
        """
        files = dict(self._certain)
        for change in self._folder[: round(share * len(self._folder))]:
            self._change(files, *change)
        for name, file in files.items():
            (place / name).write_bytes(file.after_a_cut(chance, share))

    def _file(self, name: str) -> _File:
        if name not in self._now:
            self._now[name] = _File()
            self._folder.append((name, self._now[name]))
        return self._now[name]

    @staticmethod
    def _change(files: dict[str, _File], name: str, file: _File | None) -> None:
        if file is None:
            files.pop(name, None)
        else:
            files[name] = file


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del image[offset:]
        data = b""
    image.extend(bytes(max(0, offset - len(image))))
    image[offset : offset + len(data)] = data
