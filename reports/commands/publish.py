"""`phasescope publish`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="publish")
@click.argument("site_dir", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The same as SITE_DIR.")
@click.option(
    "--store", type=click.Path(path_type=Path), default=Path("phases.duckdb"), show_default=True,
    help="Store whose runs are published.",
)  # fmt: skip
@click.option("--title", default="phasescope runs", show_default=True, help="Title of the index.")
@click.option("--hide", metavar="WORD", multiple=True, help="A word to take out of all texts; may be given again.")
@click.option("--slices/--no-slices", default=True, help="Offer every operator and kernel of each run as Parquet.")
def command(
    site_dir: Path | None, out: Path | None, store: Path, title: str, hide: tuple[str, ...], slices: bool
) -> None:
    """Write a static site of all runs in a store to SITE_DIR, ready for GitHub Pages.

    Only what changed is written again. Paths, host and user names, prompts, arguments, file names and names of other
    programs are left out; look at the site before you make it public all the same, and use --hide for more.

    \b
    Example:
      phasescope publish site --store phases.duckdb
      python -m http.server --directory site
    """
    from reports.publish import publish

    folder = site_dir or out
    if folder is None or (site_dir and out):
        raise click.UsageError("Name the site's folder once: phasescope publish SITE_DIR.")
    result = publish(
        folder, store, title=title, hide=hide, slices=slices, on_progress=lambda text: click.echo(text, err=True)
    )
    click.echo(
        f"Wrote {result.path / 'index.html'}: {result.runs} runs; {len(result.built)} files made, "
        f"{len(result.kept)} kept, {len(result.removed)} removed"
    )
