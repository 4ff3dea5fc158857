"""phasescope: where does the time of one LLM generation go?

The one command, as a group that loads a subcommand's module only when it is called, and the Python twins of the
subcommands under the same names (`phasescope.load(...)`), imported on first use.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

_COMMANDS = {
    "capture": (
        "capture.commands.capture",
        "Capture a generation: clean latencies, a profiler trace, memory and KV cache.",
    ),
    "compare": ("reports.commands.compare", "Compare two runs, and gate on the difference."),
    "demo": ("reports.commands.demo", "Capture a small real model here, load it, write the report."),
    "doctor": ("analyze.commands.doctor", "What this machine can capture and analyse, and why not."),
    "export": ("analyze.commands.export", "Write a run as one Perfetto trace: all passes on one timeline."),
    "load": ("analyze.commands.load", "Load bundles and traces into a store."),
    "publish": ("reports.commands.publish", "Write a static site of all runs."),
    "query": ("analyze.commands.query", "Ask SQL of a store, read-only."),
    "report": ("reports.commands.report", "Write the HTML report of a run."),
    "runs": ("analyze.commands.runs", "List the runs in a store."),
    "sweep": ("capture.commands.sweep", "Capture over prompt lengths, batch sizes, dtypes."),
    "tables": ("analyze.commands.tables", "Document the tables, views and columns of a store."),
    "view": ("analyze.commands.view", "Open a timeline in Perfetto's own UI, served from this machine."),
}

# Python twins: name -> module that holds the function of that name.
_TWINS = {
    "capture": "capture.run",
    "compare": "reports.compare",
    "demo": "reports.demo",
    "doctor": "analyze.doctor",
    "export": "analyze.export",
    "load": "analyze.load",
    "publish": "reports.publish",
    "query": "analyze.query",
    "report": "reports.report",
    "runs": "analyze.listing",
    "sweep": "capture.sweep",
    "tables": "analyze.listing",
    "view": "analyze.view",
}


def __getattr__(name: str) -> Any:
    if name in _TWINS:
        return getattr(importlib.import_module(_TWINS[name]), name)
    raise AttributeError(f"module 'phasescope' has no attribute {name!r}")


class _LazyGroup(click.Group):
    """Lists commands from the table above; imports a command's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        return importlib.import_module(_COMMANDS[name][0]).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in sorted(_COMMANDS)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="phasescope")
def cli() -> None:
    """Where does the time of one LLM generation go? Capture it, load it, ask SQL of it, publish it.

    \b
    phasescope demo                            the whole way, on this machine
    phasescope capture MODEL --out DIR         on the machine that has the model
    phasescope load DIR                        anywhere, offline
    phasescope report --out report.html
    """


def main() -> None:
    """Run the command; the one place that prints errors and picks exit codes.

    0 done, 1 could not, 2 wrong call, 3 a gate or --strict said no.
    """
    from capture.errors import PhasescopeError

    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("Interrupted.", err=True)
        code = 1
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except PhasescopeError as error:
        click.echo(f"phasescope: {error}", err=True)
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); there is nobody to tell.
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
