"""`phasescope view`."""

from pathlib import Path

import click


@click.command("view")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1  [default: a free one]")
@click.option("--browser/--no-browser", default=True, help="Whether to open a browser.")
def command(source: Path, port: int, browser: bool) -> None:
    """Show a trace in Perfetto's own UI, served from this machine and without a network.

    SOURCE is a Chrome JSON or Perfetto trace, compressed or not, or a bundle, of which the profiled pass is
    shown. Ctrl-C ends it.

    \b
    Example:
      phasescope view bundle/
      phasescope view trace.json.gz --no-browser --port 9100
    """
    from analyze.view import view

    view(source, port=port, browser=browser, announce=click.echo)
