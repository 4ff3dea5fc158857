"""The charts of a comparison. Rows come ready: texts as texts, numbers in the unit of the axis."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from reports import palette
from reports.figure import Figure, Row, tooltips, top_title


def ratios(rows: Sequence[Row], factor: float) -> Figure:
    """Each metric's ratio B over A with its interval; the band around 1 is what does not matter.

    `rows`: name, order, ratio, low, high (both the ratio where there is no interval), colour, and texts shown, range,
    verdict. `factor`: 1 plus the practical threshold.
    """
    names = [row["name"] for row in rows]
    spread = max(*(max(row["high"], 1 / row["low"]) for row in rows), factor * 1.05) * 1.04
    x_scale = alt.Scale(type="log", domain=[1 / spread, spread], nice=False)
    axis = alt.Axis(title="B over A, log scale", format="~g", tickCount=6, grid=True)
    y = alt.Y("name:N", sort=names, axis=alt.Axis(title=None, grid=False, labelLimit=130))
    band = (
        alt.Chart(alt.NamedData("ratio_band"))
        .mark_rect(color=palette.MUTED, opacity=0.14)
        .encode(x=alt.X("low:Q", scale=x_scale, axis=axis), x2="high:Q")
    )
    one = alt.Chart(alt.NamedData("ratio_band")).mark_rule(color=palette.INK, strokeWidth=1).encode(x="one:Q")
    base = alt.Chart(alt.NamedData("ratios"))
    colour = alt.Color("colour:N", scale=None)
    tips = tooltips(("name", "metric"), ("shown", "B over A"), ("range", "interval"), ("verdict", "verdict"))
    lines = base.mark_rule(strokeWidth=3, strokeCap="round").encode(
        x=alt.X("low:Q", scale=x_scale, axis=axis), x2="high:Q", y=y, color=colour, tooltip=tips
    )
    points = base.mark_point(filled=True, size=90, opacity=1, strokeWidth=1).encode(
        x=alt.X("ratio:Q", scale=x_scale, axis=axis), y=y, color=colour, tooltip=tips
    )
    return Figure(
        name="ratios",
        chart=alt.layer(band, one, lines, points).properties(width="container", height=30 * len(names) + 10),
        data={"ratios": list(rows), "ratio_band": [{"low": 1 / factor, "high": factor, "one": 1}]},
        description="Ratio of B over A for each latency, with its interval; the line is no change.",
    )


def steps(rows: Sequence[Row], title: str) -> Figure:
    """Clean latency of each decode step on both sides: A as hollow points on a dashed line, B as full ones.

    `rows`: step, side (A or B), ms, and texts shown and cached.
    """
    colour = palette.PHASES["decode"]
    base = alt.Chart(alt.NamedData("step_sides"))
    x = alt.X("step:Q", axis=alt.Axis(title=title, tickMinStep=1, format="d"), scale=alt.Scale(nice=False, padding=8))
    y = alt.Y("ms:Q", scale=alt.Scale(zero=False, nice=True), axis=top_title("ms, clean pass"))
    tips = tooltips(("side", "side"), ("step", "step"), ("shown", "median"), ("cached", "cached tokens"))
    a, b = "datum.side == 'A'", "datum.side == 'B'"
    return Figure(
        name="compare-steps",
        chart=alt.layer(
            base.transform_filter(a).mark_line(color=colour, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y),
            base.transform_filter(b).mark_line(color=colour, strokeWidth=2).encode(x=x, y=y),
            base.transform_filter(a)
            .mark_point(color=colour, fill=palette.PAPER, size=34, strokeWidth=1.5, opacity=1)
            .encode(x=x, y=y, tooltip=tips),
            base.transform_filter(b).mark_circle(color=colour, size=38, opacity=1).encode(x=x, y=y, tooltip=tips),
        ).properties(width="container", height=240),
        data={"step_sides": list(rows)},
        description="Median clean latency of each decode step, A as hollow points, B as full ones.",
    )


def step_ratios(rows: Sequence[Row], title: str) -> Figure:
    """B over A for each decode step, with an interval where there are repeats enough.

    `rows`: step, ratio, low, high, and texts shown and range.
    """
    base = alt.Chart(alt.NamedData("step_ratios"))
    scale = alt.Scale(nice=False, zero=False, padding=8)
    x = alt.X("step:Q", axis=alt.Axis(title=title, tickMinStep=1, format="d"), scale=scale)
    y = alt.Y("low:Q", scale=alt.Scale(zero=False, nice=True), axis=top_title("B over A"))
    one = base.mark_rule(color=palette.INK, strokeWidth=1).encode(y=alt.datum(1))
    bars = base.mark_rule(color=palette.PHASES["decode"], strokeWidth=2, opacity=0.55).encode(x=x, y=y, y2="high:Q")
    points = base.mark_circle(color=palette.PHASES["decode"], size=34, opacity=1).encode(
        x=x, y="ratio:Q", tooltip=tooltips(("step", "step"), ("shown", "B over A"), ("range", "interval"))
    )
    return Figure(
        name="compare-step-ratios",
        chart=alt.layer(one, bars, points).properties(width="container", height=150),
        data={"step_ratios": list(rows)},
        description="Ratio of B over A for each decode step, with its interval; the line is no change.",
    )
