"""What every pass is given and gives back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from capture.bundle import Clock, write_then_rename
from capture.caches import cache_factory
from capture.clock import read_clocks
from capture.devices import Device
from capture.engine import DecodeResult, Engine
from capture.prompt import token_digest
from capture.recorder import PhaseTiming, Recorder
from capture.samples import Sample
from capture.spec import CaptureSpec


@dataclass
class PassContext:
    """A model on its device and a prompt [batch, prompt_tokens], ready to run; files go into `folder`.

    report(done, total, what) is called between generations, never inside one.
    """

    spec: CaptureSpec
    model: Any
    device: Device
    prompt_ids: torch.Tensor
    folder: Path
    report: Callable[[int, int, str], None]

    def engine(self, recorder: Recorder) -> Engine:
        return Engine(
            self.model,
            recorder,
            logits=self.spec.logits,
            cache_factory=cache_factory(self.spec.cache, self.model.config),
        )

    def generate(self, recorder: Recorder) -> DecodeResult:
        """The workload once."""
        return self.engine(recorder).generate(self.prompt_ids, self.spec.new_tokens)

    def warm_up(self, total: int) -> None:
        """Run the workload `warmup` times at the very lengths that are measured; backends compile per length."""
        for number in range(self.spec.warmup):
            self.report(number, total, "warm-up")
            self.generate(Recorder(self.device))


@dataclass
class PassOutcome:
    """How a pass ended: a status of the bundle, with the reason unless it is measured."""

    status: str
    clock: Clock
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def start_clock() -> Clock:
    return Clock(start=read_clocks())


def workload_detail(context: PassContext, result: DecodeResult) -> dict[str, Any]:
    """What shows that two passes ran the same thing: digests of the tokens, the cache's class, the threads."""
    return {
        "prompt_sha256": token_digest(context.prompt_ids),
        "generated_sha256": token_digest(result.generated_ids),
        "cache_class": type(result.cache).__name__,
        "warmup": context.spec.warmup,
        "cpu_threads": torch.get_num_threads(),
    }


def write_timings(path: Path, timings: Iterable[PhaseTiming], zero_ns: int) -> None:
    """One JSON line a phase, start_ns counted from the pass's start."""
    _write_lines(path, ({**asdict(each), "start_ns": each.start_ns - zero_ns} for each in timings))


def write_samples(path: Path, samples: Iterable[Sample], zero_ns: int) -> None:
    """One JSON line a sample, t_ns counted from the pass's start."""
    _write_lines(path, ({**asdict(each), "t_ns": each.t_ns - zero_ns} for each in samples))


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with write_then_rename(path) as stream:
        for row in rows:
            stream.write(json.dumps(row).encode() + b"\n")
