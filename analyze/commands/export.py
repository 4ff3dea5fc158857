"""`phasescope export`."""

from pathlib import Path

import click

from analyze.commands.options import align_option, refuse_store_beside, store_option


@click.command("export")
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option(
    "--perfetto",
    "--out",
    "out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Perfetto trace to write; ui.perfetto.dev, `phasescope view` and trace processor open it.",
)
@click.option(
    "--run",
    metavar="ID",
    help="Without SOURCE: the run of the store, by id, the start of one, or label.  [default: the one loaded last]",
)
@store_option
@align_option
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.pass_context
def command(
    context: click.Context, source: Path | None, out: Path, run: str | None, store: Path, align: str, force: bool
) -> None:
    """Write a run as one Perfetto trace: phases, CPU ranges, device rows and counters on one timeline.

    SOURCE is a bundle or trace that is in no store. Without it, a run of the store.

    Each pass is another execution of the workload, so it is a group of tracks of its own, named by the pass. Groups
    stand where they were on the wall clock, by the base time of their trace, by the clock that was read when the
    pass began, or by the start date of a recording (to the millisecond); one that tells no wall clock stands at the
    start. The group "about this timeline" says which. With --align prefill they lie over each other instead, and
    only times inside one group mean anything.

    Spans, instants and signposts are not drawn; they stay in the store.

    \b
    Example:
      phasescope export --perfetto timeline.pftrace --store phases.duckdb
      phasescope export bundle/ --perfetto timeline.pftrace
    """
    from analyze.export import export

    refuse_store_beside(context, source)
    made = export(out, store, run=run, source=source, align=align, force=force)  # type: ignore[arg-type]
    click.echo(f"Wrote {made.path}: {made.slices} slices and {made.counter_values} counter values of run {made.run_id}")
    for what, rows in made.left_out.items():
        click.echo(f"  not drawn: {rows} {what}", err=True)
