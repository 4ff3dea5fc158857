"""The device layer. There is no MPS machine here: its adapter meets a fake of torch that fails as torch 2.13 does
without the backend (three kinds of error, depending on the call), and one that works in part."""

from types import SimpleNamespace

import pytest
import torch

from capture.devices import DeviceMemory, NullDevice, choose_device, device_of
from capture.devices.cpu import CpuDevice
from capture.devices.cuda import CudaDevice
from capture.devices.mps import MpsDevice
from capture.errors import PhasescopeError, UsageError


def raising(error):
    def call(*args, **kwargs):
        raise error

    return call


def torch_without_mps():
    """As measured on Linux: is_available() answers, counters raise RuntimeError, names raise AttributeError."""

    def runtime(name):
        return raising(RuntimeError(f"Cannot execute {name}() without MPS backend."))

    names = (
        "synchronize",
        "current_allocated_memory",
        "driver_allocated_memory",
        "recommended_max_memory",
        "empty_cache",
    )
    attribute = raising(AttributeError("module 'torch._C' has no attribute '_mps_get_name'"))
    return SimpleNamespace(
        mps=SimpleNamespace(**{name: runtime(name) for name in names}),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_available=lambda: False, get_name=attribute, get_core_count=attribute)
        ),
        accelerator=SimpleNamespace(
            max_memory_allocated=raising(NotImplementedError("no stats")),
            reset_peak_memory_stats=raising(NotImplementedError("no stats")),
        ),
        cuda=SimpleNamespace(is_available=lambda: False),
    )


def torch_with_mps(peak=True):
    calls = []

    def counting(name, value):
        def call():
            calls.append(name)
            return value

        return call

    fake = torch_without_mps()
    fake.calls = calls
    fake.mps = SimpleNamespace(
        synchronize=counting("synchronize", None),
        current_allocated_memory=counting("current", 100),
        driver_allocated_memory=counting("driver", 300),
        recommended_max_memory=counting("recommended", 9000),
        empty_cache=counting("empty", None),
    )
    fake.backends.mps = SimpleNamespace(
        is_available=lambda: True, get_name=lambda: "Apple M3 Max", get_core_count=lambda: 40
    )
    if peak:
        fake.accelerator = SimpleNamespace(
            max_memory_allocated=counting("peak", 250), reset_peak_memory_stats=counting("reset", None)
        )
    return fake


def test_mps_absent_is_none_for_every_fact_and_never_a_number():
    fake = torch_without_mps()
    assert MpsDevice.available(fake) is False
    device = MpsDevice(fake)
    assert device.name() is None
    assert device.gpu_cores() is None
    assert device.memory() == DeviceMemory(None, None, None, None)
    device.reset_peak()
    device.free_memory()
    # Waiting is not a fact that may be missing: a synchronisation that fails must be heard.
    with pytest.raises(RuntimeError, match="without MPS backend"):
        device.synchronize()


@pytest.mark.parametrize("error", [RuntimeError("x"), AttributeError("x"), NotImplementedError("x")])
def test_each_kind_of_failure_makes_one_counter_none_and_spares_the_others(error):
    fake = torch_with_mps()
    fake.mps.driver_allocated_memory = raising(error)
    assert MpsDevice(fake).memory() == DeviceMemory(100, None, 9000, 250)
    fake.backends.mps.is_available = raising(error)
    assert MpsDevice.available(fake) is False


def test_other_errors_of_a_counter_are_not_swallowed():
    fake = torch_with_mps()
    fake.mps.current_allocated_memory = raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        MpsDevice(fake).memory()


def test_mps_that_works():
    fake = torch_with_mps()
    device = MpsDevice(fake)
    assert (device.kind, device.name(), device.gpu_cores()) == ("mps", "Apple M3 Max", 40)
    assert device.memory() == DeviceMemory(100, 300, 9000, 250)
    device.synchronize()
    device.reset_peak()
    device.free_memory()
    assert [call for call in fake.calls if call in ("synchronize", "reset", "empty")] == [
        "synchronize",
        "reset",
        "empty",
    ]


def test_mps_without_a_peak_counter():
    fake = torch_with_mps(peak=False)
    device = MpsDevice(fake)
    assert device.memory() == DeviceMemory(100, 300, 9000, None)
    device.reset_peak()


def test_the_real_torch_answers_as_the_fake_on_this_machine():
    if torch.backends.mps.is_available():
        pytest.skip("this machine has MPS")
    device = MpsDevice(torch)
    assert MpsDevice.available(torch) is False
    assert device.name() is None
    assert device.gpu_cores() is None
    assert device.memory().tensor_bytes is None
    assert device.memory().driver_bytes is None
    assert device.memory().recommended_max_bytes is None
    with pytest.raises(RuntimeError):
        device.synchronize()


def test_auto_prefers_mps_then_cuda_then_cpu_and_says_so():
    both = torch_with_mps()
    both.cuda = SimpleNamespace(is_available=lambda: True)
    device, said = choose_device("auto", both)
    assert (device.kind, said) == ("mps", "device mps (auto)")
    cuda = torch_without_mps()
    cuda.cuda = SimpleNamespace(is_available=lambda: True)
    assert choose_device("auto", cuda)[0].kind == "cuda"
    device, said = choose_device("auto", torch_without_mps())
    assert (device.kind, said) == ("cpu", "device cpu (auto; no mps and no cuda here)")
    assert choose_device("cpu", both)[1] == "device cpu (as asked)"


def test_a_device_that_is_not_there_and_one_that_does_not_exist():
    with pytest.raises(
        PhasescopeError, match="no mps device that PyTorch can use; it has cpu: name that, or --device auto"
    ):
        choose_device("mps", torch_without_mps())
    with pytest.raises(UsageError, match="There is no device tpu; --device takes auto, mps, cuda, cpu"):
        choose_device("tpu", torch_without_mps())


def test_cuda_reads_torchs_counters():
    calls = []
    cuda = SimpleNamespace(
        get_device_name=lambda: "NVIDIA H200",
        synchronize=lambda: calls.append("synchronize"),
        mem_get_info=lambda: (7, 1000),
        memory_allocated=lambda: 10,
        memory_reserved=lambda: 20,
        max_memory_allocated=lambda: 15,
        reset_peak_memory_stats=lambda: calls.append("reset"),
        empty_cache=lambda: calls.append("empty"),
    )
    device = CudaDevice(SimpleNamespace(cuda=cuda))
    assert device.memory() == DeviceMemory(10, 20, 1000, 15)
    assert device.name() == "NVIDIA H200"
    assert device.total_memory_bytes() == 1000
    device.synchronize()
    device.reset_peak()
    device.free_memory()
    assert calls == ["synchronize", "reset", "empty"]


def test_the_cpu_has_explicit_zeros():
    assert CpuDevice().memory() == DeviceMemory(0, 0, None, None)
    assert NullDevice().memory() == DeviceMemory(0, 0, None, None)
    assert CpuDevice().gpu_cores() is None


def test_device_of_takes_words_torch_devices_and_devices():
    cpu = CpuDevice()
    assert device_of(cpu) is cpu
    assert device_of(torch.device("cpu")).kind == "cpu"
    assert isinstance(device_of("cpu:0"), CpuDevice)
    assert type(device_of("xpu")) is NullDevice
