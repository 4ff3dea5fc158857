"""`phasescope query`."""

import sys
from pathlib import Path

import click

from analyze.commands.options import format_option, out_option, store_option


@click.command("query")
@click.argument("sql", default="-")
@store_option
@format_option
@out_option
def command(sql: str, store: Path, format_: str, out: Path | None) -> None:
    """Ask SQL (DuckDB's) of a store; `-` or nothing reads it from standard input.

    Read-only: a query reaches neither files nor the network. `phasescope tables` documents what there is.

    \b
    Example:
      phasescope query "SELECT phase, median_ns / 1e6 AS ms FROM step_latency" --format markdown
    """
    from analyze.query import query

    if sql == "-":
        sql = sys.stdin.read()
    text = query(sql, store, format_=format_, out=out)
    if text is None:
        click.echo(f"Wrote {out}", err=True)
    else:
        click.echo(text, nl=False)
