"""The history of one workload: its latencies run by run, with the steps in them marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import altair as alt

from analyze.history import CONFIDENCE, THRESHOLD, WINDOW, ChangePoint, change_points
from analyze.statistics import MIN_UNITS
from reports import format as fmt
from reports import palette
from reports.figure import Figure, Row, tooltips, top_title
from reports.site.runs import SiteRun, what_changed

MIN_RUNS = 2 * MIN_UNITS
METRICS = (("prefill", "prefill_ns", "Prefill"), ("decode", "decode_ns", "Decode step"))
METHOD = (
    f"Marked is a change of more than {THRESHOLD:.0%}: the medians of up to {WINDOW} runs before and after it are"
    f" compared, at least {MIN_UNITS} a side, and a bootstrap interval ({CONFIDENCE:.1%}) of their ratio leaves out 1."
    " Of neighbouring splits the one with the least absolute deviation is the change. Slow drifts are not looked for."
)


@dataclass(frozen=True)
class Change:
    """A step in one metric, in words."""

    metric: str
    run: SiteRun
    point: ChangePoint
    changed: tuple[str, ...]

    @property
    def slower(self) -> bool:
        return self.point.ratio > 1

    @property
    def text(self) -> str:
        ratio = f"{fmt.significant(abs(self.point.ratio - 1) * 100)}{fmt.THIN}%"
        return (
            f"{self.metric} {'slower' if self.slower else 'faster'} by {ratio}: {fmt.duration(self.point.before)} → "
            f"{fmt.duration(self.point.after)} (ratio {fmt.significant(self.point.low)} to "
            f"{fmt.significant(self.point.high)}, {self.point.runs_before} against {self.point.runs_after} runs)"
        )


@dataclass(frozen=True)
class History:
    """The runs of a workload, oldest first, with a chart a metric."""

    workload: str
    runs: tuple[SiteRun, ...]
    charts: tuple[tuple[str, Figure], ...]
    changes: tuple[Change, ...]

    @property
    def page(self) -> str:
        return f"history/{self.workload}.html"

    @property
    def title(self) -> str:
        return self.runs[-1].name

    @property
    def subtitle(self) -> str:
        newest = self.runs[-1]
        words = (newest.device, *(newest.row[name] for name in ("dtype", "attention", "cache")))
        return " · ".join([*(str(word) for word in words if word), f"{newest.lengths} tokens"])

    @property
    def enough(self) -> bool:
        """Whether there are enough runs to look for changes."""
        return len(self.runs) >= MIN_RUNS

    @property
    def finding(self) -> str:
        if not self.enough:
            return f"{fmt.plural(len(self.runs), 'run')}: changes are looked for from {MIN_RUNS} runs on."
        if not self.changes:
            return f"No change established over {fmt.plural(len(self.runs), 'run')}."
        return f"{fmt.plural(len(self.changes), 'change')} established over {fmt.plural(len(self.runs), 'run')}."

    def figures(self) -> Iterator[Figure]:
        yield from (figure for _, figure in self.charts)


def build(workload: str, runs: Sequence[SiteRun]) -> History:
    """The history of runs of one workload, oldest first."""
    charts, changes = [], []
    for phase, column, title in METRICS:
        measured = [run for run in runs if run.row[column] is not None]
        if not measured:
            continue
        points = change_points([run.row[column] for run in measured])
        changes += [
            Change(title, measured[p.index], p, tuple(what_changed(measured[p.index - 1], measured[p.index])))
            for p in points
        ]
        charts.append((title, _chart(phase, column, measured, points)))
    return History(workload, tuple(runs), tuple(charts), tuple(changes))


def _chart(phase: str, column: str, runs: Sequence[SiteRun], points: Sequence[ChangePoint]) -> Figure:
    unit, size = fmt.time_unit([run.row[column] for run in runs])
    rows: list[Row] = [
        {
            "number": number,
            "value": run.row[column] / size,
            "text": fmt.duration(run.row[column]),
            "when": fmt.moment(run.row["captured_unix_ns"]),
            "run": run.run_id,
        }
        for number, run in enumerate(runs, 1)
    ]
    steps: list[Row] = [
        {"at": point.index + 0.5, "label": f"{(point.ratio - 1) * 100:+.0f} %".replace("-", "−")} for point in points
    ]
    name = f"history_{phase}"
    base = alt.Chart(alt.NamedData(name))
    colour = palette.PHASES[phase]
    x = alt.X(
        "number:Q",
        axis=alt.Axis(title="runs, oldest first", tickMinStep=1, format="d"),
        scale=alt.Scale(domain=[0.5, len(runs) + 0.5], nice=False),
    )
    y = alt.Y(
        "value:Q", scale=alt.Scale(zero=False, nice=True, padding=12), axis=top_title(f"{unit}, median, clean pass")
    )
    line = base.mark_line(color=colour, strokeWidth=1.4, opacity=0.5).encode(x=x, y=y)
    marks = base.mark_circle(color=colour, size=46, opacity=1).encode(
        x=x, y=y, tooltip=tooltips(("text", "median"), ("when", "captured"), ("run", "run"))
    )
    layers = [line, marks]
    data = {name: rows}
    if steps:
        data[f"{name}_changes"] = steps
        changed = alt.Chart(alt.NamedData(f"{name}_changes"))
        at = alt.X("at:Q", scale=alt.Scale(domain=[0.5, len(runs) + 0.5], nice=False))
        layers.append(changed.mark_rule(color=palette.INK, strokeDash=[4, 3]).encode(x=at))
        layers.append(
            changed.mark_text(color=palette.INK, align="left", baseline="top", dx=4, fontSize=11).encode(
                x=at, y=alt.value(2), text="label:N"
            )
        )
    return Figure(
        name=f"history-{phase}",
        chart=alt.layer(*layers).properties(width="container", height=200),
        data=data,
        description=f"Median {phase} latency of each run in the order of time; dashed lines are changes.",
    )
