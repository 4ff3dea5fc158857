"""The gputrace pass, in a process with MTL_CAPTURE_ENABLED=1: Metal's own capture of a few tokens, for Xcode.

A capture is about as large as the model and runs many times slower; nothing is timed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch

from capture.clock import read_clocks
from capture.devices.mps import ABSENT
from capture.passes.common import PassContext, PassOutcome, start_clock
from capture.recorder import Recorder

VARIABLE = "MTL_CAPTURE_ENABLED"
MAX_TOKENS = 8
# Weights, KV cache and intermediate buffers all go into the capture; published ones were about the model's size.
SIZE_FACTOR = 3
NAME = "phasescope"


def run(context: PassContext) -> PassOutcome:
    """Capture prefill and at most MAX_TOKENS - 1 decode steps into a .gputrace beside the bundle, not inside it."""
    clock = start_clock()
    if VARIABLE not in os.environ:
        return PassOutcome("refused", clock, f"{VARIABLE}=1 is not set in this process, so Metal cannot capture.")
    try:
        ready = bool(torch.mps.profiler.is_metal_capture_enabled())
    except ABSENT:
        ready = False
    if not ready:
        return PassOutcome("unsupported", clock, "Metal's capture manager is not available on this machine.")
    target = context.folder.resolve().parent.parent
    needed = SIZE_FACTOR * sum(p.numel() * p.element_size() for p in context.model.parameters())
    free = shutil.disk_usage(target).free
    if needed > free:
        sizes = f"A capture may take {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free"
        return PassOutcome("refused", clock, f"{sizes}; make room or take a smaller model.")
    tokens = min(MAX_TOKENS, context.spec.new_tokens)
    before = set(target.glob("*.gputrace"))
    context.report(0, 1, f"capturing {tokens} tokens")
    try:
        with _working_in(target), torch.mps.profiler.metal_capture(f"{context.folder.parent.name}-{NAME}"):
            context.engine(Recorder(context.device)).generate(context.prompt_ids, tokens)
    except ABSENT as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        return PassOutcome("failed", clock, f"torch.mps.profiler.metal_capture failed: {first_line}")
    clock.end = read_clocks()
    made = sorted(set(target.glob("*.gputrace")) - before)
    if not made:
        return PassOutcome("empty", clock, "Metal wrote no .gputrace.")
    detail = {"tokens": tokens, "file": made[-1].name, "bytes": _size(made[-1]), "beside_bundle": True}
    return PassOutcome("measured", clock, detail=detail)


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """PyTorch writes the capture into the working folder, under a name without slashes."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _size(path: Path) -> int:
    return (
        sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) if path.is_dir() else path.stat().st_size
    )
