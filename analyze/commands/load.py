"""`phasescope load`."""

from pathlib import Path

import click
from click.core import ParameterSource

from analyze.commands.options import store_option
from analyze.errors import PhasescopeError


@click.command("load")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
@click.option(
    "--engine",
    type=click.Choice(["auto", "native", "wasm"]),
    default="auto",
    show_default=True,
    help="Trace processor: native if it is there, else wasm.",
)
@click.option(
    "--trace-processor", type=click.Path(exists=True, dir_okay=False), help="Path of a native trace_processor_shell."
)
@click.option("--phases", "rules", type=click.Path(path_type=Path), help="TOML file with your own names of phases.")
@click.option("--label", help="Name for the run, in place of the bundle's own.")
@click.option("--one-run", is_flag=True, help="All sources are ranks or files of one job: one run.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Traces to load at once, each by its own process.  [default: one a core]"
)
@click.option(
    "--lake", help="Load into this lake of Parquet files instead: a folder, or an address such as s3://bucket/lake."
)
@click.option("--cluster", metavar="ADDRESS", help="Scheduler of a Dask cluster that loads into the lake.")
@click.option(
    "--strict", is_flag=True, help="Refuse a source of which anything had to be repaired or left out (exit 3)."
)
def command(
    sources: tuple[Path, ...],
    store: Path,
    engine: str,
    trace_processor: str | None,
    rules: Path | None,
    label: str | None,
    one_run: bool,
    jobs: int | None,
    lake: str | None,
    cluster: str | None,
    strict: bool,
) -> None:
    """Load bundles, PyTorch or Perfetto traces, and Instruments exports into a store.

    Each SOURCE is a file, a bundle or a folder of traces. What cannot be loaded is named; the others are in.

    With --lake a SOURCE may be an address that fsspec knows (s3://, gs://); see docs/scale.md.

    \b
    Example:
      phasescope load demo/bundle trace.json.gz --store phases.duckdb
      phasescope load s3://bucket/traces --lake s3://bucket/lake --cluster tcp://scheduler:8786
    """
    if cluster and not lake:
        raise click.UsageError("--cluster writes into a lake: name one with --lake.")
    source = click.get_current_context().get_parameter_source("store")
    if lake and source is ParameterSource.COMMANDLINE:
        raise click.UsageError("--lake and --store are two places to load into: name one.")
    if lake and one_run:
        raise click.UsageError("--one-run goes into a store; load it without --lake.")
    from analyze.load import load
    from analyze.one_run import Options

    def progress(text: str) -> None:
        click.echo(text, err=True)

    options = Options(engine=engine, trace_processor=trace_processor, rules=rules, strict=strict, label=label)
    if lake:
        from analyze.lake.cluster import load_into_lake, load_on_cluster

        if cluster:
            result = load_on_cluster(sources, lake, cluster, options=options, progress=progress)
        else:
            result = load_into_lake(sources, lake, options=options, progress=progress)
    else:
        result = load(sources, store, options=options, one_run=one_run, jobs=jobs, progress=progress)
    where = lake or store
    for run in result.loaded:
        if run.already:
            other = "; for other rules or another label load it into a new store" if rules or label else ""
            click.echo(f"{run.source}: already in {where} as run {run.run_id}{other}")
            continue
        account = f"{run.raw_events} events = {run.loaded_events} loaded + {run.excluded_events} excluded"
        mended = f", {run.repaired_events} repaired" if run.repaired_events else ""
        click.echo(f"{run.source}: run {run.run_id}, {account}{mended}")
        if run.excluded_events or run.repaired_events:
            click.echo(
                f"  why: phasescope query \"SELECT * FROM quality WHERE run_id = '{run.run_id}'\" --store {where}"
            )
    if len(result.failed) == 1 and not result.loaded:
        raise result.failed[0]
    for error in result.failed:
        click.echo(f"phasescope: {error}", err=True)
    if result.failed:
        codes = {error.exit_code for error in result.failed}
        failure = PhasescopeError(
            f"{len(result.failed)} of {len(result.failed) + len(result.loaded)} sources were not loaded"
        )
        failure.exit_code = codes.pop() if len(codes) == 1 else 1
        raise failure
