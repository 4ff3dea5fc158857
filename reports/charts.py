"""The charts of steps, KV cache and memory. Their rows come ready: texts as texts, numbers in the unit of the axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from reports import palette
from reports.figure import Figure, Row, tooltips, top_title


def step_latency(rows: Sequence[Row], cached: str, trend: Sequence[Row] = ()) -> Figure:
    """Clean latency of each decode step: median line, band from the 5th to the 95th percentile, outliers ringed.

    `rows`: step, median_ms, p5_ms, p95_ms, outlier (bool), and texts median, range, cached. `trend`: step, fit_ms
    and a text verdict at the ends of the fitted line.
    """
    base = alt.Chart(alt.NamedData("steps"))
    x = alt.X("step:Q", axis=alt.Axis(title=cached, tickMinStep=1, format="d"), scale=alt.Scale(nice=False, padding=8))
    y_scale = alt.Scale(zero=False, nice=True)
    tooltip = tooltips(
        ("step", "step"), ("median", "median"), ("range", "5th to 95th percentile"), ("cached", "cached tokens")
    )
    band = base.mark_area(color=palette.PHASES["decode"], opacity=0.22).encode(
        x=x, y=alt.Y("p5_ms:Q", scale=y_scale, axis=top_title("ms, clean pass")), y2="p95_ms:Q"
    )
    line = base.mark_line(color=palette.PHASES["decode"], strokeWidth=2).encode(x=x, y="median_ms:Q")
    points = base.mark_circle(color=palette.PHASES["decode"], size=34, opacity=1).encode(
        x=x, y="median_ms:Q", tooltip=tooltip
    )
    rings = (
        base.transform_filter("datum.outlier")
        .mark_point(color=palette.INK, size=150, strokeWidth=1.6)
        .encode(x=x, y="median_ms:Q", tooltip=tooltip)
    )
    ring_names = (
        base.transform_filter("datum.outlier")
        .mark_text(color=palette.INK, dy=-14, fontSize=11)
        .encode(x=x, y="median_ms:Q", text="step_name:N")
    )
    marked = [rings, ring_names] if any(row["outlier"] for row in rows) else []
    if trend:
        base = alt.Chart(alt.NamedData("trend")).encode(x=x, y="fit_ms:Q")
        # The name stands at the right end, on the side that the line does not come from.
        name: dict[str, Any] = {
            "align": "right",
            "dy": 15 if trend[0]["fit_ms"] > trend[-1]["fit_ms"] else -9,
            "fontSize": 11,
        }
        halo = base.mark_text(stroke=palette.PAPER, strokeWidth=4, strokeJoin="round", opacity=0.85, **name)
        marked[:0] = [
            base.mark_line(color=palette.INK, strokeDash=[6, 4], strokeWidth=1.3),
            halo.encode(text="verdict:N"),
            base.mark_text(color=palette.INK, **name).encode(text="verdict:N"),
        ]
    return Figure(
        name="step-latency",
        chart=alt.layer(band, line, points, *marked).properties(width="container", height=260),
        data={"steps": list(rows), **({"trend": list(trend)} if trend else {})},
        description="Clean latency of each decode step, median with a band from the 5th to the 95th percentile.",
    )


def profiled_steps(rows: Sequence[Row], cached: str) -> Figure:
    """The same steps with the profiler on, on an axis of their own. `rows`: step, profiled_ms, profiled."""
    chart = (
        alt.Chart(alt.NamedData("profiled"))
        .mark_line(color=palette.MUTED, strokeDash=[4, 3], strokeWidth=1.4, point={"color": palette.MUTED, "size": 22})
        .encode(
            x=alt.X(
                "step:Q", axis=alt.Axis(title=cached, tickMinStep=1, format="d"), scale=alt.Scale(nice=False, padding=8)
            ),
            y=alt.Y("profiled_ms:Q", scale=alt.Scale(zero=False), axis=top_title("ms, profiled pass")),
            tooltip=tooltips(("step", "step"), ("profiled", "with the profiler on")),
        )
    )
    return Figure(
        name="profiled-steps",
        chart=chart.properties(width="container", height=120),
        data={"profiled": list(rows)},
        description="Duration of each decode step with the profiler on, which explains but is never quoted.",
    )


def kv_growth(rows: Sequence[Row], unit: str) -> Figure:
    """Measured bytes in the KV cache as points on the computed line.

    `rows`: cached_tokens, measured and computed (in `unit`), colour, and the texts measured_text, computed_text,
    difference_text.
    """
    base = alt.Chart(alt.NamedData("kv"))
    x = alt.X(
        "cached_tokens:Q",
        axis=alt.Axis(title=None, format=",d", tickMinStep=1, tickCount=10),
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    y_scale = alt.Scale(zero=False, nice=True)
    line = base.mark_line(color=palette.MUTED, strokeWidth=1.6).encode(
        x=x, y=alt.Y("computed:Q", scale=y_scale, axis=top_title(unit))
    )
    points = base.mark_point(filled=True, size=46, opacity=1).encode(
        x=x,
        y=alt.Y("measured:Q", scale=y_scale, axis=top_title(unit)),
        color=alt.Color("colour:N", scale=None),
        tooltip=tooltips(
            ("cached_tokens", "cached tokens"),
            ("measured_text", "measured"),
            ("computed_text", "computed"),
            ("difference_text", "difference"),
        ),
    )
    return Figure(
        name="kv-growth",
        chart=alt.layer(line, points).properties(width="container", height=240),
        data={"kv": list(rows)},
        description="Bytes in the KV cache against cached tokens: measured points, computed line.",
    )


def kv_difference(rows: Sequence[Row]) -> Figure:
    """Measured less computed bytes, on an axis of its own. `rows`: cached_tokens, difference, difference_text."""
    base = alt.Chart(alt.NamedData("kv_difference"))
    largest = max((abs(row["difference"]) for row in rows), default=0) or 1
    chart = base.mark_bar(width=5).encode(
        x=alt.X(
            "cached_tokens:Q",
            axis=alt.Axis(title="cached tokens of one sequence", format=",d", tickMinStep=1, tickCount=10),
            scale=alt.Scale(zero=False, nice=False, padding=8),
        ),
        y=alt.Y(
            "difference:Q",
            scale=alt.Scale(domain=[-largest, largest]),
            axis=alt.Axis(values=[-largest, 0, largest], format=",d", title=None),
        ),
        color=alt.Color("colour:N", scale=None),
        tooltip=tooltips(("cached_tokens", "cached tokens"), ("difference_text", "measured − computed")),
    )
    dots = base.mark_circle(size=18, opacity=1).encode(
        x="cached_tokens:Q", y="difference:Q", color=alt.Color("colour:N", scale=None)
    )
    return Figure(
        name="kv-difference",
        chart=alt.layer(chart, dots).properties(width="container", height=72),
        data={"kv_difference": list(rows)},
        description="Measured less computed bytes in the KV cache; on the zero line they are equal.",
    )


def memory_counter(
    name: str, rows: Sequence[Row], unit: str, colour: str, prefill_end: float | None, extent: tuple[float, float]
) -> Figure:
    """One memory counter at the phase edges, a line a repeat, over `extent` since prefill began; prefill is tinted.

    `rows`: at, repeat, value, where, text.
    """
    data = f"memory_{name}"
    base = alt.Chart(alt.NamedData(data))
    x, y = _since_prefill(extent), alt.Y("value:Q", scale=alt.Scale(zero=False, nice=True), axis=_THIRDS)
    line = base.mark_line(color=colour, strokeWidth=1.3, opacity=0.75).encode(x=x, y=y, detail="repeat:N")
    points = base.mark_circle(color=colour, size=16, opacity=1).encode(
        x=x, y=y, tooltip=tooltips(("where", "at"), ("text", "value"), ("repeat", "repeat"))
    )
    return _memory(
        name, [line, points], {data: list(rows)}, prefill_end, extent, f"bytes at the edges of the phases, in {unit}."
    )


def allocations(
    name: str, rows: Sequence[Row], unit: str, colour: str, prefill_end: float | None, extent: tuple[float, float]
) -> Figure:
    """Least and most bytes in tensors in each stretch of the trace, on the axis of `memory_counter`.

    `rows`: at, end, least, most (in `unit`), where, text.
    """
    data = f"memory_{name}"
    bars = (
        alt.Chart(alt.NamedData(data))
        .mark_bar(color=colour, opacity=0.85, minBandSize=1)
        .encode(
            x=_since_prefill(extent),
            x2="end:Q",
            y=alt.Y("least:Q", scale=alt.Scale(zero=False, nice=True), axis=_THIRDS),
            y2="most:Q",
            tooltip=tooltips(("where", "at"), ("text", "least to most")),
        )
    )
    return _memory(
        name, [bars], {data: list(rows)}, prefill_end, extent, f"bytes by the allocations of the trace, in {unit}."
    )


_THIRDS = alt.Axis(title=None, tickCount=3)


def _since_prefill(extent: tuple[float, float]) -> alt.X:
    axis = alt.Axis(title=None, format="~r", tickCount=4)
    return alt.X("at:Q", axis=axis, scale=alt.Scale(domain=list(extent), nice=False, zero=False))


def _memory(
    name: str,
    layers: list[alt.Chart],
    data: dict[str, list[Row]],
    prefill_end: float | None,
    extent: tuple[float, float],
    about: str,
) -> Figure:
    if prefill_end is not None:
        data["memory_prefill"] = [{"at": 0.0, "end": prefill_end}]
        tint = alt.Chart(alt.NamedData("memory_prefill")).mark_rect(color=palette.PHASES["prefill"], opacity=0.14)
        layers.insert(0, tint.encode(x=_since_prefill(extent), x2="end:Q"))
    return Figure(
        name=f"memory-{name}".replace("_", "-"),
        chart=alt.layer(*layers).properties(width="container", height=110),
        data=data,
        description=f"{name.replace('_', ' ')} {about}",
    )
