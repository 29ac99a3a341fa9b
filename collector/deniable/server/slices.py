"""Large answers, given to a connection by slices: none makes a copy of the whole."""

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from deniable.server.room import SLICE_BYTES

__all__ = ["Slices"]


class Slices(Payload):
    """Bytes that any number of answers share.

    Args:
        body: the bytes.
    """

    _value: bytes

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the bytes as text."""
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write a slice at a time, each once the connection has taken the one before."""
        whole = memoryview(self._value)
        for start in range(0, len(whole), SLICE_BYTES):
            await writer.write(whole[start : start + SLICE_BYTES])
            await writer.drain()
