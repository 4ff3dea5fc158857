"""`phasescope compare`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from analyze.errors import UsageError


@click.command("compare")
@click.argument("sides", nargs=-1, required=True, metavar="A B")
@click.option("--store", type=click.Path(path_type=Path), help="Store of the runs. Default: phases.duckdb.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="HTML page to write.")
@click.option("--force", is_flag=True, help="Replace the page if it is there.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
@click.option(
    "--fail-on", multiple=True, metavar="CONDITION",
    help="Exit 3 if this holds outside noise: 'decode_p50 > 5%'. May be given several times.",
)  # fmt: skip
@click.option(
    "--policy", type=click.Path(dir_okay=False, path_type=Path), help="TOML file of a gate; see docs/gating.md."
)
@click.option("--threshold", metavar="SHARE", help="Smallest change that matters. Default: 5%.")
@click.option("--backends", is_flag=True, help="Write the page that sets any number of runs side by side to --out.")
@click.option("--include-paths", is_flag=True, help="Keep folders in names and texts; they are left out otherwise.")
def command(
    sides: tuple[str, ...],
    store: Path | None,
    out: Path | None,
    force: bool,
    format_: str,
    fail_on: tuple[str, ...],
    policy: Path | None,
    threshold: str | None,
    backends: bool,
    include_paths: bool,
) -> None:
    """Compare run B against run A, and gate on the difference.

    A and B are run ids, labels (all runs that carry one), bundles, traces, or stores with one run. Latencies come
    from clean passes only; a side is called faster only if both did the same work and noise does not hide it.

    \b
    Example:
      phasescope compare runs/eager runs/sdpa --out eager-sdpa.html
      phasescope compare main candidate --store ci.duckdb --fail-on 'decode_p50 > 5%'
      phasescope compare runs/mps runs/cuda runs/cpu --backends --out backends.html
    """

    def progress(text: str) -> None:
        click.echo(text, err=True)

    if backends:
        from reports.backends import backends as side_by_side

        if out is None:
            raise UsageError("--backends writes a page; say where with --out")
        if fail_on or policy:
            raise UsageError("--backends compares no two sides, so it has no gate; leave --fail-on and --policy away")
        written = side_by_side(sides, out, store=store, force=force, include_paths=include_paths, progress=progress)
        click.echo(f"Wrote {written}")
        return
    if len(sides) != 2:
        raise UsageError(f"compare takes two sides, not {len(sides)}; for more, use --backends")
    from reports.compare import compare

    result = compare(
        *sides, store=store, out=out, fail_on=fail_on, policy=policy, threshold=threshold, force=force,
        include_paths=include_paths, progress=progress,
    )  # fmt: skip
    sys.stdout.write(result.json() if format_ == "json" else result.text())
    if result.out is not None:
        click.echo(f"Wrote {result.out}", err=format_ == "json")
    result.raise_if_refused()
