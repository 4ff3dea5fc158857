"""What must be known of a read: rows left out, rows mended, and what the recording could not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.instruments import tables

if TYPE_CHECKING:
    from analyze.instruments.load import InstrumentsData
    from analyze.instruments.signposts import Pairing

Entry = tuple[str, int, str]


class Quality:
    """Counts by reason, with the sentence of the first case."""

    def __init__(self) -> None:
        self._excluded: dict[str, tuple[int, str]] = {}
        self._repaired: dict[str, tuple[int, str]] = {}
        self._notes: dict[str, tuple[int, str]] = {}

    def exclude(self, reason: str, rows: int, sentence: str) -> None:
        """Rows that are not in the store."""
        _count(self._excluded, reason, rows, sentence)

    def repair(self, reason: str, rows: int, sentence: str) -> None:
        """Rows that are in the store, mended or from a damaged file."""
        _count(self._repaired, reason, rows, sentence)

    def note(self, reason: str, rows: int, sentence: str) -> None:
        """Something a reader of the numbers must know."""
        _count(self._notes, reason, rows, sentence)

    def lists(self) -> tuple[list[Entry], list[Entry], list[Entry]]:
        """(excluded, repaired, notes), each (reason, rows, sentence)."""
        excluded, repaired, notes = (
            [(reason, rows, sentence) for reason, (rows, sentence) in kind.items()]
            for kind in (self._excluded, self._repaired, self._notes)
        )
        return excluded, repaired, notes

    def about_recording(self, data: InstrumentsData, pairing: Pairing) -> None:
        """What the tables as a whole do and do not show."""
        empty = sorted(table for table, rows in data.rows_by_table.items() if not rows)
        for table in empty:
            self.note(f"empty_table {table}", 0, f"{table}: the table is there and has no rows: nothing was recorded")
        self._about_gpu(data)
        if pairing.begin_only or pairing.end_only:
            self.note(
                "unpaired_signposts",
                pairing.begin_only + pairing.end_only,
                f"{pairing.begin_only} signposts begin and never end, {pairing.end_only} end and never began; "
                "they are kept without a duration",
            )
        if pairing.ambiguous:
            self.note(
                "ambiguous_signposts",
                pairing.ambiguous,
                "signposts that began while one of the same name and identifier was open; taken as nested",
            )
        for kind, rows in pairing.unknown_kinds.items():
            self.note("unknown_signpost_kind", rows, f"signposts of kind {kind[:40]!r}, kept as events")
        self._about_toc(data)
        if data.clock.method == "toc_start_date":
            self.note(
                "clock_by_start_date",
                0,
                f"recording and pass are joined by the TOC's start date, to {data.clock.uncertainty_ns} ns",
            )
        elif data.clock.reason:
            self.note("clock_not_joined", 0, data.clock.reason)

    def _about_gpu(self, data: InstrumentsData) -> None:
        gpu_rows = data.rows_by_table.get(tables.GPU_INTERVALS)
        if gpu_rows is None:
            offered = data.toc is not None and data.toc.offers(tables.GPU_INTERVALS)
            tail = "; the recording offers it: export it too" if offered else ""
            if data.toc is not None and data.rows_by_table:
                self.note("no_gpu_table", 0, f"{tables.GPU_INTERVALS} is not among the exports{tail}")
            return
        if data.target_pid is None:
            self.note(
                "target_unknown",
                gpu_rows,
                "no TOC names the recorded process, so its GPU rows cannot be told from those of others",
            )
        elif not data.target_rows:
            self.note(
                "not_captured",
                0,
                f"none of the {gpu_rows} GPU rows is of the recorded process {data.target_pid}: its GPU work was "
                "not captured, which does not mean that the GPU was idle",
            )

    def _about_toc(self, data: InstrumentsData) -> None:
        if data.toc is None:
            return
        if data.toc.counter_set == "(null)":
            self.note("no_counter_set", 0, "the TOC says Counter Set: (null): limiter counters were not recorded")
        signposts = [table for table in data.rows_by_table if "signpost" in table.lower()]
        if signposts and data.toc.recording_mode == "Deferred" and not any(map(data.rows_by_table.get, signposts)):
            self.note(
                "signposts_empty",
                0,
                "all signpost tables are empty; a deferred recording loses them when its log archive is damaged",
            )


def _count(kind: dict[str, tuple[int, str]], reason: str, rows: int, sentence: str) -> None:
    before = kind.get(reason)
    kind[reason] = (rows, sentence) if before is None else (before[0] + rows, before[1])
