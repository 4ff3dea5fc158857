"""What a bundle says, as rows of the store."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from analyze.errors import PhasescopeError
from analyze.instruments.clock import PassClock
from analyze.kv import expected_bytes
from analyze.mac_rows import energy_rows, opstats_rows
from analyze.normalised_trace import NormalisedTrace
from analyze.sniff import Source
from capture.bundle import Bundle, PassRecord

_TIMING_TYPES = {
    "repeat": pa.int32(), "phase": pa.string(), "step": pa.int32(), "start_ns": pa.int64(), "dur_ns": pa.int64(),
    "cpu_ns": pa.int64(), "tokens": pa.int64(), "cached_tokens": pa.int64(),
}  # fmt: skip
_SAMPLE_TYPES = {
    "repeat": pa.int32(), "phase": pa.string(), "step": pa.int32(), "t_ns": pa.int64(), "kv_cache_bytes": pa.int64(),
    "tensor_bytes": pa.int64(), "driver_bytes": pa.int64(), "recommended_max_bytes": pa.int64(),
    "peak_bytes": pa.int64(), "resident_bytes": pa.int64(), "footprint_bytes": pa.int64(),
    "process_cpu_percent": pa.float64(),
}  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """The exported tables of one pass's Instruments recording."""

    pass_: str
    sources: list[Source]
    target_pid: int | None
    clock: PassClock | None


@dataclass
class BundleRows:
    """A bundle, ready for the store. `traces` opens each pass's trace as uncompressed bytes."""

    name: str
    run_id: str
    sha256: str
    run: dict[str, Any]
    traces: dict[str, Callable[[], BinaryIO]]
    tables: dict[str, list[pa.Table]]
    timings: dict[str, pa.Table]
    pass_start_unix_ns: dict[str, int]
    incomplete: list[tuple[str, str]]
    recordings: list[Recording] = field(default_factory=list)

    def _offset(self, pass_: str, trace: NormalisedTrace) -> int:
        """What to add to a time since the pass began to get a time since the trace began; 0 where unknown."""
        began = self.pass_start_unix_ns.get(pass_)
        if began is None or trace.base_unix_ns is None:
            return 0
        return began - (trace.base_unix_ns + trace.origin_ns)

    def timings_on_trace_clock(self, pass_: str, trace: NormalisedTrace) -> pa.Table | None:
        """The pass's timings with begins on the clock of its trace."""
        table = self.timings.get(pass_)
        return None if table is None else _shifted(table, "start_ns", self._offset(pass_, trace))

    def shift_samples(self, pass_: str, trace: NormalisedTrace) -> None:
        """Bring the pass's samples to the clock of its trace."""
        self.tables["samples"] = [
            _shifted(table, "t_ns", self._offset(pass_, trace)) if table["pass"][0].as_py() == pass_ else table
            for table in self.tables["samples"]
        ]


def bundle_rows(bundle: Bundle) -> BundleRows:
    """Read a bundle's manifest and small files; raises PhasescopeError for files that are missing or changed."""
    manifest = bundle.manifest
    tables: dict[str, list[pa.Table]] = {"samples": [], "phases": []}
    traces, timings, starts = {}, {}, {}
    for record in bundle.passes:
        if record.status != "measured":
            continue
        folder = f"{record.name}/"
        if record.clock is not None:
            starts[record.name] = record.clock.start.unix_ns
        files = {name.removeprefix(folder): name for name in record.files if name.startswith(folder)}
        if "samples.jsonl" in files and (rows := bundle.read_jsonl(files["samples.jsonl"])):
            tables["samples"].append(_table(rows, _SAMPLE_TYPES, record.name))
        if "timings.jsonl" in files and (rows := bundle.read_jsonl(files["timings.jsonl"])):
            timings[record.name] = _table(rows, _TIMING_TYPES)
        for name, rows_of in (("opstats.json", opstats_rows), ("energy.json", energy_rows)):
            if name in files:
                for table, found in rows_of(_json(bundle, files[name])).items():
                    tables.setdefault(table, []).append(_of_pass(found, record.name))
        trace = next((files[name] for name in ("trace.json.gz", "trace.json") if name in files), None)
        if trace:
            traces[record.name] = _opener(bundle, trace)
        elif record.name in timings:
            tables["phases"].append(_timed_phases(timings[record.name], record.name, manifest.workload.batch_size))
    tables["passes"] = [_passes(bundle)]
    tables["kv_expected"] = [_kv_expected(bundle, timings, tables["samples"])]
    return BundleRows(
        name=bundle.path.name,
        run_id=manifest.run_id,
        sha256=bundle.sha256,
        run=_run(bundle),
        traces=traces,
        tables=tables,
        timings=timings,
        pass_start_unix_ns=starts,
        incomplete=[(p.name, f"{p.status}: {p.reason}") for p in bundle.passes if p.status != "measured"],
        recordings=[found for record in bundle.passes if (found := _recording(bundle, record)) is not None],
    )


def _recording(bundle: Bundle, record: PassRecord) -> Recording | None:
    names = [name for name in record.files if name.endswith((".xml", ".xml.gz"))]
    if record.status != "measured" or not names:
        return None
    begin = record.clock.start if record.clock else None
    return Recording(
        record.name,
        [Source(name, "instruments", _opener(bundle, name), bundle.path) for name in names],
        record.pid,
        PassClock(begin.unix_ns, begin.monotonic_ns) if begin else None,
    )


def _json(bundle: Bundle, name: str) -> Any:
    with bundle.open(name) as stream:
        try:
            return msgspec.json.decode(stream.read())
        except msgspec.DecodeError as error:
            raise PhasescopeError(f"{bundle.path}: {name} is not JSON ({error}); capture that pass again") from error


def _of_pass(table: pa.Table, pass_: str) -> pa.Table:
    return table.append_column("pass", pa.array([pass_] * table.num_rows, pa.string()))


def _opener(bundle: Bundle, name: str) -> Callable[[], BinaryIO]:
    import gzip

    def opened() -> BinaryIO:
        stream = bundle.open(name)
        return gzip.GzipFile(fileobj=stream) if name.endswith(".gz") else stream  # type: ignore[return-value]

    return opened


def _run(bundle: Bundle) -> dict[str, Any]:
    manifest = bundle.manifest
    workload, software = manifest.workload, manifest.software
    return {
        "label": manifest.label, "source": bundle.path.name, "source_kind": "bundle", "source_sha256": bundle.sha256,
        "model": manifest.model.name, "weights": manifest.model.weights, "device": workload.device,
        "device_name": manifest.machine.device_name or manifest.machine.processor, "dtype": workload.dtype,
        "attention": workload.attention, "cache": workload.cache, "logits": workload.logits,
        "batch_size": workload.batch_size, "prompt_tokens": workload.prompt_tokens, "new_tokens": workload.new_tokens,
        "ranks": 1, "captured_unix_ns": manifest.captured_unix_ns, "os": manifest.machine.os,
        "python_version": software.get("python"), "torch_version": software.get("torch"),
        "transformers_version": software.get("transformers"),
        "architecture": msgspec.to_builtins(manifest.architecture) if manifest.architecture else None,
        "manifest": msgspec.to_builtins(manifest),
    }  # fmt: skip


def _passes(bundle: Bundle) -> pa.Table:
    rows = [
        {
            "run_id": bundle.manifest.run_id,
            "pass": p.name,
            "status": p.status,
            "reason": p.reason,
            "detail": msgspec.json.encode({"clock": p.clock, "env_checked": p.env_checked, **p.detail}).decode(),
        }
        for p in bundle.passes
    ]
    names = ("run_id", "pass", "status", "reason", "detail")
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names})


def _table(rows: list[dict[str, Any]], types: dict[str, pa.DataType], pass_: str | None = None) -> pa.Table:
    table = pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()})
    return table if pass_ is None else table.append_column("pass", pa.array([pass_] * len(rows), pa.string()))


def _timed_phases(timings: pa.Table, pass_: str, batch_size: int) -> pa.Table:
    n = timings.num_rows
    return (
        timings.append_column("pass", pa.array([pass_] * n, pa.string()))
        .append_column("sequences", pa.array([batch_size] * n, pa.int32()))
        .append_column("source", pa.array(["timer"] * n, pa.string()))
    )


def _kv_expected(bundle: Bundle, timings: dict[str, pa.Table], samples: list[pa.Table]) -> pa.Table:
    """Expected bytes for every number of cached tokens that a timing names."""
    manifest = bundle.manifest
    workload = manifest.workload
    lengths = {value for table in timings.values() for value in table["cached_tokens"].to_pylist() if value is not None}
    rows = [
        (n, expected_bytes(manifest.architecture, workload.batch_size, workload.prompt_tokens, n))
        for n in sorted(lengths)
    ]
    return pa.table(
        {
            "cached_tokens": pa.array([n for n, _ in rows], pa.int64()),
            "computed_bytes": pa.array([e.computed_bytes for _, e in rows], pa.int64()),
            "reason": pa.array([e.reason for _, e in rows], pa.string()),
        }
    )


def _shifted(table: pa.Table, column: str, offset: int) -> pa.Table:
    at = table.column_names.index(column)
    return table.set_column(at, column, pc.add(table[column], pa.scalar(offset, pa.int64())))
