"""The roofline of Williams, Waterman and Patterson (2009): attainable operations a second against operations a byte."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import altair as alt

from reports import palette
from reports.figure import Figure, Row, tooltips, top_title


def roofline(points: Sequence[Row], roof: Sequence[Row]) -> Figure:
    """Measured steps under the roof, on log-log axes.

    `points`: intensity (FLOP/byte), rate (FLOP/s), colour, and texts label, rate_text, intensity_text, measured_text.
    `roof`: intensity, rate, in order along the roof.
    """
    x_scale, y_scale = alt.Scale(type="log", nice=False, padding=16), alt.Scale(type="log", nice=True)
    x = alt.X(
        "intensity:Q",
        scale=x_scale,
        axis=alt.Axis(title="operations a byte (log)", tickCount=6, format="~g", grid=False),
    )
    rates = [row["rate"] for row in (*points, *roof)]
    decades = [10.0**power for power in range(floor(log10(min(rates))), ceil(log10(max(rates))) + 1)]
    y = alt.Y(
        "rate:Q",
        scale=y_scale,
        axis=top_title("FLOP/s (log)", values=decades, labelExpr="format(datum.value, '~s')"),
    )
    line = (
        alt.Chart(alt.NamedData("roof"))
        .mark_line(color=palette.MUTED, strokeWidth=1.8)
        .encode(x=x, y=y, order="intensity:Q")
    )
    steps = (
        alt.Chart(alt.NamedData("roofline_points"))
        .mark_point(filled=True, size=60, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=alt.Color("colour:N", scale=None),
            tooltip=tooltips(
                ("label", "step"),
                ("intensity_text", "operations a byte"),
                ("rate_text", "reached"),
                ("measured_text", "clean median"),
            ),
        )
    )
    return Figure(
        name="roofline",
        chart=alt.layer(line, steps).properties(width="container", height=280),
        data={"roofline_points": list(points), "roof": list(roof)},
        description="Roofline on log-log axes: operations a second that each step reached, under what the peaks allow.",
    )
