"""`phasescope report`."""

from __future__ import annotations

from pathlib import Path

import click

from analyze.commands.options import store_option


@click.command("report")
@click.option(
    "--run", metavar="ID", help="Run to report: its id, the start of it, or its label. Default: the one loaded last."
)
@store_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="HTML file to write.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--include-paths", is_flag=True, help="Keep folders in names and texts; they are left out otherwise.")
def command(run: str | None, store: Path, out: Path, force: bool, include_paths: bool) -> None:
    """Write the report of a run as one HTML file, from which no request leaves.

    \b
    Example:
      phasescope report --store phases.duckdb --out report.html
    """
    from reports.report import report

    click.echo(f"Wrote {report(store, run, out, force=force, include_paths=include_paths)}")
