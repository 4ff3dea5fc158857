"""`phasescope sweep`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from capture.commands.capture import command as capture_command
from capture.errors import PhasescopeError, UsageError

if TYPE_CHECKING:
    from capture.sweep import SweepProgress

# What the grid has in the place of capture's options. A text has the length it has, so a sweep takes none; and a sweep
# takes no turns with another bundle.
_REPLACED = {
    "model", "out", "force", "prompt", "prompt_tokens", "new_tokens", "batch_size", "dtype", "attention", "cache",
    "against", "turns",
}  # fmt: skip


def _words(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    del context, parameter
    return [word.strip() for word in value.split(",") if word.strip()]


def _counts(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    try:
        return [int(word) for word in _words(context, parameter, value)]
    except ValueError as error:
        raise UsageError(f"{parameter.opts[0]} takes whole numbers with commas between them, not {value}.") from error


def _axis(name: str, default: str, what: str, callback: Any) -> Any:
    return click.option(name, default=default, show_default=True, metavar="A,B", callback=callback, help=what)


class _Show:
    """Progress on stderr: one line that is written over on a terminal, a line a point elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()

    def __call__(self, progress: SweepProgress) -> None:
        result, where = progress.result, f"{progress.number}/{progress.total} {progress.result.point.name}"
        if result.outcome == "pending":
            if self._terminal and progress.capture is not None:
                step = f" {progress.capture.done}/{progress.capture.total}" if progress.capture.total else ""
                text = f"{where}: {progress.capture.pass_name}{step} {_left(progress)}"
                click.echo(f"\r\x1b[K{text}", nl=False, err=True)
            return
        start = "\r\x1b[K" if self._terminal else ""
        what: str = "complete already" if result.resumed else result.outcome
        if result.outcome == "failed":
            what += f": {result.reason}"
        click.echo(f"{start}{where}: {what} {_left(progress)}".rstrip(), err=True)


def _left(progress: SweepProgress) -> str:
    if progress.remaining_s is None or progress.remaining_s[1] == 0:
        return ""
    low, high = (_duration(seconds) for seconds in progress.remaining_s)
    return f"({low} left)" if low == high else f"({low} to {high} left)"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@click.command(name="sweep")
@click.argument("model")
@click.option("--out", required=True, metavar="DIR", help="Folder for the bundles, one a point, and sweep.json.")
@_axis("--prompt-tokens", "512", "Random prompt tokens of each sequence.", _counts)
@_axis("--new-tokens", "32", "Tokens to generate for each sequence.", _counts)
@_axis("--batch-size", "1", "Sequences at once.", _counts)
@_axis("--dtype", "auto", "auto, float32, bfloat16 or float16.", _words)
@_axis("--attention", "auto", "auto, eager, sdpa, flash_attention_2, ...", _words)
@_axis("--cache", "dynamic", "KV cache: dynamic, static, fp8, quanto, hqq.", _words)
@click.option("--force", is_flag=True, help="Capture every point anew, complete or not.")
def command(**options: Any) -> None:
    """Capture MODEL over a grid of workloads, each point into a bundle of its own.

    Every axis takes several values with commas between them; the points are their product. Run the same command again
    after a stop: complete points are kept, and the grid may have grown. A point that fails is named and does not stop
    the others. Load the folder with `phasescope load DIR`.

    \b
    Example:
      phasescope sweep Qwen/Qwen2.5-1.5B-Instruct --prompt-tokens 128,256,512 --batch-size 1,2 --out runs/lengths
    """
    from capture.sweep import Grid, sweep

    axes = {name: options.pop(name) for name in Grid.__dataclass_fields__}
    result = sweep(options.pop("model"), options.pop("out"), grid=Grid(**axes), on_progress=_Show(), **options)
    complete = sum(each.outcome == "complete" for each in result.points)
    click.echo(f"Wrote {result.path}: {complete} of {len(result.points)} points complete")
    if result.problems:
        raise PhasescopeError(f"{result.path}: {len(result.problems)} points failed: {'; '.join(result.problems)}")


# The other options are capture's own, so that the two commands cannot drift apart.
command.params += [each for each in capture_command.params if each.name not in _REPLACED]
