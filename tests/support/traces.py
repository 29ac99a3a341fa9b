"""What a device leaves behind in forms that can be compared: its log's pages, and frames."""

import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import deniable.client

_SDK = str(Path(deniable.client.__file__).parents[3])
_TESTS = str(Path(__file__).parents[1])
_HEADER, _FRAME_HEADER = 32, 24
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def pages_of_log(log: bytes) -> list[bytes]:
    """Return the frames of SQLite's write-ahead log without its random salts and their checksums.

    Each is the page's number, the size of the database after a commit, and the page.
    """
    page = int.from_bytes(log[8:12])
    size = _FRAME_HEADER + page
    frames = [log[at : at + size] for at in range(_HEADER, len(log), size)]
    return [frame[:8] + frame[_FRAME_HEADER:] for frame in frames]


def dump(error: BaseException) -> str:
    """Return what a crash reporter would collect: the SDK's frames with all local variables.

    The app's own frames are left out; what hangs on the error, its causes too, is in.
    """
    return _ADDRESS.sub("0x", "\n".join(_dump(error)))


def _dump(error: BaseException | None) -> Iterator[str]:
    if error is None:
        return
    yield f"{type(error).__name__} {error!r} {error.args!r} {vars(error)!r}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        if is_ours(frame):
            yield f"{line}: {held_by(frame)}"
    yield from _dump(error.__cause__)
    yield from _dump(error.__context__)


def is_ours(frame: FrameType) -> bool:
    """Tell whether a frame is of the SDK."""
    file = frame.f_code.co_filename
    return file.startswith(_SDK) and not file.startswith(_TESTS)


def held_by(frame: FrameType) -> str:
    """Return the name of a frame's function and all its local variables."""
    variables = (f"  {name} = {value!r}" for name, value in sorted(frame.f_locals.items()))
    return _ADDRESS.sub("0x", "\n".join([frame.f_code.co_qualname, *variables]))
