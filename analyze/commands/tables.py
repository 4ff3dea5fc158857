"""`phasescope tables`."""

from pathlib import Path

import click

from analyze.commands.options import format_option, out_option, store_option


@click.command("tables")
@click.argument("name", required=False)
@store_option
@format_option
@out_option
def command(name: str | None, store: Path, format_: str, out: Path | None) -> None:
    """Document the tables and views of a store; with NAME, the columns of that one.

    \b
    Example:
      phasescope tables phase_breakdown
    """
    from analyze.listing import tables

    click.echo(tables(name, store, format_=format_, out=out) or f"Wrote {out}\n", nl=False)
