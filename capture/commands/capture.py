"""`phasescope capture`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from capture.errors import PhasescopeError, UsageError

if TYPE_CHECKING:
    from capture.run import Progress


class _Show:
    """Progress on stderr: a bar on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._bar: Any = None
        self._pass: str | None = None

    def __call__(self, progress: Progress) -> None:
        if not self._terminal or not progress.total:
            self.close()
            step = f" {progress.done + 1}/{progress.total}" if progress.total else ""
            click.echo(f"{progress.pass_name}:{step} {progress.what}", err=True)
            return
        if self._pass != progress.pass_name:
            self.close()
            self._bar = click.progressbar(length=progress.total, label=progress.pass_name, file=sys.stderr)
            self._bar.__enter__()
            self._pass = progress.pass_name
        self._bar.label = f"{progress.pass_name}: {progress.what}"
        self._bar.update(progress.done - self._bar.pos)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.length - self._bar.pos)
            self._bar.__exit__(None, None, None)
        self._bar = self._pass = None


def _pass_names(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    del context, parameter
    return [name.strip() for name in value.split(",") if name.strip()]


@click.command(name="capture")
@click.argument("model")
@click.option("--out", required=True, metavar="DIR", help="Folder to make, or a name that ends in .zip.")
@click.option("--prompt-tokens", default=512, show_default=True, help="Random prompt tokens of each sequence.")
@click.option("--prompt", metavar="TEXT", help="Read this text instead of random tokens.")
@click.option("--new-tokens", default=32, show_default=True, help="Tokens to generate for each sequence.")
@click.option("--batch-size", default=1, show_default=True, help="Sequences at once.")
@click.option("--device", default="auto", show_default=True, help="auto (mps, then cuda, then cpu), mps, cuda, cpu.")
@click.option("--dtype", default="auto", show_default=True, help="auto, float32, bfloat16 or float16.")
@click.option("--attention", default="auto", show_default=True, help="auto, eager, sdpa, flash_attention_2, ...")
@click.option("--cache", default="dynamic", show_default=True, help="KV cache: dynamic, static, fp8, quanto, hqq.")
@click.option(
    "--logits",
    type=click.Choice(["all", "last"]),
    default="all",
    show_default=True,
    help="Logits for every prompt position, or only for the last.",
)
@click.option("--warmup", default=3, show_default=True, help="Unmeasured generations first, at the same lengths.")
@click.option("--repeat", default=5, show_default=True, help="Measured generations of the clean pass.")
@click.option("--seed", default=0, show_default=True, help="Seed of random prompts and random weights.")
@click.option("--layers", type=int, help="Another number of layers, for random weights only.")
@click.option(
    "--passes",
    default="clean,profiled",
    show_default=True,
    metavar="A,B",
    callback=_pass_names,
    help="Passes to run: clean, profiled, memory, energy, metal, signposts, counters, opstats, gputrace.",
)
@click.option("--with-stack", is_flag=True, help="Profiled pass: record Python frames (large traces).")
@click.option("--record-shapes/--no-record-shapes", default=True, help="Profiled pass: record input shapes.")
@click.option("--dims-only", is_flag=True, help="Profiled pass: of shapes keep dimensions, not strides, types, values.")
@click.option("--profile-memory/--no-profile-memory", default=True, help="Profiled pass: record allocations.")
@click.option("--counters-template", metavar="FILE", help="Pass counters: a .tracetemplate that selects counters.")
@click.option("--calibrate", is_flag=True, help="Also measure what this machine reaches, for the roofline.")
@click.option("--label", metavar="TEXT", help="A name for the run, for tables and reports.")
@click.option("--zip", is_flag=True, help="Write the bundle as one zip.")
@click.option("--force", is_flag=True, help="Replace a bundle that is there already.")
@click.option(
    "--timeout", "timeout_s", default=3600.0, show_default=True, metavar="SECONDS", help="Longest time for a pass."
)
@click.option("--against", metavar="BUNDLE", help="Take turns (A B B A) with this bundle's settings: a fair pair.")
@click.option("--turns", default=3, show_default=True, help="With --against: how often to go through A B B A.")
@click.pass_context
def command(context: click.Context, against: str | None, turns: int, **options: Any) -> None:
    """Capture a generation of MODEL into a bundle.

    MODEL is a Hub id, a local folder, a .gguf file, or random:NAME for exact shapes with random weights, where NAME
    is a config.json or a known architecture (qwen2.5-1.5b, smollm2-135m, llama-3.2-1b, ...).

    The clean pass measures latencies with no profiler at work; the profiled pass explains them.

    With --against, DIR gets the folders baseline and candidate for `phasescope compare`: what the call leaves at its
    default is then as in BUNDLE, and only what it names is different in the candidate.

    \b
    Example:
      phasescope capture Qwen/Qwen2.5-1.5B-Instruct --prompt-tokens 512 --new-tokens 32 --out runs/qwen
      phasescope capture Qwen/Qwen2.5-1.5B-Instruct --against runs/qwen --attention eager --out runs/pair
    """
    if against is not None:
        _against(context, against, turns, options)
        return
    from capture.run import capture

    show = _Show()
    try:
        result = capture(options.pop("model"), **options, on_progress=show)
    finally:
        show.close()
    click.echo(f"Wrote {result.path}")
    if result.problems:
        raise PhasescopeError(f"{result.path} is not complete: {' '.join(result.problems)}")


def _against(context: click.Context, baseline: str, turns: int, options: dict[str, Any]) -> None:
    from capture.against import PairProgress, capture_against

    named = {name for name in options if context.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if "zip" in named:
        raise UsageError("--against writes a folder of bundles; leave --zip away.")
    given = {name: value for name, value in options.items() if name in named and name != "model"}
    show, shown = _Show(), 0

    def tell(progress: PairProgress) -> None:
        nonlocal shown
        if progress.number != shown:
            show.close()
            shown = progress.number
            click.echo(f"{progress.side}, run {progress.number} of {progress.total}", err=True)
        show(progress.capture)

    def warn(sentence: str) -> None:
        click.echo(f"warning: {sentence}", err=True)

    try:
        result = capture_against(
            options["model"], baseline, given.pop("out"), turns=turns, on_progress=tell, on_warning=warn, **given
        )
    finally:
        show.close()
    click.echo(f"Wrote {result.baseline} and {result.candidate}")
    if result.problems:
        raise PhasescopeError(f"{result.baseline.parent} is not complete: {' '.join(result.problems)}")
