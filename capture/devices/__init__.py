"""Devices as one layer: cpu, cuda, mps, and a null object for what a device lacks."""

from __future__ import annotations

from typing import Any

from capture.devices.common import Device, DeviceMemory
from capture.devices.cpu import CpuDevice
from capture.devices.cuda import CudaDevice
from capture.devices.mps import MpsDevice
from capture.devices.null import NullDevice
from capture.errors import PhasescopeError, UsageError
from capture.spec import DEVICES

__all__ = ["Device", "DeviceMemory", "NullDevice", "choose_device", "device_of"]


def choose_device(word: str = "auto", torch_module: Any = None) -> tuple[Device, str]:
    """The device for `word` (auto, mps, cuda or cpu), and a sentence that says what was chosen and why.

    auto prefers mps, then cuda, then cpu. Raises PhasescopeError where the named device is not on this machine,
    UsageError for another word.
    """
    if word not in DEVICES:
        raise UsageError(f"There is no device {word}; --device takes {', '.join(DEVICES)}.")
    if torch_module is None:
        import torch as torch_module
    there = {"mps": MpsDevice.available(torch_module), "cuda": CudaDevice.available(torch_module), "cpu": True}
    if word != "auto" and not there[word]:
        others = ", ".join(kind for kind, available in there.items() if available)
        raise PhasescopeError(
            f"This machine has no {word} device that PyTorch can use; it has {others}: name that, or --device auto."
        )
    kind = word if word != "auto" else next(kind for kind, available in there.items() if available)
    missing = [each for each in ("mps", "cuda") if not there[each]]
    why = "as asked" if word != "auto" else f"auto; no {' and no '.join(missing)} here" if kind == "cpu" else "auto"
    return device_of(kind, torch_module), f"device {kind} ({why})"


def device_of(thing: Any, torch_module: Any = None) -> Device:
    """The adapter for a Device of ours, a torch.device, or a word such as "cuda:0".

    A kind of device that there is no adapter for gets the null object.
    """
    if isinstance(thing, Device):
        return thing
    kind = getattr(thing, "type", None) or str(thing).partition(":")[0]
    if kind == "mps":
        return MpsDevice(torch_module)
    if kind == "cuda":
        return CudaDevice(torch_module)
    return CpuDevice() if kind == "cpu" else NullDevice()
