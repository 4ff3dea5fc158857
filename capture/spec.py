"""What a capture is asked to do; travels to each pass's process as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from capture.errors import UsageError
from capture.models import ModelSource

CLEAN = "clean"
PROFILED = "profiled"
PASSES = (CLEAN, PROFILED)
"""Passes that run unless others are asked for."""
CALIBRATION = "calibration"
ALL_PASSES = (
    *PASSES, "memory", "energy", "metal", "signposts", "counters", "opstats", "gputrace", CALIBRATION,
)  # fmt: skip
"""Every pass, in the order in which they run."""
CACHES = ("dynamic", "static", "fp8", "quanto", "hqq")
DEVICES = ("auto", "mps", "cuda", "cpu")


@dataclass
class CaptureSpec:
    """The workload and how to look at it. prompt: text to read instead of prompt_tokens random token ids."""

    model: ModelSource
    prompt_tokens: int = 512
    new_tokens: int = 32
    batch_size: int = 1
    device: str = "auto"
    dtype: str = "auto"
    attention: str = "auto"
    cache: str = "dynamic"
    logits: Literal["all", "last"] = "all"
    warmup: int = 3
    repeat: int = 5
    seed: int = 0
    prompt: str | None = None
    layers: int | None = None
    passes: list[str] = field(default_factory=lambda: list(PASSES))
    with_stack: bool = False
    record_shapes: bool = True
    dims_only: bool = False
    profile_memory: bool = True
    counters_template: str | None = None

    def check(self) -> None:
        """Raise UsageError for a count that makes no sense or a pass that does not exist."""
        least = {"prompt_tokens": 1, "new_tokens": 1, "batch_size": 1, "warmup": 0, "repeat": 1}
        for name, minimum in least.items():
            if getattr(self, name) < minimum:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} must be at least {minimum}, not {getattr(self, name)}.")
        if self.layers is not None and self.layers < 1:
            raise UsageError(f"--layers must be at least 1, not {self.layers}.")
        if self.logits not in ("all", "last"):
            raise UsageError(f"--logits takes all or last, not {self.logits}.")
        if self.device not in DEVICES:
            raise UsageError(f"There is no device {self.device}; --device takes {', '.join(DEVICES)}.")
        if self.cache not in CACHES:
            raise UsageError(f"There is no cache {self.cache}; --cache takes {', '.join(CACHES)}.")
        unknown = [name for name in self.passes if name not in ALL_PASSES]
        if unknown or not self.passes:
            raise UsageError(f"There is no pass {', '.join(unknown) or '(none)'}; known are {', '.join(ALL_PASSES)}.")
        if len(set(self.passes)) != len(self.passes):
            raise UsageError("--passes names a pass twice.")
        # Whatever order was asked for: the clean pass comes before any profiler has touched the machine's caches.
        self.passes = sorted(self.passes, key=ALL_PASSES.index)
