"""`phasescope view`."""

from pathlib import Path

import click

from analyze.commands.options import align_option, refuse_store_beside, store_option


@click.command("view")
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--run", metavar="ID", help="Without SOURCE: the run of the store.  [default: the one loaded last]")
@store_option
@align_option
@click.option("--raw", is_flag=True, help="Of a bundle, PyTorch's trace of the profiled pass as it was written.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1  [default: a free one]")
@click.option("--browser/--no-browser", default=True, help="Whether to open a browser.")
@click.pass_context
def command(
    context: click.Context,
    source: Path | None,
    run: str | None,
    store: Path,
    align: str,
    raw: bool,
    port: int,
    browser: bool,
) -> None:
    """Show a timeline in Perfetto's own UI, served from this machine and without a network.

    SOURCE is a bundle or a folder of Instruments exports, drawn as `phasescope export` does (all passes: phases, CPU
    ranges, device rows, counters), or a Chrome JSON or Perfetto trace, shown as it is. Without SOURCE, a run of the
    store. Ctrl-C ends it.

    \b
    Example:
      phasescope view bundle/
      phasescope view --store phases.duckdb --run 20261130T135937Z-0de27aef
      phasescope view trace.json.gz --no-browser --port 9100
    """
    from analyze.view import view

    refuse_store_beside(context, source)
    if source is None and raw:
        raise click.UsageError("--raw is for a bundle; name one as SOURCE.")
    view(source, store=store, run=run, align=align, raw=raw, port=port, browser=browser, announce=click.echo)  # type: ignore[arg-type]
