"""The charts of a scaling study. Their rows come ready: numbers in the unit of the axis, texts as texts."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from reports import palette
from reports.figure import Figure, Row, tooltips, top_title

# Vega's name of a mark, and the character that looks like it.
_SHAPES = (
    ("circle", "●"), ("square", "■"), ("triangle-up", "▲"), ("diamond", "◆"), ("cross", "✚"), ("triangle-down", "▼"),
)  # fmt: skip


def shape_of(batch_sizes: Sequence[int], batch_size: int) -> str:
    """The mark of a batch size: a shape, since colours belong to phases."""
    return _SHAPES[sorted(set(batch_sizes)).index(batch_size) % len(_SHAPES)][0]


def glyph_of(batch_sizes: Sequence[int], batch_size: int) -> str:
    """The same mark as a character."""
    return dict(_SHAPES)[shape_of(batch_sizes, batch_size)]


def _log(title: str | None) -> alt.X:
    return alt.X(
        "tokens:Q",
        axis=alt.Axis(title=title, format=",d", tickCount=6),
        scale=alt.Scale(type="log", base=2, nice=False, padding=14),
    )


def prefill(points: Sequence[Row], lines: Sequence[Row], unit: str) -> Figure:
    """Prefill latency against prompt length, both logarithmic, with the fitted power laws.

    `points`: tokens, value, low, high, shape, batch, texts. `lines`: batch, tokens, value, label (at a line's last).
    """
    colour = palette.PHASES["prefill"]
    y = alt.Y("value:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=top_title(f"{unit}, clean pass"))
    x = _log("prompt tokens of each sequence")
    base = alt.Chart(alt.NamedData("scaling_prefill"))
    fitted = alt.Chart(alt.NamedData("scaling_prefill_fit"))
    spread = base.mark_rule(color=colour, strokeWidth=2, opacity=0.45).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    marks = base.mark_point(color=colour, filled=True, size=70, opacity=1).encode(
        x=x,
        y=y,
        shape=alt.Shape("shape:N", scale=None),
        tooltip=tooltips(
            ("prompt", "prompt tokens"), ("batch", "batch"), ("text", "median"), ("range", "5th to 95th percentile"),
            ("local", "exponent from the length before"),
        ),
    )  # fmt: skip
    line = fitted.mark_line(color=palette.MUTED, strokeWidth=1.4).encode(x=x, y=y, detail="batch:N")
    labels = (
        fitted.transform_filter("datum.label != ''")
        .mark_text(color=palette.INK, align="right", baseline="bottom", dy=-9, fontSize=11)
        .encode(x=x, y=y, text="label:N")
    )
    return Figure(
        name="scaling-prefill",
        chart=alt.layer(line, spread, marks, labels).properties(width="container", height=300),
        data={"scaling_prefill": list(points), "scaling_prefill_fit": list(lines)},
        description="Prefill latency against prompt length on logarithmic axes, with a fitted power law a batch size.",
    )


def decode(steps: Sequence[Row], points: Sequence[Row], lines: Sequence[Row], unit: str) -> Figure:
    """Decode latency against cached tokens: every step pale, a run's median as a mark, the fitted straight lines.

    `steps`: tokens, value, run. `points`: tokens, value, shape, batch, text. `lines`: batch, tokens, value.
    """
    colour = palette.PHASES["decode"]
    x = alt.X(
        "tokens:Q",
        axis=alt.Axis(title="cached tokens of one sequence", format=",d", tickMinStep=1),
        scale=alt.Scale(zero=False, nice=False, padding=14),
    )
    y = alt.Y("value:Q", scale=alt.Scale(zero=True, nice=True), axis=top_title(f"{unit}, clean pass"))
    every = (
        alt.Chart(alt.NamedData("scaling_steps"))
        .mark_line(color=colour, strokeWidth=1, opacity=0.35)
        .encode(x=x, y=y, detail="run:N")
    )
    line = (
        alt.Chart(alt.NamedData("scaling_decode_fit"))
        .mark_line(color=palette.MUTED, strokeWidth=1.4)
        .encode(x=x, y=y, detail="batch:N")
    )
    marks = (
        alt.Chart(alt.NamedData("scaling_decode"))
        .mark_point(color=colour, filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("shape:N", scale=None),
            tooltip=tooltips(("cached", "cached tokens"), ("batch", "batch"), ("text", "median step")),
        )
    )
    return Figure(
        name="scaling-decode",
        chart=alt.layer(every, line, marks).properties(width="container", height=260),
        data={"scaling_steps": list(steps), "scaling_decode": list(points), "scaling_decode_fit": list(lines)},
        description="Latency of decode steps against cached tokens, with the straight line of each batch size.",
    )


def kv(points: Sequence[Row], unit: str) -> Figure:
    """Measured KV bytes against cached tokens, a line a batch size.

    `points`: tokens, value, batch, shape, colour, texts.
    """
    x = alt.X(
        "tokens:Q",
        axis=alt.Axis(title="cached tokens of one sequence", format=",d", tickMinStep=1),
        scale=alt.Scale(zero=True, nice=False, padding=14),
    )
    y = alt.Y("value:Q", scale=alt.Scale(zero=True, nice=True), axis=top_title(f"{unit}, over the batch"))
    base = alt.Chart(alt.NamedData("scaling_kv"))
    line = base.mark_line(color=palette.MUTED, strokeWidth=1.2).encode(x=x, y=y, detail="batch:N")
    marks = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color("colour:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
        tooltip=tooltips(
            ("cached", "cached tokens"), ("batch", "batch"), ("text", "measured"), ("verdict", "computed")
        ),
    )
    return Figure(
        name="scaling-kv",
        chart=alt.layer(line, marks).properties(width="container", height=240),
        data={"scaling_kv": list(points)},
        description="Measured bytes in the KV cache against cached tokens, a line for each batch size.",
    )
