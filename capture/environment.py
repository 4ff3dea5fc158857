"""Variables that make a process profile, trace or validate: none of them may be set when latencies are measured."""

from __future__ import annotations

import sys
from collections.abc import Mapping

# Apple's and PyTorch's for MPS (the first two even change how command buffers are committed), Kineto's, CUDA's.
PROFILING_VARIABLES = (
    "MTL_CAPTURE_ENABLED",
    "PYTORCH_MPS_LOG_PROFILE_INFO",
    "PYTORCH_MPS_TRACE_SIGNPOSTS",
    "METAL_DEVICE_WRAPPER_TYPE",
    "MTL_DEBUG_LAYER",
    "MTL_SHADER_VALIDATION",
    "KINETO_CONFIG",
    "KINETO_USE_DAEMON",
    "CUDA_INJECTION64_PATH",
    "CUDA_LAUNCH_BLOCKING",
    "NSYS_PROFILING_SESSION_ID",
)


def profiling_variables_set(environment: Mapping[str, str]) -> list[str]:
    """Names of the profiling variables that are set; being there counts, whatever the value."""
    return [name for name in PROFILING_VARIABLES if name in environment]


def tracing_hooks() -> list[str]:
    """Hooks that slow Python down in this process: a profile function, a trace function, or a monitoring tool."""
    hooks = []
    if sys.getprofile() is not None:
        hooks.append("sys.setprofile")
    if sys.gettrace() is not None:
        hooks.append("sys.settrace")
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    if monitoring is not None and any(monitoring.get_tool(tool) for tool in range(6)):
        hooks.append("sys.monitoring")
    return hooks
