"""What every chart of the reports is: an Altair object with its rows beside it, in one theme.

A chart names its data (`alt.NamedData`), so the page can hold the rows once; `Figure.standalone()` puts both together
for a notebook. Fields have fixed names and texts come as rows, so nothing out of a trace gets into an expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt

from reports import palette

Row = dict[str, Any]

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
            "labelSeparation": 10,
        },
        "axisX": {"grid": False, "domain": True, "ticks": True, "tickSize": 4, "labelFlush": True},
        "axisY": {"tickCount": 5, "minExtent": 40},
        "legend": {"disable": True},
    }


def top_title(text: str, **options: Any) -> alt.Axis:
    """A y axis titled above its end, where it can be read without turning the head."""
    return alt.Axis(
        title=text,
        titleAngle=0,
        titleAlign="left",
        titleAnchor="start",
        titleX=-40,
        titleY=-10,
        titleBaseline="bottom",
        **options,
    )


def tooltips(*fields: tuple[str, str]) -> list[alt.Tooltip]:
    """Tooltip lines: field (a text, or a number shown as it is) and what it is called."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in fields]
