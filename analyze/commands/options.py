"""Options that several commands share, so that they mean the same everywhere."""

from pathlib import Path

import click
from click.core import ParameterSource

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=Path("phases.duckdb"),
    show_default=True,
    help="The store: one DuckDB file, or a lake.",
)

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json", "jsonl", "markdown", "parquet"]),
    default="table",
    show_default=True,
    help="How to write the rows.",
)

out_option = click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write instead of standard output."
)

align_option = click.option(
    "--align",
    type=click.Choice(["clock", "prefill"]),
    default="clock",
    show_default=True,
    help="Passes where they were on the wall clock, or with their first prefills over each other.",
)


def refuse_store_beside(context: click.Context, source: Path | None) -> None:
    """A SOURCE is no run of a store: --run and --store beside it are a wrong call."""
    if source is not None and any(
        context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in ("run", "store")
    ):
        raise click.UsageError("SOURCE is shown by itself; leave it away to show a run of a store.")
