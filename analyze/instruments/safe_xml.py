"""The one XML parser that Instruments files go to: expat with everything refused that reaches beyond the file.

No DOCTYPE, so no entities of the file's own, no external ones, and no network.
"""

from collections.abc import Callable
from typing import NoReturn
from xml.parsers import expat

CHUNK_BYTES = 1 << 18


class XmlFault(Exception):
    """The document breaks here: not well-formed, or not of the shape that it must have."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class SafeParser:
    """An expat parser whose handlers `start(tag, attributes)`, `end(tag)` and `text(data)` see all there is.

    `attributes` is a flat list name, value, name, value… in document order.
    """

    def __init__(
        self, start: Callable[[str, list[str]], None], end: Callable[[str], None], text: Callable[[str], None]
    ) -> None:
        self._expat = expat.ParserCreate()
        self._expat.ordered_attributes = True
        self._expat.buffer_text = True
        self._expat.buffer_size = 1 << 16
        self._expat.StartElementHandler = start
        self._expat.EndElementHandler = end
        self._expat.CharacterDataHandler = text
        self._expat.StartDoctypeDeclHandler = self._refuse("a DOCTYPE")
        self._expat.EntityDeclHandler = self._refuse("an entity declaration")
        self._expat.ExternalEntityRefHandler = self._refuse("an external entity")

    def handle(self, start: Callable[[str, list[str]], None], end: Callable[[str], None]) -> None:
        """Other handlers of elements from here on."""
        self._expat.StartElementHandler = start
        self._expat.EndElementHandler = end

    def feed(self, chunk: bytes, last: bool = False) -> None:
        """Parse more of the document. Raises XmlFault with the place; the parser is of no use after that."""
        try:
            self._expat.Parse(chunk, last)
        except expat.ExpatError as error:
            raise XmlFault(expat.ErrorString(error.code) or "malformed", error.lineno, error.offset + 1) from None

    def place(self) -> tuple[int, int]:
        """Line and column (both from 1) of what is being handled now."""
        return self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber + 1

    def byte_index(self) -> int:
        """Offset in the document of what is being handled now."""
        return self._expat.CurrentByteIndex

    def fail(self, message: str) -> NoReturn:
        """Stop here. Raises XmlFault."""
        raise XmlFault(message, *self.place())

    def _refuse(self, what: str) -> Callable[..., NoReturn]:
        def handler(*_: object) -> NoReturn:
            self.fail(f"it holds {what}, which no export of xctrace has and which is not read")

        return handler
