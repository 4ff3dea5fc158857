"""The recorder: ranges, synchronised timers and resource samples around the phases of a generation.

The engine of this project uses it, and so can any other loop:

    recorder = Recorder("mps", ranges=True, samples=True)
    with recorder.phase("prefill", tokens=512, cached_tokens=512) as phase:
        output = model(prompt, use_cache=True)
        phase.cache = output.past_key_values
    with recorder.phase("decode", tokens=1, cached_tokens=513, cache=phase.cache):
        ...
    recorder.timings, recorder.samples
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from capture.clock import now_ns
from capture.devices import Device, device_of
from capture.samples import Sample, Sampler

# Names of the ranges in a profiler's trace; the analyzer's grammar knows them.
RANGE_NAMES = {"prefill": "inference.prefill", "decode": "inference.decode_step"}


@dataclass
class PhaseTiming:
    """One phase, synchronised at both ends. start_ns is of `capture.clock.now_ns`; cpu_ns is of the whole process.

    tokens: processed by the call, over the batch. cached_tokens: in the cache of one sequence after it.
    """

    repeat: int
    phase: str
    step: int
    start_ns: int
    dur_ns: int
    cpu_ns: int
    tokens: int | None
    cached_tokens: int | None


class Phase:
    """A phase that is being recorded; a context manager made by `Recorder.phase`.

    Set `cache`, `tokens` or `cached_tokens` inside the body where they are known only there. elapsed_ns is there
    after the end.
    """

    __slots__ = ("_cpu_ns", "_range", "_recorder", "cache", "cached_tokens", "elapsed_ns", "name", "start_ns",
                 "step", "tokens")  # fmt: skip

    def __init__(
        self, recorder: Recorder, name: str, step: int, tokens: int | None, cached_tokens: int | None, cache: Any
    ) -> None:
        self._recorder = recorder
        self.name = name
        self.step = step
        self.tokens = tokens
        self.cached_tokens = cached_tokens
        self.cache = cache
        self.elapsed_ns = 0
        self._range: Any = None

    def __enter__(self) -> Phase:
        recorder = self._recorder
        if recorder._sampler is not None and self.name == "prefill":
            recorder.sample("before_prefill", 0, self.cache)
        recorder.device.synchronize()
        if recorder._range is not None:
            self._range = recorder._range(RANGE_NAMES.get(self.name, self.name))
            self._range.__enter__()
        self._cpu_ns = time.process_time_ns()
        self.start_ns = now_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        recorder = self._recorder
        if kind is None:
            recorder.device.synchronize()
        else:  # the body's own error must not be hidden by one of the device
            with contextlib.suppress(Exception):
                recorder.device.synchronize()
        self.elapsed_ns = now_ns() - self.start_ns
        cpu_ns = time.process_time_ns() - self._cpu_ns
        if self._range is not None:
            self._range.__exit__(kind, error, trace)
        if kind is not None:
            return
        recorder.timings.append(
            PhaseTiming(
                recorder.repeat,
                self.name,
                self.step,
                self.start_ns,
                self.elapsed_ns,
                cpu_ns,
                self.tokens,
                self.cached_tokens,
            )
        )
        if recorder._sampler is not None:
            recorder.sample(f"after_{self.name}", self.step, self.cache)


class Recorder:
    """Collects `timings`, and with `samples=True` also `samples`, of every phase that runs under it.

    device: a word such as "mps", a torch.device or a Device. ranges: also mark each phase as a range for the
    PyTorch profiler that runs around it.
    """

    def __init__(self, device: Any = "cpu", *, ranges: bool = False, samples: bool = False) -> None:
        self.device: Device = device_of(device)
        self.timings: list[PhaseTiming] = []
        self.samples: list[Sample] = []
        self.repeat = 0
        self._step = 0
        self._range: Any = None
        self._sampler = Sampler(self.device) if samples else None
        if ranges:
            from torch.profiler import record_function

            self._range = record_function

    def phase(
        self,
        name: str,
        *,
        step: int | None = None,
        tokens: int | None = None,
        cached_tokens: int | None = None,
        cache: Any = None,
    ) -> Phase:
        """A context manager for one occurrence of a phase: "prefill", "decode", or a name of your own.

        step counts by itself: 0 for prefill, then 1, 2, ... for what follows it. cache is the KV cache, for the
        sample that is taken when the phase has ended.
        """
        if step is None:
            step = 0 if name == "prefill" else self._step + 1
        self._step = step
        return Phase(self, name, step, tokens, cached_tokens, cache)

    def sample(self, phase: str, step: int, cache: Any) -> None:
        """Take a resource sample now, under the name of a phase edge."""
        if self._sampler is not None:
            self.samples.append(self._sampler.take(phase, step, cache, self.repeat))
