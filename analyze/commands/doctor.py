"""`phasescope doctor`."""

import dataclasses
import json

import click


@click.command("doctor")
@click.option("--fetch", is_flag=True, help="First download the native trace processor that package perfetto pins.")
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output."
)
def command(fetch: bool, output: str) -> None:
    """Say what this machine can capture and analyse, and what is missing for the rest.

    Nothing is downloaded without --fetch. torch is asked for its devices in a process of its own.

    \b
    Example:
      phasescope doctor
      phasescope doctor --format json
    """
    from analyze.doctor import as_text, doctor

    findings = doctor(fetch=fetch)
    if output == "json":
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        click.echo(as_text(findings))
