"""What a template needs to lay out a table: texts, values to sort by, bars in cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result


@dataclass(frozen=True)
class Cell:
    """Text as it reads, the value it sorts by, and a bar of 0 to 1 in a colour of the palette."""

    text: str
    sort: float | str | None = None
    bar: float | None = None
    tone: str = ""

    @property
    def bar_percent(self) -> str:
        return f"{min(max(self.bar or 0.0, 0.0), 1.0) * 100:.2f}"


@dataclass(frozen=True)
class Column:
    """A head, with a unit and a group above it where there is one.

    `how`: how its numbers came to be, as one word, or as `relation.column` of the store whose word it is.
    """

    head: str
    unit: str = ""
    numeric: bool = False
    group: str = ""
    tone: str = ""
    how: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its head. `first` rows show before the reader asks for all."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sql: tuple[Result, ...] = ()
    sortable: bool = False
    searchable: bool = False
    first: int = 0
    note: str = ""

    @property
    def how(self) -> str:
        """The word that all numbers of the table share; empty where they differ or nothing is said of them."""
        words = {column.how for column in self.columns if column.numeric}
        return words.pop() if len(words) == 1 else ""

    @property
    def groups(self) -> list[tuple[str, str, int]]:
        """Group, tone and number of columns, in order; empty when no column has one."""
        if not any(column.group for column in self.columns):
            return []
        spans: list[tuple[str, str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, column.tone, spans[-1][2] + 1)
            else:
                spans.append((column.group, column.tone, 1))
        return spans


def word(text: object) -> Cell:
    """A cell of text; nothing where there is none."""
    shown = fmt.MISSING if text is None else str(text)
    return Cell(shown, None if text is None else shown.lower())


def number(value: float | None, shown: str, bar: float | None = None, tone: str = "") -> Cell:
    """A cell with a number that reads as `shown`."""
    return Cell(shown, value, bar, tone)


def shares(values: Sequence[float | None]) -> list[float | None]:
    """Each value over the largest, for bars in a column."""
    largest = max((v for v in values if v is not None), default=0)
    return [None if v is None or not largest else v / largest for v in values]
