"""Many traces: one process against two, one Dask worker against two."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.benchmarks.measure import Options, Row, child, in_turn, median_s
from tests.benchmarks.synthetic import gpu_trace

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
