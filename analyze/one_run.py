"""One run into the store: the sources of it read, normalised, inserted and analysed, all in one transaction."""

import hashlib
import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from analyze import attribution, claims, derived, phases
from analyze.bundle_rows import BundleRows, Recording, bundle_rows
from analyze.chrome_trace import read_chrome_trace
from analyze.engines import Engine, open_engine
from analyze.errors import GateRefused, PhasescopeError
from analyze.grammars import Grammar
from analyze.instruments.insert import insert_instruments
from analyze.normalised_trace import NormalisedTrace
from analyze.perfetto_trace import read_perfetto_trace
from analyze.ranks import rank_notes, ranks_of
from analyze.sniff import Source
from analyze.store import scalar, transaction
from analyze.trace_rows import insert_rows, insert_trace
from analyze.unpacked import unpacked
from capture.bundle import open_bundle

# Of a file's name all but these says what it holds.
_SUFFIXES = re.compile(r"(\.(pt|trace|json|gz|pftrace|perfetto-trace|xml|zip))+$", re.IGNORECASE)


@dataclass(frozen=True)
class Loaded:
    """A run that is in the store now; `already` when it was there before. `failures`: files of it that are not in."""

    run_id: str
    source: str
    raw_events: int
    loaded_events: int
    excluded_events: int
    repaired_events: int
    already: bool = False
    failures: tuple[PhasescopeError, ...] = ()
    source_sha256: str = ""


@dataclass(frozen=True)
class Options:
    """How to load."""

    engine: str = "auto"
    trace_processor: str | None = None
    rules: Path | None = None
    strict: bool = False
    label: str | None = None


@dataclass
class _Counts:
    raw: int = 0
    excluded: int = 0
    repaired: int = 0
    engine: str | None = None
    engine_version: str | None = None
    failures: list[PhasescopeError] = field(default_factory=list)
    quality: list[tuple[int, str, str, int, str]] = field(default_factory=list)


def load_group(con: duckdb.DuckDBPyConnection, group: list[Source], grammar: Grammar, options: Options) -> Loaded:
    """Load the sources of one run, in one transaction."""
    for source in group if len(group) > 1 else ():
        if source.kind == "bundle":
            raise PhasescopeError(f"{source.name}: a bundle is a run of its own; load it without --one-run")
        if (source.kind == "instruments") != (group[0].kind == "instruments"):
            raise PhasescopeError(f"{source.name}: traces and Instruments exports are no one run; load each alone")
    if group[0].kind == "bundle":
        with open_bundle(group[0].path) as bundle:
            return _load_bundle(con, bundle_rows(bundle), grammar, options)
    name, is_recording = _name_of(group), group[0].kind == "instruments"
    with ThreadPoolExecutor(1, "digest") as pool:  # hashing runs outside Python's lock
        digest = pool.submit(_digest, group)
        # A name that the store knows most likely means the same bytes: then nothing is read before that is certain.
        if is_recording or scalar(con, "SELECT count(*) FROM runs WHERE source = ?", [name]):
            known = known_run(con, digest.result(), options)
            if known:
                return known
        traces = [] if is_recording else _read_traces(group, options)
        sha256 = digest.result()
    known = known_run(con, sha256, options)
    if known:
        return known
    stem = re.sub(r"[^\w.]+", "-", _SUFFIXES.sub("", name)).strip("-.")[:40] or "trace"
    run_id, pass_ = f"{stem}-{sha256[:8]}", "metal" if is_recording else "trace"
    counts = _Counts()
    with transaction(con, name):
        if is_recording:
            _insert_recording(con, Recording(pass_, group, None, None), run_id, counts, options)
        else:
            _insert_ranks(con, traces, run_id, counts, options)
            _analyse(con, run_id, pass_, grammar)
        run = {
            "label": options.label, "source": name, "source_kind": group[0].kind, "source_sha256": sha256,
            "ranks": 1 if is_recording else len(group),
        }  # fmt: skip
        con.execute("INSERT INTO passes VALUES (?, ?, 'measured', NULL, NULL)", [run_id, pass_])
        return _finish(con, run_id, run, counts, options)


def _load_bundle(con: duckdb.DuckDBPyConnection, rows: BundleRows, grammar: Grammar, options: Options) -> Loaded:
    known = known_run(con, rows.sha256, options)
    if known:
        return known
    run_id, counts = rows.run_id, _Counts()
    if scalar(con, "SELECT count(*) FROM runs WHERE run_id = ?", [run_id]):
        raise PhasescopeError(
            f"{rows.name}: the store holds another bundle of run {run_id} (a fuller or an emptier copy); "
            "load this one into a new store with --store"
        )
    with transaction(con, rows.name):
        for pass_, opener in rows.traces.items():
            with opener() as stream:
                trace = _read("chrome_json", stream, f"{rows.name}: {pass_} trace", options)
            _insert(con, trace, counts, options, run_id=run_id, pass_=pass_, rank=0)
            _analyse(con, run_id, pass_, grammar)
            timings = rows.timings_on_trace_clock(pass_, trace)
            if timings is not None:
                phases.merge_timings(con, run_id, pass_, timings)
            rows.shift_samples(pass_, trace)
        for table, batches in rows.tables.items():
            for batch in batches:
                insert_rows(con, table, batch, run_id=run_id, rank=0)
        for pass_, reason in rows.incomplete:
            counts.quality.append((0, "pass_not_measured", "note", 0, f"pass {pass_}: {reason}"))
        for recording in rows.recordings:
            _insert_recording(con, recording, run_id, counts, options)
        run = {**rows.run, "label": options.label or rows.run["label"]}
        return _finish(con, run_id, run, counts, options)


def _name_of(group: list[Source]) -> str:
    if len(group) == 1:
        return group[0].name
    folders = {source.path.parent for source in group}
    return folders.pop().name if len(folders) == 1 else f"{group[0].name} and {len(group) - 1} more"


def _read_traces(group: list[Source], options: Options) -> list[NormalisedTrace]:
    traces = []
    for source in group:
        with source.open() as stream:
            trace = _read(source.kind, stream, source.name, options)
        if trace.excluded_events == trace.raw_events > 0:
            reason = max(trace.faults.excluded, key=trace.faults.excluded.__getitem__)
            raise PhasescopeError(
                f"{source.name}: none of its {trace.raw_events} events can be loaded ({reason}: "
                f"{trace.faults.first[reason]}); is it a Chrome or Perfetto trace? export it again"
            )
        traces.append(trace)
    return traces


def _insert_ranks(
    con: duckdb.DuckDBPyConnection, traces: list[NormalisedTrace], run_id: str, counts: _Counts, options: Options
) -> None:
    ranks, guessed = ranks_of(traces)
    counts.quality += rank_notes(traces, ranks, guessed)
    for trace, rank in zip(traces, ranks, strict=True):
        _insert(con, trace, counts, options, run_id=run_id, pass_="trace", rank=rank)


def _read(kind: str, stream: BinaryIO, name: str, options: Options) -> NormalisedTrace:
    if kind == "perfetto":
        with open_engine(options.engine, options.trace_processor, source=name) as engine:  # type: ignore[arg-type]
            return read_perfetto_trace(stream, name, engine)
    return read_chrome_trace(stream, name)


def _insert(
    con: duckdb.DuckDBPyConnection,
    trace: NormalisedTrace,
    counts: _Counts,
    options: Options,
    *,
    run_id: str,
    pass_: str,
    rank: int,
) -> None:
    def open_(memory64: bool) -> Engine:
        return open_engine(options.engine, options.trace_processor, memory64=memory64, source=trace.name)  # type: ignore[arg-type]

    engine = insert_trace(con, trace, open_, run_id=run_id, pass_=pass_, rank=rank)
    trace.let_go()
    counts.engine, counts.engine_version = engine.name, engine.version
    if trace.base_unix_ns is not None:
        con.execute(
            "INSERT INTO trace_metadata VALUES (?, ?, ?, 'phasescope.origin_unix_ns', ?)",
            [run_id, pass_, rank, str(trace.base_unix_ns + trace.origin_ns)],
        )
    counts.raw += trace.raw_events
    counts.excluded += trace.excluded_events
    counts.repaired += trace.faults.repaired.total()
    first = trace.faults.first
    counts.quality += [
        *((rank, reason, "excluded", n, first.get(reason, "")) for reason, n in trace.faults.excluded.items()),
        *((rank, reason, "repaired", n, first.get(reason, "")) for reason, n in trace.faults.repaired.items()),
        *((rank, reason, "note", n, detail) for reason, n, detail in trace.notes),
    ]


def _insert_recording(
    con: duckdb.DuckDBPyConnection, recording: Recording, run_id: str, counts: _Counts, options: Options
) -> None:
    data = insert_instruments(
        con,
        [(source.name, source.open) for source in recording.sources],
        run_id=run_id,
        pass_=recording.pass_,
        target_pid=recording.target_pid,
        pass_clock=recording.clock,
        strict=False,  # _finish refuses, with all reasons
    )
    counts.raw += data.raw_rows
    counts.excluded += data.raw_rows - data.loaded_rows
    counts.failures += [PhasescopeError(sentence) for _, sentence in data.failures]
    for kind, entries in (("excluded", data.excluded), ("repaired", data.repaired), ("note", data.notes)):
        for reason, n, detail in entries:
            counts.quality.append((0, reason, kind, n, detail))
            counts.repaired += n if kind == "repaired" else 0


def _analyse(con: duckdb.DuckDBPyConnection, run_id: str, pass_: str, grammar: Grammar) -> None:
    phases.recognise(con, run_id, pass_, grammar)
    attribution.attribute(con, run_id, pass_)


def _finish(
    con: duckdb.DuckDBPyConnection, run_id: str, run: dict[str, Any], counts: _Counts, options: Options
) -> Loaded:
    """The rows of quality and runs; `--strict` refuses here, before anything is committed."""
    if counts.quality:
        con.executemany("INSERT INTO quality VALUES (?, ?, ?, ?, ?, ?)", [[run_id, *row] for row in counts.quality])
    if options.strict and counts.failures:
        raise GateRefused(f"{counts.failures[0]}; --strict loads nothing of {run['source']}")
    if options.strict and (counts.excluded or counts.repaired):
        reasons = ", ".join(sorted({row[1] for row in counts.quality if row[2] != "note"}))
        raise GateRefused(
            f"{run['source']}: --strict refuses it: {counts.excluded} events excluded and {counts.repaired} repaired "
            f"({reasons}); load it without --strict to get what is whole"
        )
    columns = {
        **run,
        "run_id": run_id,
        "loaded_unix_ns": time.time_ns(),
        "phasescope_version": metadata.version("phasescope"),
        "trace_engine": counts.engine,
        "trace_engine_version": counts.engine_version,
        "raw_events": counts.raw,
        "loaded_events": counts.raw - counts.excluded,
        "excluded_events": counts.excluded,
    }
    columns = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in columns.items()}
    names = ", ".join(columns)
    con.execute(f"INSERT INTO runs ({names}) VALUES ({', '.join('?' * len(columns))})", list(columns.values()))
    derived.derive(con, run_id)
    claims.establish(con, run_id)
    return Loaded(
        run_id, run["source"], counts.raw, counts.raw - counts.excluded, counts.excluded, counts.repaired,
        failures=tuple(counts.failures), source_sha256=run["source_sha256"],
    )  # fmt: skip


def known_run(con: duckdb.DuckDBPyConnection, sha256: str, options: Options) -> Loaded | None:
    """The run of these bytes, if it is in the store already; `--strict` refuses one that it would not have let in."""
    rows = con.execute(
        "SELECT run_id, source, raw_events, loaded_events, excluded_events, "
        "(SELECT coalesce(sum(events), 0)::BIGINT FROM quality q WHERE q.run_id = r.run_id AND kind = 'repaired') "
        "FROM runs r WHERE source_sha256 = ?",
        [sha256],
    ).fetchall()
    for run_id, source, raw, loaded, excluded, repaired in rows:
        if options.strict and (excluded or repaired):
            raise GateRefused(
                f"{source}: --strict refuses it: {excluded} events excluded and {repaired} repaired; it is in the "
                f"store as run {run_id} since it was loaded without --strict"
            )
        return Loaded(run_id, source, raw, loaded, excluded, repaired, already=True)
    return None


def source_sha256(group: list[Source]) -> str:
    """What a run is recognised by: the digest of its source's bytes, or the bundle's own."""
    if group[0].kind == "bundle":
        with open_bundle(group[0].path) as bundle:
            return bundle.sha256
    return _digest(group)


def _digest(group: list[Source]) -> str:
    """sha256 of a source's bytes; of several, of their digests in the order of their names."""
    digests = []
    for source in group:
        inside_zip = source.path.name != os.path.basename(source.name)
        digest = hashlib.sha256()
        with unpacked(source.open() if inside_zip else source.path.open("rb")) as stream:
            while block := stream.read1():
                digest.update(block)
        digests.append(digest.hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
