"""What the engine's clean loop and the samples of the profiled pass cost a decode step."""

from __future__ import annotations

import statistics
import time
from importlib.util import find_spec
from typing import Any

from tests.benchmarks.measure import Options, Row


def capture(options: Options) -> list[Row]:
    """A random SmolLM2-135M on CPU: the engine against a bare loop, and one resource sample against one step."""
    if not find_spec("torch"):
        return [Row("capture", None, "", "not measured: extra `capture` is not installed")]
    import torch

    from capture.models import load_model, resolve_model
    from capture.prompt import random_prompt
    from tests.benchmarks.bench_engine import step_times_ns

    source = resolve_model("random:smollm2-135m")
    model = load_model(source, device_kind="cpu", dtype="float32", attention="auto", seed=0)
    ids = random_prompt(model.config.vocab_size, 1, 32, 0)
    torch.set_num_threads(1)
    step_times_ns(model, ids, 16)
    times: dict[str, list[tuple[int, int]]] = {"bare": [], "engine": []}
    for _ in range(2 if options.quick else 15):
        for name, part in step_times_ns(model, ids, 16).items():
            times[name] += part
    # CPU time on one thread, which is the wall time of an idle machine (see bench_engine).
    bare, engine = (statistics.median(cpu for _, cpu in times[name]) for name in ("bare", "engine"))
    sample = _sample_ns(model, ids)
    return [
        Row("engine / bare loop: decode step", engine / bare, "<= 1.01",
            f"{engine / 1e6:.3f} ms against {bare / 1e6:.3f} ms", engine <= 1.01 * bare),
        Row("resource sample / decode step", sample / bare, "< 0.01",
            f"{sample / 1e3:.0f} us against {bare / 1e6:.3f} ms", sample < 0.01 * bare),
    ]  # fmt: skip


def _sample_ns(model: Any, ids: Any) -> float:
    """Nanoseconds that one resource sample takes beside a real cache."""
    import torch

    from capture.devices import device_of
    from capture.samples import Sampler

    with torch.inference_mode():
        cache = model(input_ids=ids, use_cache=True).cache
    sampler, times = Sampler(device_of("cpu")), []
    for step in range(300):
        began = time.perf_counter_ns()
        sampler.take("after_decode", step, cache)
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times)
