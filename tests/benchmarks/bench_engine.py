"""What the engine costs: its clean decode loop against a bare loop around the same model, interleaved in pairs.

    python -m tests.benchmarks.bench_engine [MODEL] [--pairs 15] [--new-tokens 32]

Prints the ratio of the medians of all decode steps; the aim is at most 1.01.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time

import torch

from capture.engine import Engine
from capture.models import load_model, resolve_model
from capture.prompt import random_prompt
from capture.recorder import Recorder


@torch.inference_mode()
def bare_loop_steps(model: torch.nn.Module, ids: torch.Tensor, new_tokens: int) -> list[int]:
    """Nanoseconds from the begin of each decode call to that of the next, with nothing around the model."""
    output = model(input_ids=ids, use_cache=True)
    cache, token = output.cache, output.logits[:, -1:].argmax(-1)
    begins = []
    for _ in range(new_tokens - 1):
        begins.append(time.monotonic_ns())
        output = model(input_ids=token, cache=cache, use_cache=True)
        token = output.logits[:, -1:].argmax(-1)
    return [after - before for before, after in itertools.pairwise(begins)]


def engine_steps(model: torch.nn.Module, ids: torch.Tensor, new_tokens: int) -> list[int]:
    """The same for the engine under a recorder: begin to begin, so that all its own work is inside."""
    recorder = Recorder(model.device)
    Engine(model, recorder).generate(ids, new_tokens)
    begins = [timing.start_ns for timing in recorder.timings[1:]]
    return [after - before for before, after in itertools.pairwise(begins)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="random:smollm2-135m")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--prompt-tokens", type=int, default=32)
    parser.add_argument("--new-tokens", type=int, default=16)
    options = parser.parse_args()
    source = resolve_model(options.model)
    model = load_model(source, device_kind="cpu", dtype="float32", attention="auto", seed=0)
    ids = random_prompt(model.config.vocab_size, 1, options.prompt_tokens, 0)
    loops = (bare_loop_steps, engine_steps)
    times: dict[str, list[int]] = {loop.__name__: [] for loop in loops}
    for loop in loops:
        loop(model, ids, options.new_tokens)
    for pair in range(options.pairs):
        # Each goes first in every other pair, so that neither always meets the warmer machine.
        for loop in loops if pair % 2 else loops[::-1]:
            times[loop.__name__] += loop(model, ids, options.new_tokens)
    bare, engine = (statistics.median(times[loop.__name__]) for loop in loops)
    print(f"bare loop   {bare / 1e6:.3f} ms a decode step")
    print(f"engine loop {engine / 1e6:.3f} ms a decode step")
    print(f"engine / bare = {engine / bare:.4f} (aim: at most 1.01)")
    return 0 if engine / bare <= 1.01 else 1


if __name__ == "__main__":
    sys.exit(main())
