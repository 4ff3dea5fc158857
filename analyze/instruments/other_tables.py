"""Tables of Instruments that have no table of their own in the store: kept whole, as spans or instants."""

import json
from typing import Any

from analyze.instruments import columns as read
from analyze.instruments.columns import Bad
from analyze.instruments.values import Composite, Value, text_of
from analyze.instruments.xml_rows import Batch

_NAMES = ("name", "label", "event-label", "event-name", "thread-state", "narrative", "signature", "message")
_TRACKS = ("thread", "start-thread", "process", "channel-name", "track-name", "gpu")
_TIMES = ("time", "timestamp", "start", "sample-time", "event-time", "update-time")


def spans_or_instants(batch: Batch, bad: Bad) -> tuple[str, dict[str, list[Any]]]:
    """The store table (spans where there are start and duration, else instants) and its columns.

    Rows without any time become instants with no time.
    """
    schema = batch.schema
    columns: dict[str, list[Any]] = {
        "name": _first_text(batch, _NAMES) or [schema.name] * len(batch.rows),
        "category": [schema.name] * len(batch.rows),
        "track": _first_text(batch, _TRACKS) or [None] * len(batch.rows),
        "args": [_args(batch, row) for row in batch.rows],
    }
    columns["name"] = [name or schema.name for name in columns["name"]]
    start, duration = schema.position("start"), schema.position("duration")
    if start is not None and duration is not None:
        columns["kind"] = columns.pop("category")
        columns["start_ns"] = read.times([row[start] for row in batch.rows], bad)
        columns["dur_ns"] = read.durations([row[duration] for row in batch.rows], bad)
        for index, value in enumerate(columns["start_ns"]):
            if value is None:
                bad.setdefault(index, "its start is missing")
        return "spans", columns
    time = schema.position(*_TIMES)
    columns["t_ns"] = [None] * len(batch.rows) if time is None else read.times([row[time] for row in batch.rows], bad)
    return "instants", columns


def _first_text(batch: Batch, mnemonics: tuple[str, ...]) -> list[str | None] | None:
    place = batch.schema.position(*mnemonics)
    return None if place is None else [text_of(row[place]) for row in batch.rows]


def _args(batch: Batch, row: list[Value]) -> str:
    """All cells as JSON text by mnemonic; a mnemonic that comes again gets a number."""
    args: dict[str, Any] = {}
    for column, value in zip(batch.schema.columns, row, strict=True):
        if value is None:
            continue
        name, number = column.mnemonic, 2
        while name in args:
            name, number = f"{column.mnemonic}#{number}", number + 1
        args[name] = _json(value)
    return json.dumps(args, ensure_ascii=False)


def _json(value: Value) -> Any:
    if isinstance(value, Composite) and (addresses := value.part("text-addresses")) is not None:
        return {"label": value.label, "addresses": text_of(addresses)}
    return value if isinstance(value, int) else text_of(value)
