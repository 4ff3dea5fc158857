"""What both trace-processor engines do: take trace bytes, answer SQL with Arrow tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pyarrow as pa

# Perfetto counts here what it could not import; a reader that ignores it reports lost events as absent ones.
_STATS_SQL = (
    "SELECT name, idx, severity, source, value, description FROM stats "
    "WHERE severity IN ('error', 'data_loss') AND value > 0 ORDER BY name, idx"
)


@dataclass(frozen=True)
class Stat:
    """One row of trace processor's `stats` table that reports an error or lost data.

    `value` counts occurrences (its unit is the statistic's own, see `description`); `severity` is
    `error` or `data_loss`; `source` is `trace` or `analysis`; `idx` is None for a single statistic.
    """

    name: str
    idx: int | None
    severity: str
    source: str
    value: int
    description: str


class Engine(ABC):
    """One trace inside Perfetto's trace processor.

    Use it as a context manager: `parse` any number of times, `finish` once, then `query`.
    Every method raises `PhasescopeError` when trace processor refuses, traps or dies.
    """

    name: str
    version: str

    @abstractmethod
    def parse(self, chunk: bytes) -> None:
        """Hand over the next bytes of the trace, in any format that trace processor knows."""

    @abstractmethod
    def finish(self) -> None:
        """Tell trace processor that the trace has ended."""

    @abstractmethod
    def query(self, sql: str) -> pa.Table:
        """The rows of `sql`, typed as `cells.decode` describes."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory or end the process; a second call does nothing."""

    def stats(self) -> list[Stat]:
        """Statistics of severity `error` or `data_loss` above zero, by name."""
        return [Stat(**row) for row in self.query(_STATS_SQL).to_pylist()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
