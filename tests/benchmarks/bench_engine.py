"""What the engine costs: its clean decode calls against bare calls of the same model, interleaved step by step.

    python -m tests.benchmarks.bench_engine [MODEL] [--pairs 15] [--new-tokens 16]

Prints the ratio of the medians over all decode steps, of wall time and of CPU time; the aim is at most 1.01. A bare
step and one of the engine take turns, each with a cache of its own, so that whatever else the machine does meets both
alike. On one thread the CPU time is the wall time of an idle machine, so it decides: on a busy one the wall time of
equal work differs by several per cent from run to run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import torch

from capture.engine import Engine
from capture.models import load_model, resolve_model
from capture.prompt import random_prompt
from capture.recorder import Recorder


@torch.inference_mode()
def step_times_ns(model: torch.nn.Module, ids: torch.Tensor, new_tokens: int) -> dict[str, list[tuple[int, int]]]:
    """Wall and CPU nanoseconds of each decode step: of the bare loop's body, and of the engine's."""
    engine = Engine(model, Recorder(model.device))
    result = engine.run_prefill(ids)
    engine_token, engine_cache, generated = result.next_token, result.cache, [result.next_token]
    output = model(input_ids=ids, use_cache=True)
    bare_token, bare_cache = output.logits[:, -1:].argmax(-1), output.cache
    times: dict[str, list[tuple[int, int]]] = {"bare": [], "engine": []}
    for step in range(1, new_tokens):
        for name in ("bare", "engine") if step % 2 else ("engine", "bare"):
            start_ns, start_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
            if name == "bare":
                output = model(input_ids=bare_token, cache=bare_cache, use_cache=True)
                bare_token = output.logits[:, -1:].argmax(-1)
            else:
                taken = engine.run_decode_step(engine_token, engine_cache, ids.shape[1] + step)
                engine_token, engine_cache = taken.next_token, taken.cache
                generated.append(engine_token)
            times[name].append((time.monotonic_ns() - start_ns, time.thread_time_ns() - start_cpu_ns))
    assert torch.equal(bare_token, engine_token)
    return times


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
    torch.set_num_threads(1)
    step_times_ns(model, ids, options.new_tokens)
    times: dict[str, list[tuple[int, int]]] = {"bare": [], "engine": []}
    for _ in range(options.pairs):
        for name, part in step_times_ns(model, ids, options.new_tokens).items():
            times[name] += part
    ratios = []
    for number, clock in enumerate(("wall", "CPU")):
        bare, engine = (statistics.median(each[number] for each in times[name]) for name in ("bare", "engine"))
        ratios.append(engine / bare)
        print(
            f"{clock} time of a decode step: bare {bare / 1e6:.3f} ms, engine {engine / 1e6:.3f} ms, "
            f"engine / bare = {engine / bare:.4f}"
        )
    print(f"{len(times['bare'])} steps each; aim: at most 1.01 in CPU time on one thread")
    return 0 if ratios[1] <= 1.01 else 1


if __name__ == "__main__":
    sys.exit(main())
