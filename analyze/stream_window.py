"""A window on a stream of JSON: what is read and not yet taken, and the tokens at its front."""

import re
from typing import BinaryIO

from analyze.faults import Faults
from analyze.unpacked import unpacked

PIECE_BYTES = 2 << 20
WHITE = b" \t\r\n"
NOT_WHITE = re.compile(rb"[^ \t\r\n]")
# A quote alone is a string whose end is not read yet. Possessive: a way back for each byte of a string would take 80
# times its memory.
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\[\s\S])*+"|[\[\]{}"]')
_STRING = re.compile(rb'"(?:[^"\\]++|\\[\s\S])*+"')
_SCALAR = re.compile(rb"[^\s,\]}]+")


class StreamWindow:
    """A window on the stream that knows its place in the (decompressed) file: `data` from `at` on."""

    def __init__(self, stream: BinaryIO, faults: Faults) -> None:
        self.stream = unpacked(stream)
        self.faults = faults
        self.data = b""
        self.at = 0
        self.ended = False
        self._before = 0

    def __len__(self) -> int:
        return len(self.data) - self.at

    @property
    def offset(self) -> int:
        """Byte of the file at which the window begins."""
        return self._before + self.at

    def more(self, size: int = PIECE_BYTES) -> bool:
        """Read on; False at the end of the file."""
        parts = []
        while size > 0 and not self.ended:
            part = self.stream.read1(size)
            self.ended = not part
            parts.append(part)
            size -= len(part)
        if self.ended and self.stream.damage and not self.faults.repaired["damaged_compression"]:
            self.faults.mend("damaged_compression", 1, self.stream.damage)
        block = b"".join(parts)
        if not block:
            return False
        self.data = self.data[self.at :] + block
        self._before += self.at
        self.at = 0
        return True

    def window(self, size: int) -> bytes:
        """The next `size` bytes, fewer where fewer are read."""
        return self.data if self.at == 0 and len(self.data) <= size else self.data[self.at : self.at + size]

    def drop(self, count: int) -> None:
        """Take `count` bytes from the front."""
        self.at += count

    def skip_white(self) -> bytes:
        """Drop white space; returns the next byte without dropping it, b"" at the end."""
        while True:
            match = NOT_WHITE.search(self.data, self.at)
            self.at = match.start() if match else len(self.data)
            if match or not self.more():
                return self.data[self.at : self.at + 1]

    def take_string(self) -> str | None:
        """Take the string at the front, as it is written; None where the file ends inside it."""
        while True:
            match = _STRING.match(self.data, self.at)
            if match:
                self.at = match.end()
                return match.group()[1:-1].decode(errors="replace")
            if not self.more():
                return None

    def take_value(self) -> bytes | None:
        """Take the value at the front, raw, however long; None where the file ends inside it."""
        depth, read = 0, 0
        while True:
            if depth == 0 and self.window(1) not in (b"{", b"[", b'"', b""):
                match = _SCALAR.match(self.data, self.at)
                if match and match.end() < len(self.data):
                    self.at = match.end()
                    return match.group()
            else:
                for match in _STRUCTURE.finditer(self.data, self.at + read):
                    if match.group() == b'"':
                        break
                    byte = match.group()[:1]
                    read = match.end() - self.at
                    depth += (byte in b"{[") - (byte in b"}]")
                    if depth == 0:
                        value = self.window(read)
                        self.drop(read)
                        return value
            if not self.more():
                return None

    def value_bytes(self, most: int) -> int:
        """Bytes of the value at the front, by brackets and quotes alone; 0 where it does not end within `most`."""
        data, at = self.data, self.at
        stop = min(len(data), at + most)
        if data[at : at + 1] not in (b"{", b"[", b'"'):
            match = _SCALAR.match(data, at, stop)
            return match.end() - at if match and match.end() < stop else 0
        depth = 0
        for match in _STRUCTURE.finditer(data, at, stop):
            if match.group() == b'"':
                return 0
            byte = match.group()[:1]
            depth += (byte in b"{[") - (byte in b"}]")
            if depth <= 0:
                return match.end() - at
        return 0
