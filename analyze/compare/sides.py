"""A side of a comparison: one run, or several runs of the same workload, out of a store, a bundle or a trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analyze.compare.facts import RunFacts, read_facts
from analyze.errors import PhasescopeError
from analyze.query import open_store

DEFAULT_STORE = Path("phases.duckdb")
_DUCKDB_MAGIC = b"DUCK"  # bytes 8 to 11 of every DuckDB file

# What must not differ between the runs of one side.
_SAME = (
    "model", "weights", "device", "device_name", "dtype", "attention", "cache", "logits", "batch_size",
    "prompt_tokens", "new_tokens", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """The runs of a side, in order of capture. `named` is what the caller called it."""

    named: str
    runs: tuple[RunFacts, ...]

    @property
    def first(self) -> RunFacts:
        """The run that speaks for the side where one is enough: the first that has a traced pass."""
        return next((run for run in self.runs if run.traced_pass), self.runs[0])

    @property
    def name(self) -> str:
        return self.first.name


def read_side(
    named: str | Path, store: Path | None = None, *, progress: Callable[[str], None] = lambda text: None
) -> Side:
    """The side that `named` stands for.

    In this order: a run id or a label of `store` (default: phases.duckdb, if it is there), several run ids with
    commas between them, a path of a store, bundle or trace, the start of a run id. A label that several runs carry
    stands for all of them. Raises PhasescopeError where nothing, or too much, goes by that name.
    """
    text = str(named)
    where = store or (DEFAULT_STORE if DEFAULT_STORE.exists() else None)
    if where is not None:
        con = open_store(where)
        try:
            exact = _exact(con, text)
            if exact:
                return _side(text, [read_facts(con, run_id) for run_id in exact])
            if not Path(text).exists() and (started := _started(con, text)):
                return _side(text, [read_facts(con, started)])
        finally:
            con.close()
    if Path(text).exists():
        return _from_path(Path(text), progress)
    if where is None:
        raise PhasescopeError(f"{text}: no such file, and no store to look for a run in; name one with --store")
    raise PhasescopeError(f"{text}: no run of {where} and no file; `phasescope runs --store {where}` lists the runs")


def _exact(con: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """Run ids for an id, a label, or a list of ids and labels."""
    runs = con.execute("SELECT run_id, label FROM runs ORDER BY captured_unix_ns NULLS LAST, run_id").fetchall()
    ids = [run_id for run_id, _ in runs]
    if text in ids:
        return [text]
    labelled = [run_id for run_id, label in runs if label == text]
    if labelled or "," not in text:
        return labelled
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found = {part: [run_id for run_id, label in runs if part in (run_id, label)] for part in parts}
    if not any(found.values()):
        return []
    missing = [part for part, known in found.items() if not known]
    if missing:
        raise PhasescopeError(f"{', '.join(missing)}: no such run in the store; `phasescope runs` lists them")
    named = {run_id for known in found.values() for run_id in known}
    return [run_id for run_id in ids if run_id in named]


def _started(con: duckdb.DuckDBPyConnection, text: str) -> str | None:
    rows = con.execute("SELECT run_id FROM runs WHERE starts_with(run_id, ?) ORDER BY run_id", [text]).fetchall()
    if len(rows) > 1:
        ids = ", ".join(row[0] for row in rows[:5])
        raise PhasescopeError(f"{text}: several runs begin like that ({ids}); give the whole run id")
    return rows[0][0] if rows else None


def _from_path(path: Path, progress: Callable[[str], None]) -> Side:
    if path.is_file() and _is_store(path):
        con = open_store(path)
        try:
            ids = [row[0] for row in con.execute("SELECT run_id FROM runs ORDER BY run_id").fetchall()]
            if len(ids) != 1:
                what = f"{len(ids)} runs" if ids else "no run"
                raise PhasescopeError(
                    f"{path}: a store with {what}, so it names no one side; give a run id and --store"
                )
            return _side(path.name, [read_facts(con, ids[0])])
        finally:
            con.close()
    from analyze.load import load

    with tempfile.TemporaryDirectory(prefix="phasescope-") as folder:
        scratch = Path(folder) / "side.duckdb"
        result = load([path], scratch, progress=progress)
        if result.failed:
            raise result.failed[0]
        con = open_store(scratch)
        try:
            runs = [read_facts(con, loaded.run_id) for loaded in result.loaded]
        finally:
            con.close()
    if not runs:
        raise PhasescopeError(f"{path}: nothing in it that could be compared; give a bundle, a trace or a store")
    if len(runs) > 1 and not all(run.run["source_kind"] == "bundle" for run in runs):
        raise PhasescopeError(f"{path}: {len(runs)} traces; load them with --one-run first, or name one of them")
    return _side(path.name, runs)


def _is_store(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(12)[8:] == _DUCKDB_MAGIC


def _side(named: str, runs: list[RunFacts]) -> Side:
    for key in _SAME:
        values = {run.run[key] for run in runs}
        if len(values) > 1:
            shown = " and ".join(sorted(str(value) for value in values))
            raise PhasescopeError(
                f"{named}: its {len(runs)} runs are not of one kind ({key.replace('_', ' ')}: {shown}); "
                "name those to compare by run id, with commas between them"
            )
    return Side(named, tuple(runs))
