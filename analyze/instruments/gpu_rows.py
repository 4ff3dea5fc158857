"""GPU intervals and counters as rows of kernels and counters, beside the tables that keep what is Metal's own."""

from collections.abc import Callable
from typing import Any

Add = Callable[[str, int, dict[str, list[Any]]], None]
NO_LABEL = "(no label)"


def add_gpu_intervals(
    add: Add, columns: dict[str, list[Any]], rows: int, first_id: int, target_pid: int | None
) -> tuple[int, int]:
    """Add to kernels and metal_gpu_intervals. Returns the next free id and the rows of the target process.

    Rows of other processes and of none stay in: they are the GPU's too. Phases come later, by marks of the
    same run, so every row is `unattributed` here.
    """
    ids = list(range(first_id, first_id + rows))
    nothing = [None] * rows
    names = [name.strip() if name else None for name in columns.pop("name", nothing)]
    channels = columns.get("channel", nothing)
    pids = columns.get("pid", nothing)
    add(
        "kernels",
        rows,
        {
            "kernel_id": ids,
            "name": [name or NO_LABEL for name in names],
            "kind": ["metal"] * rows,
            "device": columns.pop("device", nothing),
            "stream": channels,
            "start_ns": columns.pop("start_ns"),
            "dur_ns": columns.pop("dur_ns"),
            "attributed_by": ["unattributed"] * rows,
            "bytes": columns.pop("bytes", nothing),
            "process": columns.get("process", nothing),
        },
    )
    add("metal_gpu_intervals", rows, columns | {"kernel_id": ids})
    return first_id + rows, sum(pid == target_pid for pid in pids) if target_pid is not None else 0


def add_counter_intervals(add: Add, columns: dict[str, list[Any]], rows: int) -> None:
    """Add to metal_counter_intervals, and to counters where there is a number.

    Which of value and percent-value counts is what is-percentage says, as it is written: 0.1426 is 0.1426 %.
    """
    nothing = [None] * rows
    plain = columns.pop("value", nothing)
    percent = columns.pop("percent_value", nothing)
    is_percentage = columns.get("is_percentage", nothing)
    values = [
        (percent[i] if percent[i] is not None else plain[i]) if is_percentage[i] else plain[i] for i in range(rows)
    ]
    names = columns.get("name", nothing)
    numbers = columns.get("counter_id", nothing)
    add("metal_counter_intervals", rows, columns | {"value": values})
    kept = [i for i in range(rows) if values[i] is not None]
    add(
        "counters",
        len(kept),
        {
            "track": [names[i] or f"counter {numbers[i]}" for i in kept],
            "t_ns": [columns["start_ns"][i] for i in kept],
            "value": [values[i] for i in kept],
            "unit": ["percent" if is_percentage[i] else None for i in kept],
        },
    )


def add_counter_values(
    add: Add, columns: dict[str, list[Any]], rows: int, counters: dict[int, tuple[str, str | None]]
) -> int:
    """Add samples to counters under their counter's name. Returns how many have a counter that is not known."""
    numbers = columns["counter_id"]
    known = [counters.get(number) for number in numbers]
    add(
        "counters",
        rows,
        {
            "track": [info[0] if info else f"counter {number}" for info, number in zip(known, numbers, strict=True)],
            "t_ns": columns["t_ns"],
            "value": columns.get("value", [None] * rows),
            "unit": ["percent" if info and info[1] == "Percentage" else None for info in known],
        },
    )
    return known.count(None)
