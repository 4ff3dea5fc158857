"""The form to which a trace of any kind is brought before its slices are nested and its rows inserted."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyze.event_columns import FilteredText
from analyze.faults import Faults


@dataclass
class Slices:
    """Columns of the slices; row number is the slice's number. Times in ns from the trace's first event."""

    start_ns: npt.NDArray[np.int64]
    dur_ns: npt.NDArray[np.int64]
    thread: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    kinds: list[str]
    name: pa.ChunkedArray
    category: pa.ChunkedArray
    args: FilteredText

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass
class NormalisedTrace:
    """One trace. `tables` holds rows for the store's tables of the same names, without run, pass and rank."""

    name: str
    rank: int | None
    world_size: int | None
    base_unix_ns: int | None
    origin_ns: int
    raw_events: int
    slices: Slices
    tables: dict[str, pa.Table]
    faults: Faults
    notes: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def excluded_events(self) -> int:
        """Raw events that are not loaded."""
        return self.faults.excluded.total()

    def let_go(self) -> None:
        """Free the rows, once they are in the store; clock, counts and notes stay."""
        del self.slices, self.tables
