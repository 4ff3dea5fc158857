"""The benchmarks: `python -m tests.benchmarks [NAME ...] [--quick]` prints a table of ratios.

Each pair is run in turn on the same files in one run. Nothing here is a test: a busy machine fails no build.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import bench_capture, bench_command, bench_hta, bench_load, bench_many, bench_views
from tests.benchmarks.measure import Options, Row, print_table

BENCHMARKS: dict[str, tuple[Callable[[Options], list[Row]], str]] = {
    "load": (bench_load.reading, "loading against json.load and msgspec, and its memory"),
    "growth": (bench_load.growth, "1 to 8 times the events"),
    "hta": (bench_hta.hta, "loading against HolisticTraceAnalysis (installs it in an environment of its own)"),
    "views": (bench_views.views, "every view and derived table on a store of ten million operators"),
    "startup": (bench_command.startup, "start of the command"),
    "report": (bench_command.report, "the HTML report"),
    "many": (bench_many.many, "a folder of traces with one process and with two"),
    "cluster": (bench_many.cluster, "a folder of traces on one Dask worker and on two"),
    "lake": (bench_many.opening, "opening a lake of a thousand runs"),
    "capture": (bench_capture.capture, "what the engine and its samples cost a decode step"),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog="\n".join(f"  {name:<8} {text}" for name, (_, text) in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; all of them without a name")
    parser.add_argument("--quick", action="store_true", help="small inputs, one go: does everything run?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the synthetic trace")
    parser.add_argument("--operators", type=int, default=10_000_000, help="operators in the store of the views")
    parser.add_argument("--trace", type=Path, help="the profiled trace to load, in place of the sample's")
    parser.add_argument("--folder", type=Path, help="keeps what the benchmarks make, for the next time")
    args = parser.parse_args()
    unknown = set(args.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        options = Options(
            repeats=1 if args.quick else args.repeats,
            events=min(args.events, 40_000) if args.quick else args.events,
            operators=min(args.operators, 200_000) if args.quick else args.operators,
            quick=args.quick,
            trace=args.trace.resolve() if args.trace else None,
            folder=folder.resolve(),
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
        rows: list[Row] = []
        for name in args.names or BENCHMARKS:
            options.say(f"{name}: {BENCHMARKS[name][1]}")
            own = BENCHMARKS[name][0](options)
            print_table(own)
            rows += own
    missed = [row.what for row in rows if row.met is False]
    print(f"\n{sum(row.met is True for row in rows)} aims met, {len(missed)} missed", *missed, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
