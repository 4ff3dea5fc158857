"""phasescope: where does the time of one LLM generation go?

The one command, as a group that loads a subcommand's module only when it is called, and the Python twins of the
subcommands under the same names (`phasescope.load(...)`), imported on first use.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
import time
from types import FrameType
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

# Ctrl-C again within this is the same one.
_ONE_INTERRUPTION_S = 5.0


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

    def invoke(self, ctx: click.Context) -> Any:
        """As any group's, but Ctrl-C is told by `main` alone: click writes an empty line of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.exceptions.Abort from error

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


def _told(error: BaseException) -> int:
    """Print the error and return the exit code; raise it again where it is a fault of ours."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    from capture.errors import PhasescopeError

    if _is_interruption(error):
        click.echo("Interrupted.", err=True)
        return 1
    if isinstance(error, PhasescopeError):
        click.echo(f"phasescope: {error}", err=True)
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone (`| head`); there is nobody to tell.
        sys.stderr.close()
        return 0
    raise error


def _is_interruption(error: BaseException) -> bool:
    """Whether it is Ctrl-C or came of it, also where other errors have covered it since."""
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        return True
    from analyze.interruption import is_interruption

    return is_interruption(error)


def _interruptions_apart() -> None:
    """Take Ctrl-C for one where it comes again within seconds: the second would cut short the cleaning up."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # a shell ignores it for a command in the background, or a program that calls us has its own
    last_s: float | None = None

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        if last_s is not None and time.monotonic() - last_s < _ONE_INTERRUPTION_S:
            return
        if _imports_duckdb(frame):  # which does not bear it: the process would abort
            threading.Timer(0.05, signal.raise_signal, [number]).start()
            return
        last_s = time.monotonic()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_interrupt)


def _imports_duckdb(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "duckdb":
            return True
        frame = frame.f_back
    return False


def main() -> None:
    """Run the command; the one place that prints errors and picks exit codes.

    0 done, 1 could not, 2 wrong call, 3 a gate or --strict said no.
    """
    try:
        _interruptions_apart()
        code = cli.main(standalone_mode=False)
    except BaseException as error:
        code = _told(error)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
