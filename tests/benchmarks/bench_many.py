"""Many traces: one process against two, one Dask worker against two, and a lake that holds them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tests.benchmarks.measure import Options, Row, child, in_turn, median_s
from tests.benchmarks.synthetic import gpu_trace

if TYPE_CHECKING:
    from analyze.lake.layout import Lake

_TRACES = 8


def _folder(options: Options) -> Path:
    """A folder of traces of different bytes and about the same size."""
    folder = options.folder / f"many-{options.events}"
    folder.mkdir(exist_ok=True)
    for i in range(_TRACES):
        gpu_trace(folder / f"trace-{i}.json", options.events // _TRACES + 600 * i)
    return folder


def many(options: Options) -> list[Row]:
    """`phasescope load FOLDER` with one process and with two."""
    folder = _folder(options)
    one, two = in_turn(
        options.repeats, lambda: child("folder", str(folder), "1"), lambda: child("folder", str(folder), "2")
    )
    measured = f"{_TRACES} traces, {one.wall_s:.2f} s with one process, {two.wall_s:.2f} s with two"
    return [Row("load FOLDER: two processes / one", two.wall_s / one.wall_s, "", measured)]


def cluster(options: Options) -> list[Row]:
    """`phasescope load FOLDER --cluster ADDRESS --lake LAKE` with one worker and with two."""
    try:
        from distributed import LocalCluster
    except ImportError:
        return [Row("cluster", None, "", "not measured: extra `cluster` is not installed")]
    from analyze.lake.cluster import load_on_cluster

    folder = _folder(options)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.repeats):
        for workers in times:
            lake = options.folder / f"lake-{workers}"
            shutil.rmtree(lake, ignore_errors=True)
            with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as running:
                began = time.perf_counter()
                result = load_on_cluster([str(folder)], str(lake), running.scheduler_address)
                times[workers].append(time.perf_counter() - began)
            if result.failed:
                raise result.failed[0]
    one, two = median_s(times[1]), median_s(times[2])
    measured = f"{_TRACES} traces, {one:.2f} s on one worker, {two:.2f} s on two"
    return [Row("load --cluster: two workers / one", two / one, "", measured)]


def opening(options: Options) -> list[Row]:
    """Opening a lake of many runs, and asking it of one: the cost of a run that is there."""
    from analyze.lake.cluster import load_into_lake
    from analyze.lake.layout import Lake
    from analyze.query import open_store

    runs = 50 if options.quick else 1000
    lake = options.folder / f"lake-of-{runs}"
    if not lake.exists():
        trace = gpu_trace(options.folder / "gpu-3000.json", 3000)
        result = load_into_lake([trace], str(lake))
        if result.failed:
            raise result.failed[0]
        _multiply(Lake(str(lake)), runs)
    took: dict[str, list[float]] = {"open": [], "query": []}
    for _ in range(options.repeats):
        began = time.perf_counter()
        con = open_store(lake)
        opened = time.perf_counter()
        (run_id,) = con.execute("SELECT max(run_id) FROM runs").fetchall()[0]
        asked = time.perf_counter()
        con.execute("FROM phase_breakdown WHERE run_id = ?", [run_id]).fetchall()
        took["open"].append(opened - began)
        took["query"].append(time.perf_counter() - asked)
        con.close()
    return [
        Row(f"lake of {runs} runs: opening it", None, "", f"{median_s(took['open']):.2f} s"),
        Row(f"lake of {runs} runs: phase_breakdown of one", None, "", f"{median_s(took['query']):.3f} s"),
    ]


def _multiply(lake: Lake, runs: int) -> None:
    """The one run of the lake, again under other names."""
    (first,) = lake.markers()
    root = Path(lake.root)
    for n in range(1, runs):
        run_id = f"{first.run_id}-{n:06}"
        files = {table: name.replace(first.run_id, run_id) for table, name in first.files.items()}
        for table, name in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / first.files[table], root / name)
        lake.mark(msgspec.structs.replace(first, run_id=run_id, source_sha256=f"{n:064x}", files=files))
