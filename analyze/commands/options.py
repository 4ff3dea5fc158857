"""Options that several commands share, so that they mean the same everywhere."""

from pathlib import Path

import click

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
