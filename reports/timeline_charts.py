"""The charts of the timeline: an overview of the whole window, and lanes of slices in the stretch that is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from reports import palette
from reports.figure import Figure, Row, tooltips

GUTTER = alt.ExprRef("containerSize()[0] < 520 ? 58 : 124")  # for the names of lanes; the overview keeps it free
LANE_NAME = alt.ExprRef("containerSize()[0] < 520 ? 50 : 116")
TICKS = alt.ExprRef("max(2, floor(width / 110))")


def overview(phases: Sequence[Row], density: Sequence[Row], extent_ns: int) -> Figure:
    """The whole window: phases as a strip, host work above the line, device work below it. Brush to zoom.

    `phases`: phase, start_ns, end_ns. `density`: side (host, device), start_ns, end_ns, covered (0 to 1).
    """
    has_device = any(row["side"] == "device" for row in density)
    x_scale = alt.Scale(domain=[0, extent_ns], nice=False, zero=False)
    y_scale = alt.Scale(domain=[-1 if has_device else 0, 1.3], nice=False)
    x = alt.X(
        "start_ns:Q",
        scale=x_scale,
        axis=alt.Axis(
            title=None,
            labelBound=True,
            labelOverlap=True,
            tickCount=TICKS,
            labelExpr="format(datum.value / 1e6, ',~g') + ' ms'",
        ),
    )
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
                name="brush",
                encodings=["x"],
                mark=alt.BrushConfig(fill=palette.INK, fillOpacity=0.08, stroke=palette.INK),
            )
        )
    )
    return Figure(
        name="timeline-overview",
        chart=alt.layer(ground, bars, strip).properties(width="container", height=110 if has_device else 80),
        data={"overview_phases": list(phases), "overview_density": list(density)},
        description="Overview of the timeline: phases on top, work on the host above the line and on devices below it.",
        fields={"brush": "start_ns"},
    )


def detail(phases: Sequence[Row], slices: Sequence[Row], lanes: Sequence[str], extent_ns: int) -> Figure:
    """Lanes of slices between the signals `lo` and `hi` (ns), which the overview's brush sets.

    `phases`: lane, label, colour, start_ns, end_ns. `slices`: lane, name, colour, phase, start_ns, end_ns, merged,
    covered. `lanes`: keys `place TAB level` in drawing order; only a level 0 is labelled.
    """
    pixels = "((datum.end_ns - datum.start_ns) / (hi - lo) * width)"
    visible = "((min(datum.end_ns, hi) - max(datum.start_ns, lo)) / (hi - lo) * width)"
    window = alt.Scale(
        domain=[0, extent_ns], domainMin=alt.ExprRef("lo"), domainMax=alt.ExprRef("hi"), nice=False, zero=False
    )
    x = alt.X(
        "start_ns:Q",
        scale=window,
        axis=alt.Axis(
            title="ms from the beginning of the window",
            labelBound=True,
            labelOverlap=True,
            labelExpr="format(datum.value / 1e6, hi - lo < 1e6 ? ',.3f' : hi - lo < 2e7 ? ',.2~f' : ',~g')",
            tickCount=TICKS,
        ),
    )
    y = alt.Y(
        "lane:N",
        sort=list(lanes),
        scale=alt.Scale(domain=list(lanes), paddingInner=0.12, paddingOuter=0.1),
        axis=alt.Axis(
            title=None,
            grid=False,
            labelLimit=LANE_NAME,
            minExtent=GUTTER,
            maxExtent=GUTTER,
            labelOverlap=False,
            labelExpr="split(datum.label, '\\t')[1] == '0' ? split(datum.label, '\\t')[0] : ''",
        ),
    )
    seen = "datum.end_ns > lo && datum.start_ns < hi"
    length = "(datum.end_ns - datum.start_ns)"
    duration = f"{length} < 1e6 ? format({length} / 1e3, ',.3r') + ' µs' : format({length} / 1e6, ',.4r') + ' ms'"
    blocks = (
        alt.Chart(alt.NamedData("slices"))
        .transform_filter(seen)
        .transform_calculate(
            duration=duration,
            what="(datum.merged > 1 ? format(datum.merged, ',') + ' short slices, the longest: ' : '') + datum.name",
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
            tooltip=tooltips(("what", "name"), ("duration", "duration"), ("at", "begins at"), ("phase", "phase")),
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
                    f"{visible} > 30 ? truncate(replace(datum.name, 'aten::', ''), max(3, floor({visible} / 6.6))) : ''"
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
            tooltip=tooltips(("label", "phase"), ("duration", "duration, profiled"), ("cached", "cached tokens")),
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
            text=alt.value(alt.expr(f"{visible} > 7 * length(datum.label) + 8 ? datum.label : ''")),
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
