"""Which runs of a site are worth comparing, and the page of such a pair."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from analyze.compare import Side, compare_sides
from analyze.compare.facts import read_facts
from reports.comparison.page import build
from reports.page import page
from reports.sections.names import Names
from reports.site.runs import SiteRun

_PART = ("dtype", "attention", "cache", "logits", "device", "device_name", "cpu_threads", "warmup")
_COUNTED = {"cpu_threads": "CPU threads ", "warmup": "warm-up "}  # a bare number says nothing
_MOST_OTHERS = 5  # configurations that the newest run of a configuration is compared with


@dataclass(frozen=True)
class Pair:
    """Two runs: A is the older or the other configuration, B what is said against it."""

    a: SiteRun
    b: SiteRun
    why: str

    @property
    def page(self) -> str:
        key = hashlib.sha256(f"{self.a.run_id}|{self.b.run_id}".encode()).hexdigest()[:10]
        return f"compare/{key}.html"


def pairs(histories: dict[str, list[SiteRun]]) -> list[Pair]:
    """The newest run of each workload against the run before it and against other configurations of the same work."""
    found = [Pair(runs[-2], runs[-1], "against the run before") for runs in histories.values() if len(runs) > 1]
    same_work: dict[tuple[object, ...], list[SiteRun]] = defaultdict(list)
    for runs in histories.values():
        newest = runs[-1]
        names = ("model", "weights", "batch_size", "prompt_tokens", "new_tokens")
        same_work[tuple(newest.row[name] for name in names)].append(newest)
    for group in same_work.values():
        group = sorted(group, key=lambda run: (run.row["captured_unix_ns"], run.run_id))
        for a, b in _others(group):
            found.append(Pair(a, b, _difference(a, b)))
    return found


def _others(group: Sequence[SiteRun]) -> list[tuple[SiteRun, SiteRun]]:
    pairs = []
    for number, b in enumerate(group):
        nearest = sorted(group[:number], key=lambda a: len(_differing(a, b)))
        pairs += [(a, b) for a in nearest[:_MOST_OTHERS]]
    return pairs


def _differing(a: SiteRun, b: SiteRun) -> list[str]:
    return [name for name in _PART if a.row[name] != b.row[name]]


def _difference(a: SiteRun, b: SiteRun) -> str:
    return ", ".join(
        f"{_COUNTED.get(name, '')}{a.row[name]} → {b.row[name]}"
        for name in _differing(a, b)
        if a.row[name] is not None and b.row[name] is not None
    )


def render(connection: duckdb.DuckDBPyConnection, pair: Pair) -> str:
    """The page of the pair, from a connection that has all tables of both runs."""
    sides = [Side(run.run_id, (read_facts(connection, run.run_id),)) for run in (pair.a, pair.b)]
    shown = build(compare_sides(sides[0], sides[1]), None, Names())
    return page(
        "site_compare.html", shown.figures(), compare=shown, pair=pair, page_title=f"{shown.title} · phasescope"
    )
