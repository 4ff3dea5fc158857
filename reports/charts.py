"""The charts of the reports as Altair objects, each with its rows beside it.

A chart names its data (`alt.NamedData`), so the page can hold the rows once; `Figure.standalone()` puts both together
for a notebook. Fields have fixed names and texts come as rows, so nothing out of a trace gets into an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt

from reports import palette

Row = dict[str, Any]

GUTTER = alt.ExprRef("containerSize()[0] < 520 ? 58 : 118")  # for the names of lanes; the overview keeps it free
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Figure:
    """A chart, its rows by data name, and a sentence for those who cannot see it."""

    name: str
    chart: Any
    data: dict[str, list[Row]]
    description: str
    renderer: Literal["svg", "canvas"] = "svg"
    fields: dict[str, str] = field(default_factory=dict)  # what the page's script wants to know of it

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification without its rows, colours as the page's properties."""
        return self.chart.configure(**theme()).to_dict(validate=False)

    def standalone(self) -> alt.Chart:
        """The chart with its rows and plain colours, for a notebook."""
        spec = palette.resolved(self.spec())
        spec["datasets"] = self.data
        return alt.Chart.from_dict(spec, validate=False)


def theme() -> dict[str, Any]:
    """Vega-Lite configuration that all charts share."""
    return {
        "aria": False,  # the element around a chart describes it; a label on every mark would only fill the page
        "background": "transparent",
        "font": FONT,
        "padding": {"left": 0, "right": 6, "top": 4, "bottom": 5},
        "view": {"stroke": None},
        "axis": {
            "labelColor": palette.MUTED,
            "titleColor": palette.MUTED,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "gridColor": palette.LINE,
            "domainColor": palette.LINE,
            "tickColor": palette.LINE,
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
            "titlePadding": 8,
            "labelOverlap": "greedy",
        },
        "axisX": {"grid": False, "domain": True, "ticks": True, "tickSize": 4, "labelFlush": True},
        "axisY": {"tickCount": 5, "minExtent": 40},
        "legend": {"disable": True},
    }


def _top_title(text: str) -> alt.Axis:
    """A y axis titled above its end, where it can be read without turning the head."""
    return alt.Axis(
        title=text, titleAngle=0, titleAlign="left", titleAnchor="start", titleX=-40, titleY=-10, titleBaseline="bottom"
    )


def _tooltip(*fields: tuple[str, str]) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in fields]


# ---------------------------------------------------------------- timeline


def timeline_overview(phases: Sequence[Row], density: Sequence[Row], extent_ns: int) -> Figure:
    """The whole window: phases as a strip, host work above the line, device work below it. Brush to zoom.

    `phases`: phase, start_ns, end_ns. `density`: side (host, device), start_ns, end_ns, covered (0 to 1).
    """
    has_device = any(row["side"] == "device" for row in density)
    x_scale = alt.Scale(domain=[0, extent_ns], nice=False, zero=False)
    y_scale = alt.Scale(domain=[-1 if has_device else 0, 1.3], nice=False)
    x = alt.X("start_ns:Q", scale=x_scale, axis=alt.Axis(title=None, labelBound=True, labelFlush=False, labelExpr="format(datum.value / 1e6, ',~g') + ' ms'"))
    y_axis = alt.Axis(labelExpr="''", title=None, grid=False, minExtent=GUTTER, maxExtent=GUTTER)
    colour = alt.Color("colour:N", scale=None)
    ground = (
        alt.Chart(alt.NamedData("overview_phases"))
        .mark_rect(opacity=0.14)
        .encode(x=x, x2="end_ns:Q", y=alt.Y("low:Q", scale=y_scale, axis=y_axis), y2="one:Q", color=colour)
        .transform_calculate(low="-1" if has_device else "0", one="1")
    )
    strip = (
        alt.Chart(alt.NamedData("overview_phases"))
        .mark_rect()
        .encode(x=x, x2="end_ns:Q", y=alt.Y("low:Q", scale=y_scale, axis=y_axis), y2="high:Q", color=colour)
        .transform_calculate(low="1.1", high="1.3")
    )
    bars = (
        alt.Chart(alt.NamedData("overview_density"))
        .mark_rect()
        .encode(x=x, x2="end_ns:Q", y=alt.Y("covered:Q", scale=y_scale, axis=y_axis), y2="zero:Q", color=colour)
        .transform_calculate(zero="0")
        .add_params(
            alt.selection_interval(
                name="brush", encodings=["x"], mark=alt.BrushConfig(fill=palette.INK, fillOpacity=0.08, stroke=palette.INK)
            )
        )
    )
    return Figure(
        name="timeline-overview",
        chart=alt.layer(ground, bars, strip).properties(width="container", height=110 if has_device else 80),
        data={"overview_phases": list(phases), "overview_density": list(density)},
        description="Overview of the timeline: phases in a strip on top, work on the host above the line and on devices below it.",
        fields={"brush": "start_ns"},
    )


def timeline_detail(phases: Sequence[Row], slices: Sequence[Row], lanes: Sequence[str], extent_ns: int) -> Figure:
    """Lanes of slices between the signals `lo` and `hi` (ns), which the overview's brush sets.

    `phases`: lane, label, colour, start_ns, end_ns. `slices`: lane, name, colour, phase, start_ns, end_ns, merged,
    covered. `lanes`: keys `place TAB level` in drawing order; only a level 0 is labelled.
    """
    pixels = "((datum.end_ns - datum.start_ns) / (hi - lo) * width)"
    window = alt.Scale(domain=[0, extent_ns], domainMin=alt.ExprRef("lo"), domainMax=alt.ExprRef("hi"), nice=False, zero=False)
    x = alt.X(
        "start_ns:Q",
        scale=window,
        axis=alt.Axis(
            title="ms from the beginning of the window",
            labelBound=True,
            labelFlush=False,
            labelExpr="format(datum.value / 1e6, hi - lo < 1e6 ? ',.3f' : hi - lo < 2e7 ? ',.2~f' : ',~g')",
            tickCount=alt.ExprRef("max(2, floor(width / 110))"),
        ),
    )
    y = alt.Y(
        "lane:N",
        sort=list(lanes),
        scale=alt.Scale(domain=list(lanes), paddingInner=0.12, paddingOuter=0.1),
        axis=alt.Axis(
            title=None, grid=False, labelLimit=GUTTER, minExtent=GUTTER, maxExtent=GUTTER, labelOverlap=False,
            labelExpr="split(datum.label, '\\t')[1] == '0' ? split(datum.label, '\\t')[0] : ''",
        ),
    )  # fmt: skip
    seen = "datum.end_ns > lo && datum.start_ns < hi"
    length = "(datum.end_ns - datum.start_ns)"
    duration = f"{length} < 1e6 ? format({length} / 1e3, ',.3r') + ' µs' : format({length} / 1e6, ',.4r') + ' ms'"
    blocks = (
        alt.Chart(alt.NamedData("slices"))
        .transform_filter(seen)
        .transform_calculate(
            duration=duration,
            what="datum.merged > 1 ? format(datum.merged, ',') + ' short slices, the longest: ' + datum.name : datum.name",
            at="format(datum.start_ns / 1e6, ',.3f') + ' ms'",
        )
        .mark_rect(clip=True)
        .encode(
            x=x,
            x2="end_ns:Q",
            y=y,
            color=alt.Color("colour:N", scale=None),
            opacity=alt.value(alt.expr("(datum.merged > 1 ? 0.35 + 0.4 * datum.covered : 0.92) - 0.16 * datum.level")),
            stroke=alt.value(alt.expr(f"{pixels} > 3 ? '{palette.PAPER}' : null")),
            strokeWidth=alt.value(0.6),
            tooltip=_tooltip(("what", "name"), ("duration", "duration"), ("at", "begins at"), ("phase", "phase")),
        )
    )
    names = (
        alt.Chart(alt.NamedData("slices"))
        .transform_filter(f"{seen} && datum.merged == 1 && datum.end_ns - datum.start_ns > (hi - lo) / 40")
        .mark_text(clip=True, align="left", baseline="middle", dx=4, fontSize=11)
        .encode(
            x=alt.X("from:Q", scale=window),
            y=y,
            color=alt.Color("on:N", scale=None),
            text=alt.value(
                alt.expr(
                    "((min(datum.end_ns, hi) - max(datum.start_ns, lo)) / (hi - lo) * width) > 34 ? truncate(datum.name,"
                    " max(3, floor((min(datum.end_ns, hi) - max(datum.start_ns, lo)) / (hi - lo) * width / 6.6))) : ''"
                )
            ),
        )
        .transform_calculate(**{"from": "max(datum.start_ns, lo)"})
    )
    strip = (
        alt.Chart(alt.NamedData("detail_phases"))
        .transform_filter(seen)
        .transform_calculate(duration=duration)
        .mark_rect(clip=True)
        .encode(
            x=x,
            x2="end_ns:Q",
            y=y,
            color=alt.Color("colour:N", scale=None),
            tooltip=_tooltip(("label", "phase"), ("duration", "duration, profiled"), ("cached", "cached tokens")),
        )
    )
    labels = (
        alt.Chart(alt.NamedData("detail_phases"))
        .transform_filter(seen)
        .transform_calculate(**{"from": "max(datum.start_ns, lo)"})
        .mark_text(clip=True, align="left", baseline="middle", dx=4, fontSize=11, fontWeight="bold")
        .encode(
            x=alt.X("from:Q", scale=window),
            y=y,
            color=alt.Color("on:N", scale=None),
            text=alt.value(
                alt.expr(
                    "((min(datum.end_ns, hi) - max(datum.start_ns, lo)) / (hi - lo) * width) > 7 * length(datum.label)"
                    " + 8 ? datum.label : ''"
                )
            ),
        )
    )
    return Figure(
        name="timeline-detail",
        chart=alt.layer(blocks, strip, names, labels)
        .add_params(alt.param(name="lo", value=0), alt.param(name="hi", value=extent_ns))
        .properties(width="container", height=22 * len(lanes)),
        data={"slices": list(slices), "detail_phases": list(phases)},
        description="Timeline in lanes: phases on top, then the threads of the host, then device streams.",
        renderer="canvas",
    )


# ---------------------------------------------------------------- steps, memory, KV


def step_latency(rows: Sequence[Row], cached: str) -> Figure:
    """Clean latency of each decode step: median line, band from the 5th to the 95th percentile, outliers ringed.

    `rows`: step, median_ms, p5_ms, p95_ms, outlier (bool), and texts median, range, cached.
    """
    base = alt.Chart(alt.NamedData("steps"))
    x = alt.X("step:Q", axis=alt.Axis(title=cached, tickMinStep=1, format="d"), scale=alt.Scale(nice=False, padding=8))
    y_scale = alt.Scale(zero=False, nice=True)
    tooltip = _tooltip(("step", "step"), ("median", "median"), ("range", "5th to 95th percentile"), ("cached", "cached tokens"))
    band = base.mark_area(color=palette.PHASES["decode"], opacity=0.22).encode(
        x=x, y=alt.Y("p5_ms:Q", scale=y_scale, axis=_top_title("ms, clean pass")), y2="p95_ms:Q"
    )
    line = base.mark_line(color=palette.PHASES["decode"], strokeWidth=2).encode(x=x, y="median_ms:Q")
    points = base.mark_circle(color=palette.PHASES["decode"], size=34, opacity=1).encode(x=x, y="median_ms:Q", tooltip=tooltip)
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
    return Figure(
        name="step-latency",
        chart=alt.layer(band, line, points, rings, ring_names).properties(width="container", height=260),
        data={"steps": list(rows)},
        description="Latency of each decode step in the clean pass, median with a band from the 5th to the 95th percentile.",
    )


def profiled_steps(rows: Sequence[Row], cached: str) -> Figure:
    """The same steps with the profiler on, on an axis of their own. `rows`: step, profiled_ms, profiled."""
    chart = (
        alt.Chart(alt.NamedData("profiled"))
        .mark_line(color=palette.MUTED, strokeDash=[4, 3], strokeWidth=1.4, point={"color": palette.MUTED, "size": 22})
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title=cached, tickMinStep=1, format="d"), scale=alt.Scale(nice=False, padding=8)),
            y=alt.Y("profiled_ms:Q", scale=alt.Scale(zero=False), axis=_top_title("ms, profiled pass")),
            tooltip=_tooltip(("step", "step"), ("profiled", "with the profiler on")),
        )
    )
    return Figure(
        name="profiled-steps",
        chart=chart.properties(width="container", height=120),
        data={"profiled": list(rows)},
        description="Duration of each decode step with the profiler on, which explains but is never quoted.",
    )


def kv_growth(rows: Sequence[Row], unit: str) -> Figure:
    """Measured KV-cache bytes as points on the computed line. `rows`: cached_tokens, measured, computed, colour, texts."""
    base = alt.Chart(alt.NamedData("kv"))
    x = alt.X("cached_tokens:Q", axis=alt.Axis(title=None, format=",d", tickMinStep=1), scale=alt.Scale(zero=False, nice=False, padding=8))
    y_scale = alt.Scale(zero=False, nice=True)
    line = base.mark_line(color=palette.MUTED, strokeWidth=1.6).encode(
        x=x, y=alt.Y("computed:Q", scale=y_scale, axis=_top_title(unit))
    )
    points = base.mark_point(filled=True, size=46, opacity=1).encode(
        x=x,
        y=alt.Y("measured:Q", scale=y_scale, axis=_top_title(unit)),
        color=alt.Color("colour:N", scale=None),
        tooltip=_tooltip(
            ("cached_tokens", "cached tokens"), ("measured_text", "measured"), ("computed_text", "computed"),
            ("difference_text", "difference"),
        ),
    )  # fmt: skip
    return Figure(
        name="kv-growth",
        chart=alt.layer(line, points).properties(width="container", height=240),
        data={"kv": list(rows)},
        description="Bytes in the KV cache against cached tokens: measured points and the line computed from the architecture.",
    )


def kv_difference(rows: Sequence[Row]) -> Figure:
    """Measured less computed bytes, on an axis of its own. `rows`: cached_tokens, difference, difference_text."""
    base = alt.Chart(alt.NamedData("kv_difference"))
    largest = max((abs(row["difference"]) for row in rows), default=0) or 1
    chart = base.mark_bar(width=5).encode(
        x=alt.X(
            "cached_tokens:Q",
            axis=alt.Axis(title="cached tokens of one sequence", format=",d", tickMinStep=1),
            scale=alt.Scale(zero=False, nice=False, padding=8),
        ),
        y=alt.Y(
            "difference:Q",
            scale=alt.Scale(domain=[-largest, largest]),
            axis=alt.Axis(values=[-largest, 0, largest], format=",d", title=None),
        ),
        color=alt.Color("colour:N", scale=None),
        tooltip=_tooltip(("cached_tokens", "cached tokens"), ("difference_text", "measured − computed")),
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


def memory_counter(name: str, rows: Sequence[Row], unit: str, colour: str) -> Figure:
    """One memory counter at the phase edges, a line a repeat. `rows`: edge (−1 before prefill, 0 after it, then steps),
    repeat, value, phase, text."""
    data = f"memory_{name}"
    base = alt.Chart(alt.NamedData(data))
    x = alt.X(
        "edge:Q",
        axis=alt.Axis(
            title=None, tickMinStep=1, format="d",
            labelExpr="datum.value < 0 ? 'before' : datum.value == 0 ? 'prefill' : format(datum.value, 'd')",
        ),
        scale=alt.Scale(nice=False, zero=False),
    )  # fmt: skip
    y = alt.Y("value:Q", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(title=None, tickCount=3))
    line = base.mark_line(color=colour, strokeWidth=1.3, opacity=0.75).encode(x=x, y=y, detail="repeat:N")
    points = base.mark_circle(color=colour, size=16, opacity=1).encode(
        x=x, y=y, tooltip=_tooltip(("where", "at"), ("text", "value"), ("repeat", "repeat"))
    )
    return Figure(
        name=f"memory-{name}".replace("_", "-"),
        chart=alt.layer(line, points).properties(width="container", height=110),
        data={data: list(rows)},
        description=f"{name.replace('_', ' ')} bytes at the edges of the phases, in {unit}.",
    )
