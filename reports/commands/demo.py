"""`phasescope demo`."""

import shutil
import sys
from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for the bundle, the store and the report.",
)
@click.option("--model", help="Another model than the small one that comes as a package.")
def command(out: Path, model: str | None) -> None:
    """Capture a small real model on this machine, load it, write the report, and say where it is.

    \b
    Example:
      phasescope demo
    """
    from reports.demo import demo

    said = ""

    def on_capture(at: object) -> None:
        nonlocal said
        text = f"  {getattr(at, 'pass_name', '')}: {getattr(at, 'what', '')}".rstrip(": ")
        if text != said:
            click.echo(text, err=True)
            said = text

    done = demo(out, model=model, on_capture=on_capture, progress=lambda text: click.echo(text, err=True))
    click.echo(f"Bundle  {done.bundle}")
    click.echo(f"Store   {done.store}")
    click.echo(f"Report  {done.report}")
    # `make demo` runs it from an environment that is not on the PATH.
    name = "phasescope" if shutil.which("phasescope") else sys.argv[0]
    steps = "SELECT phase, step, median_ns / 1e6 AS ms FROM step_latency ORDER BY step"
    click.echo("\nTry next:")
    click.echo(f'  {name} query "{steps}" --store {done.store}')
    click.echo(f"  {name} tables phase_breakdown --store {done.store}")
    click.echo(f"  {name} view {done.bundle}")
