"""`phasescope runs`."""

from pathlib import Path

import click

from analyze.commands.options import format_option, out_option, store_option


@click.command("runs")
@store_option
@format_option
@out_option
def command(store: Path, format_: str, out: Path | None) -> None:
    """List the runs in a store, the latest first.

    \b
    Example:
      phasescope runs --store phases.duckdb
    """
    from analyze.listing import runs

    click.echo(runs(store, format_=format_, out=out) or f"Wrote {out}\n", nl=False)
