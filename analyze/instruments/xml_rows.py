"""Rows of one `xctrace export` document, streamed: strict and exact.

Cells are positional, one a column; a value seen before is a `ref`; a null is `<sentinel/>` in its column's
place. A `<node>` without a schema goes on with the schema before it, and ids hold across nodes. What does
not fit is reported with its place, never guessed: a row that is short, long, shifted or refers to nothing is
a fault of that row alone, since the ids in it are read all the same; broken XML ends the document.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from analyze.instruments.ids import IdFault, IdTable
from analyze.instruments.safe_xml import CHUNK_BYTES, SafeParser, XmlFault
from analyze.instruments.values import Composite, Value, compose, plain

MAX_DEPTH = 200
"""Elements inside one another; real exports stay under ten."""

# Column types under which Instruments writes elements of another name.
_ANY = "any"
_BACKTRACES = {"backtrace", "tagged-backtrace"}
# Numbers whose meaning is in their fmt alone: 3 is "CPU 3 (P Core)", 0 is "Timer Fired".
_CODES = {"core", "time-sample-kind"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the document's schema states it."""

    mnemonic: str
    type: str


@dataclass(frozen=True)
class Schema:
    """The schema of a table: its name and its columns in their order."""

    name: str
    columns: tuple[Column, ...]

    def position(self, *mnemonics: str) -> int | None:
        """The place of the first of these columns that there is, or None."""
        for mnemonic in mnemonics:
            for place, column in enumerate(self.columns):
                if column.mnemonic == mnemonic:
                    return place
        return None


@dataclass
class Batch:
    """Rows of one node. `lines` and `numbers` give each row's line in the file and its number in its node."""

    schema: Schema
    node: str
    run: int | None
    rows: list[list[Value]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where. `reason` is malformed_row (that row alone) or broken_xml (the end of reading)."""

    reason: str
    message: str
    table: str | None
    row: int | None
    line: int
    column: int
    rows_lost: int


def read_rows(stream: BinaryIO, on_fault: Callable[[Fault], None]) -> Iterator[Batch]:
    """Yield the rows of a document as they are read, a batch for each node and chunk of the file.

    A node without rows yields one empty batch. Nothing is yielded for a document that holds no node.
    `on_fault` is told of each fault and may raise to stop. Memory: the ids of the document (see IdTable) and
    one chunk of rows.
    """
    document = _Document(on_fault)
    consumed = 0
    while True:
        chunk = stream.read(CHUNK_BYTES)
        try:
            document.parser.feed(chunk, last=not chunk)
        except XmlFault as broken:
            yield from document.take()
            rest = chunk[max(document.parser.byte_index() - consumed, 0) :]
            on_fault(document.broken(broken, _count_rows(rest, stream)))
            return
        consumed += len(chunk)
        yield from document.take()
        if not chunk:
            return


@dataclass(slots=True)
class _Open:
    """An element inside a row that has begun and not ended."""

    tag: str
    place: int | None
    fmt: str | None
    is_ref: bool
    value: Value
    parts: list[tuple[str, Value]] | None = None


class _Document:
    """State of the parse: envelope elements on `_path`, elements of the row on `_stack`."""

    def __init__(self, on_fault: Callable[[Fault], None]) -> None:
        self.parser = SafeParser(self._start, self._end, self._text)
        self._on_fault = on_fault
        self._ids = IdTable()
        self._path: list[str] = []
        self._stack: list[_Open] = []
        self._texts: list[str] = []
        self._schema: Schema | None = None
        self._schema_name = ""
        self._columns: list[dict[str, str]] = []
        self._types: list[str] = []
        self._batch: Batch | None = None
        self._done: list[Batch] = []
        self._row: list[Value] | None = None
        self._row_number = 0
        self._row_line = 0
        self._row_fault: tuple[str, int, int] | None = None

    def take(self) -> list[Batch]:
        """The rows read since the last call."""
        if self._batch is not None and self._batch.rows:
            full = self._batch
            self._batch = Batch(full.schema, full.node, full.run)
            self._done.append(full)
        done, self._done = self._done, []
        return done

    def broken(self, fault: XmlFault, rows_behind: int) -> Fault:
        """The fault that ends the document, with the row it broke in and those behind it counted as lost."""
        inside = self._row is not None
        return Fault(
            "broken_xml",
            str(fault),
            self._schema.name if self._schema else None,
            self._row_number + 1 if inside else None,
            fault.line,
            fault.column,
            rows_behind + inside,
        )

    # Envelope

    def _start(self, tag: str, attributes: list[str]) -> None:
        path = self._path
        parent = path[-1] if path else None
        if parent is None:
            if tag != "trace-query-result":
                self.parser.fail(f"the root is <{tag[:60]}>, not the <trace-query-result> of `xctrace export --xpath`")
        elif parent == "trace-query-result" and tag == "node":
            self._start_node(_attribute(attributes, "xpath") or "")
        elif parent == "node" and tag == "schema":
            if self._row_number or self._columns:
                self.parser.fail("a second <schema> stands in one <node>")
            self._schema_name = _attribute(attributes, "name") or ""
        elif parent == "node" and tag == "row":
            self._start_row()
            return
        elif (parent, tag) == ("schema", "col"):
            self._columns.append({})
        elif parent != "col":
            self.parser.fail(f"<{tag[:60]}> stands inside <{parent}>, where exports have no such element")
        path.append(tag)

    def _end(self, tag: str) -> None:
        self._path.pop()
        text, self._texts = "".join(self._texts), []
        if self._path and self._path[-1] == "col":
            self._columns[-1][tag] = text
        elif tag == "schema":
            self._end_schema()
        elif tag == "node":
            self._end_node()

    def _text(self, data: str) -> None:
        if self._stack or (self._path and self._path[-1] in ("mnemonic", "name", "engineering-type")):
            self._texts.append(data)
        elif not data.isspace():
            if self._row is None:
                self.parser.fail(f"the text {data.strip()[:40]!r} stands outside the rows")
            self._fault(f"the text {data.strip()[:40]!r} stands between the cells")

    def _start_node(self, xpath: str) -> None:
        run = re.search(r"/run\[(?:@number=\"?)?(\d{1,9})", xpath)
        self._node, self._run = xpath, int(run[1]) if run else None
        self._columns = []
        self._row_number = 0
        if self._schema is not None:
            self._batch = Batch(self._schema, self._node, self._run)

    def _end_schema(self) -> None:
        columns = tuple(Column(c.get("mnemonic", ""), c.get("engineering-type", "")) for c in self._columns)
        if not self._schema_name or not columns or any(not c.mnemonic or not c.type for c in columns):
            self.parser.fail("a <schema> lacks its name, or a column's mnemonic or engineering-type")
        self._schema = Schema(self._schema_name, columns)
        self._types = [c.type for c in columns]
        self._batch = Batch(self._schema, self._node, self._run)

    def _end_node(self) -> None:
        if self._batch is None:
            self.parser.fail("a <node> has no <schema>, and none stands before it")
        if self._batch.rows or not self._row_number:
            self._done.append(self._batch)
        self._batch = None

    # Rows

    def _start_row(self) -> None:
        if self._batch is None:
            self.parser.fail("a <row> stands before any <schema>")
        self._row = []
        self._row_fault = None
        self._row_line = self.parser.place()[0]
        self.parser.handle(self._start_in_row, self._end_in_row)

    def _end_row(self) -> None:
        self.parser.handle(self._start, self._end)
        row, self._row = self._row, None
        self._row_number += 1
        batch = self._batch
        assert row is not None
        assert batch is not None  # _start_row saw to both
        if self._row_fault is None and len(row) != len(self._types):
            self._fault(f"it has {len(row)} cells, and the schema has {len(self._types)} columns")
        if self._row_fault is None:
            batch.rows.append(row)
            batch.lines.append(self._row_line)
            batch.numbers.append(self._row_number)
            return
        message, line, column = self._row_fault
        self._on_fault(Fault("malformed_row", message, batch.schema.name, self._row_number, line, column, 1))

    def _start_in_row(self, tag: str, attributes: list[str]) -> None:
        stack = self._stack
        if stack:
            if len(stack) > MAX_DEPTH:
                self.parser.fail(f"elements stand over {MAX_DEPTH} deep inside one another")
            self._texts.clear()
            if stack[-1].parts is None:
                stack[-1].parts = []
        place: int | None = None
        fmt: str | None = None
        is_ref = False
        value: Value = None
        try:
            for name, text in zip(attributes[::2], attributes[1::2], strict=True):
                if name == "id":
                    place = self._ids.open(text, tag)
                elif name == "ref":
                    is_ref = True
                    value = self._ids.get(text, tag)
                elif name == "fmt" or (name == "name" and fmt is None):  # frames of a backtrace have a name
                    fmt = text
        except IdFault as fault:
            self._fault(str(fault))
        if is_ref and place is not None:
            self._fault(f"a <{tag}> has an id and a ref at once")
        stack.append(_Open(tag, place, fmt, is_ref, value))

    def _end_in_row(self, tag: str) -> None:
        stack = self._stack
        if not stack:
            self._end_row()
            return
        opened = stack.pop()
        value = opened.value
        if opened.is_ref or tag == "sentinel":
            if opened.parts is not None or self._texts:
                self._fault(f"a <{tag}> that must be empty has a content")
        elif opened.parts is not None:
            value = compose(tag, opened.fmt, opened.parts)
        elif self._texts:
            value = plain("".join(self._texts))
            if tag in _CODES and opened.fmt:
                value = Composite(opened.fmt, ((tag, value),))
        else:
            value = opened.fmt or ""
        if self._texts:
            self._texts.clear()
        if opened.place is not None:
            self._ids.close(opened.place, value)
        if stack:
            parts = stack[-1].parts
            assert parts is not None  # made when the child began
            parts.append((tag, value))
            return
        row = self._row
        assert row is not None
        if len(row) < len(self._types):
            expected = self._types[len(row)]
            if tag not in (expected, "sentinel") and expected != _ANY and {tag, expected} != _BACKTRACES:
                name = self._schema.columns[len(row)].mnemonic if self._schema else "?"
                self._fault(f"a <{tag}> stands in column {name}, which holds <{expected}>: cells have shifted")
        row.append(value)

    def _fault(self, message: str) -> None:
        """Remember the first thing wrong with this row."""
        if self._row_fault is None:
            self._row_fault = (message, *self.parser.place())


def _attribute(attributes: list[str], name: str) -> str | None:
    for index in range(0, len(attributes), 2):
        if attributes[index] == name:
            return attributes[index + 1]
    return None


def _count_rows(rest: bytes, stream: BinaryIO) -> int:
    """Rows that begin in what was not parsed."""
    count = 0
    while rest:
        count += rest.count(b"<row>")
        rest = (chunk := stream.read(CHUNK_BYTES)) and rest[-4:] + chunk
    return count
