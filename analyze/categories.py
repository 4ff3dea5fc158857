"""What a slice is, from the category its profiler gave it."""

from typing import Literal

Kind = Literal["operator", "python", "annotation", "kernel", "memcpy", "memset", "other", "span"]

# Kineto's activity names (libkineto/include/ActivityType.h), those of its 2021 schema, and other writers'.
_KINDS: dict[str, Kind] = {
    "kernel": "kernel",
    "concurrent_kernel": "kernel",
    "mtia_ccp_events": "kernel",
    "hpu_op": "kernel",
    "gpu_op": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "collective_comm": "other",
    "python_function": "python",
    "user_annotation": "annotation",
    "gpu_user_annotation": "span",
    "cuda_sync": "span",
    "cuda_profiler_range": "span",
    "trace": "span",
    "overhead": "span",
    "mtia_insight": "span",
}

_SPAN_KINDS = {"gpu_user_annotation": "device_annotation", "cuda_sync": "sync"}


def kind_of(category: str, process_name: str = "") -> Kind:
    """Kind of a slice with this category; without one, a process named as a device (JAX) makes it a kernel."""
    kind = _KINDS.get(category.lower())
    if kind is not None:
        return kind
    if not category and process_name.startswith("/device:") and "CPU" not in process_name:
        return "kernel"
    return "operator"


def span_kind(category: str) -> str:
    """Kind of an interval that is neither host work nor device work."""
    return _SPAN_KINDS.get(category.lower(), "profiler")
