"""Bytes on disk, in whatever form a device of any language writes them."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path


def files_with(folder: Path, *needles: bytes) -> list[str]:
    """Return the names of the files that hold any of these bytes, as they are or written out."""
    written = [form for needle in needles for form in written_forms(needle)]
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [
        file.name
        for file in files
        for content in [file.read_bytes()]
        if any(form in content for form in written)
    ]


def written_forms(needle: bytes) -> Iterator[bytes]:
    """Yield the bytes as they may stand in a file, wherever they begin in what is encoded."""
    yield needle
    yield from (needle.hex().encode(), needle.hex().upper().encode())
    yield from (sign.join(b"%d" % byte for byte in needle) for sign in (b",", b", "))
    for before in range(3):  # bytes of whatever stands before it, in the first group of three
        encoded = b64encode(bytes(before) + needle)[4 if before else 0 : -4]
        yield from (encoded, encoded.translate(bytes.maketrans(b"+/", b"-_")))
