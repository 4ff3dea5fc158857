"""HolisticTraceAnalysis on one trace, run by the interpreter of its own environment; one JSON line out."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """TraceAnalysis, its temporal breakdown and its kernel breakdown; what fails is named and costs what it cost."""
    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]

    def peak() -> int:
        most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return most if sys.platform == "darwin" else most * 1024

    trace = Path(sys.argv[1])
    baseline, wall, cpu = peak(), time.perf_counter(), time.process_time()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / trace.name).symlink_to(trace)
        analysis = TraceAnalysis(trace_files={0: str(Path(folder) / trace.name)}, trace_dir=folder)
        for name in ("get_temporal_breakdown", "get_gpu_kernel_breakdown"):
            try:
                getattr(analysis, name)(visualize=False)
            except Exception as error:
                failed.append(f"{name} fails ({type(error).__name__})")
    account = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak(),
        "baseline_bytes": baseline,
        "answer": {"failed": failed},
    }
    print(json.dumps(account))


if __name__ == "__main__":
    main()
