"""Events at one instant as rows: counters, instants and flows. Each with how many raw events the rows stand for."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyze.event_columns import EventColumns, Tracks, id_text
from analyze.event_decoding import Event
from analyze.faults import Faults
from analyze.json_values import finite_number, json_object
from analyze.timestamps import FARTHEST_NS, FAULT_REASONS, nanoseconds


def timed(events: list[Event], origin: int, faults: Faults) -> list[tuple[Event, int]]:
    """The events whose time is good, with it in ns from `origin`."""
    times, fault = nanoseconds([e.ts for e in events])
    good = []
    for event, time, code in zip(events, times.tolist(), fault.tolist(), strict=True):
        if code:
            faults.exclude(FAULT_REASONS[code], 1, f"such as {event.name!r}")
        elif abs(time - origin) >= FARTHEST_NS:
            faults.exclude("far_from_the_rest", 1, f"such as {event.name!r}")
        else:
            good.append((event, time - origin))
    return good


def counter_rows(events: list[Event], origin: int, faults: Faults) -> tuple[pa.Table, int]:
    """A row for each series of each counter event."""
    track, t_ns, value, unit = [], [], [], []
    gaps = loaded = 0
    for event, at in timed(events, origin, faults):
        series = json_object(event.args)
        if not series:
            faults.exclude("counter_without_value", 1, f"such as {event.name!r}")
            continue
        loaded += 1
        for key, raw in series.items():
            number = finite_number(raw)
            gaps += number is None
            track.append("/".join(part for part in (id_text(event.pid), event.name, key) if part))
            t_ns.append(at)
            value.append(number)
            unit.append(event.name[event.name.rfind("(") + 1 : -1] if event.name.endswith(")") else None)
    if gaps:
        faults.mend("counter_gap", gaps, "counter values that are no numbers are missing, not 0")
    table = pa.table(
        {
            "track": pa.array(track, pa.string()),
            "t_ns": pa.array(t_ns, pa.int64()),
            "value": pa.array(value, pa.float64()),
            "unit": pa.array(unit, pa.string()),
        }
    )
    return table, loaded


def instant_rows(columns: EventColumns, tracks: Tracks, origin: int, faults: Faults) -> tuple[pa.Table, int]:
    """A row for each instant."""
    common, keep = _common_columns(columns, tracks, origin, faults)
    table = pa.table({**common, "args": columns.args.filtered(keep).whole()})
    return table, len(table)


def flow_rows(columns: EventColumns, tracks: Tracks, origin: int, faults: Faults) -> tuple[pa.Table, int]:
    """A row for each end of an arrow."""
    common, keep = _common_columns(columns, tracks, origin, faults)
    flow_id = pc.utf8_trim(columns.extra("id", pa.string()), '"')
    own = {"flow_id": _without_empty(flow_id), "ph": columns.extra("ph", pa.string())}
    table = pa.table({**common, **{name: column.filter(pa.array(keep)) for name, column in own.items()}})
    return table, len(table)


def _common_columns(
    columns: EventColumns, tracks: Tracks, origin: int, faults: Faults
) -> tuple[dict[str, Any], npt.NDArray[np.bool_]]:
    """Name, category, track and time of the events whose time is good, and which those are."""
    times, fault, name = columns.ts, columns.fault, columns.name
    far = (fault == 0) & (np.abs(times - origin) >= FARTHEST_NS)
    bad = {reason: fault == code for code, reason in FAULT_REASONS.items()}
    for reason, rows in {**bad, "far_from_the_rest": far}.items():
        if rows.any():
            faults.exclude(reason, int(rows.sum()), f"such as {name[int(rows.argmax())].as_py()!r}")
    keep = (fault == 0) & ~far
    mask = pa.array(keep)
    of_row = pa.DictionaryArray.from_arrays(pa.array(columns.track[keep]), pa.array(tracks.names(), pa.string()))
    return {
        "name": name.filter(mask),
        "category": _without_empty(columns.category.filter(mask)),
        "track": of_row,
        "t_ns": pa.array(times[keep] - origin),
    }, keep


def _without_empty(column: pa.ChunkedArray) -> pa.Array:
    """A dictionary column as text, with null for the empty text."""
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
