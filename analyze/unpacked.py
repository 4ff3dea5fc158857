"""A source's bytes up to where it is damaged: reading ends there, and the reader is told why."""

import io
import zipfile
import zlib
from typing import Any, BinaryIO, cast

# What gzip, zip and the disk raise; zip says of an unknown method or a password only when it reads.
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)
_BLOCK = 1 << 20


class Unpacked(io.BufferedIOBase):
    """Reads another stream; damage is its end, and `damage` the sentence that must then be said."""

    def __init__(self, stream: BinaryIO) -> None:
        self.damage: str | None = None
        self._stream = stream
        # read1 gives what is whole before it fails, where read loses it.
        self._read_some = getattr(stream, "read1", stream.read)
        self._bytes = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def read1(self, size: int | None = -1) -> bytes:
        """Up to `size` bytes; b"" at the end and where the stream is damaged."""
        if self.damage is not None:
            return b""
        try:
            block = cast(bytes, self._read_some(_BLOCK if size is None or size < 0 else size))
        except _DAMAGE as error:
            self.damage = f"reading breaks off ({error}) after byte {self._bytes} of the unpacked content"
            return b""
        self._bytes += len(block)
        return block

    def read(self, size: int | None = -1) -> bytes:
        """`size` bytes, fewer only at the end and where the stream is damaged."""
        left = size if size is not None and size >= 0 else None
        parts = []
        while left != 0 and (block := self.read1(left)):
            parts.append(block)
            left = None if left is None else left - len(block)
        return b"".join(parts)

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()
        super().close()


def unpacked(stream: BinaryIO) -> Unpacked:
    """The stream as one that ends where it is damaged."""
    return stream if isinstance(stream, Unpacked) else Unpacked(cast(Any, stream))
