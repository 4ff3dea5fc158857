"""The report of one run: a single HTML file from which no request leaves."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from analyze.errors import PhasescopeError
from analyze.query import find_run, open_store
from reports import embed, provenance
from reports.collect import collect
from reports.figure import Figure
from reports.page import page
from reports.queries import Result
from reports.sections import (
    answer,
    audit,
    budget,
    claims,
    counters,
    glance,
    host,
    kv,
    memory,
    operators,
    quality,
    roofline,
    steps,
    timeline,
)
from reports.sections.names import Names
from reports.tables import Table


@dataclass(frozen=True)
class ReportData:
    """All that a report shows, out of the rows of its queries. A part is None where the run has no data for it."""

    run_id: str
    title: str
    subtitle: str
    label: str | None
    random_weights: bool
    device: str | None
    answer: answer.Answer
    glance: glance.Glance
    claims: tuple[claims.Claim, ...]
    budget: budget.Budget | None
    timeline: timeline.Timeline | None
    steps: steps.Steps | None
    audit: audit.Audit | None
    kv: kv.KvCache | None
    memory: memory.Memory | None
    host: Table | None
    roofline: roofline.Roofline | None
    counters: Table | None
    operators: Table | None
    kernels: Table | None
    quality: quality.Quality
    clean_reason: str | None

    @classmethod
    def from_results(cls, results: Mapping[str, Result], *, include_paths: bool = False) -> ReportData:
        """Build it from the results that `collect` answers, or from rows made by hand."""
        run = results["run"].one()
        names = Names(include_paths)
        facts = (run["device_name"] or run["device"], run["dtype"], run["attention"])
        data = cls(
            run_id=run["run_id"],
            title=names(run["model"] or run["source"]),
            subtitle=" · ".join(names(fact) for fact in facts if fact),
            label=names(run["label"]),
            random_weights=run["weights"] == "random",
            device=run["device"],
            answer=answer.build(results),
            glance=glance.build(results, names),
            claims=claims.build(results, names),
            budget=budget.build(results),
            timeline=timeline.build(results, names),
            steps=steps.build(results, names),
            audit=audit.build(results, names),
            kv=kv.build(results, names),
            memory=memory.build(results),
            host=host.build(results),
            roofline=roofline.build(results),
            counters=counters.build(results, names),
            operators=operators.build_operators(results, names),
            kernels=operators.build_kernels(results, names),
            quality=quality.build(results, names),
            clean_reason=next((names(row["reason"]) for row in results["passes"] if row["pass"] == "clean"), None),
        )
        return provenance.stamped(data, provenance.words(results["provenance"]))

    @property
    def parts(self) -> tuple[tuple[str, str, bool], ...]:
        """Sections between the claims and Quality: id, title, and whether the run has data for it."""
        return (
            ("budget", "Where the time goes", self.budget is not None),
            ("timeline", "Timeline", self.timeline is not None),
            ("steps", "Step by step", self.steps is not None or self.audit is not None),
            ("kv", "KV cache", self.kv is not None),
            ("memory", "Memory", self.memory is not None),
            ("host", "Host", self.host is not None),
            ("roofline", "Roofline", self.roofline is not None or self.counters is not None),
            ("operators", "Operators and kernels", self.operators is not None or self.kernels is not None),
            ("absent", "What this run does not tell", bool(self.absent)),
        )

    @property
    def absent(self) -> tuple[tuple[str, str], ...]:
        """What the run has no data for, and why; one line each."""
        clean = "latencies are quoted from a clean pass only, and this run has none"
        lines = (
            ("Where the time goes", self.budget, "no pass recorded operators or device work inside a phase"),
            ("Timeline", self.timeline, "there is no trace"),
            ("Latencies", self.steps, clean + (f": {self.clean_reason}" if self.clean_reason else "")),
            ("KV cache", self.kv, "the cache was not sampled"),
            ("Memory", self.memory, "there are no samples and no allocations"),
            ("Host", self.host, "neither CPU time nor operators were recorded"),
            ("Roofline", self.roofline, "it counts from the model's architecture, which the source does not tell"),
            ("Operators", self.operators, "none were recorded"),
            ("Kernels", self.kernels, "no pass recorded work on a device"),
        )
        # the CPU is its own device: its operators are its kernels
        return tuple(
            (title, why)
            for title, part, why in lines
            if part is None and not (title == "Kernels" and self.device == "cpu" and self.operators)
        )

    def figures(self) -> Iterator[Figure]:
        """Every chart of the report, in reading order."""
        if self.timeline:
            yield from (self.timeline.overview, self.timeline.detail)
        if self.steps:
            yield from (figure for figure in (self.steps.clean, self.steps.profiled) if figure)
        if self.kv:
            yield from (figure for figure in (self.kv.growth, self.kv.difference) if figure)
        if self.memory:
            yield from (panel.figure for panel in self.memory.panels if panel.figure)
        if self.roofline and self.roofline.figure:
            yield self.roofline.figure


def render(data: ReportData) -> str:
    """The report as HTML; the same data give the same text."""
    return page("report.html", data.figures(), report=data, page_title=f"{data.title} · phasescope")


def report(
    store: str | Path, run: str | None, out: str | Path, *, force: bool = False, include_paths: bool = False
) -> Path:
    """Write the report of `run` in `store` to `out`, and answer `out`.

    `run` is a run's id, the start of it, or a label; None is the run loaded last.

    Folders in names and texts are left out unless `include_paths`. Raises PhasescopeError when the store or the run
    is not there, when `out` exists and `force` is not given, and when it cannot be written.
    """
    store, out = Path(store), Path(out)
    if out.exists() and not force:
        raise PhasescopeError(f"{out} exists: give another --out, or --force to replace it")
    connection = open_store(store)
    embed.bundling()
    try:
        results = collect(connection, find_run(connection, run).run_id)
    finally:
        connection.close()
    write_whole(out, render(ReportData.from_results(results, include_paths=include_paths)))
    return out


def write_whole(out: Path, text: str) -> None:
    """Write `text` to `out` so that the file is there whole or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    except OSError as error:
        raise PhasescopeError(f"{out} cannot be written ({error.strerror}): give another --out") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's file is for its owner alone; a report is like any other file
        os.replace(temporary, out)
    except OSError as error:
        raise PhasescopeError(f"{out} cannot be written ({error.strerror}): give another --out") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
