import pytest

from capture import timers
from capture.devices import NullDevice
from capture.timers import synchronize_device, timed


class Slow(NullDevice):
    """A device whose work ends only when it is waited for."""

    def __init__(self):
        self.log = []

    def synchronize(self):
        self.log.append("synchronize")


@pytest.fixture
def clock(monkeypatch):
    """A clock that ticks by 10 ns at every look."""
    ticks = iter(range(0, 10_000, 10))
    monkeypatch.setattr(timers, "now_ns", lambda: next(ticks))


def test_timed_synchronises_before_and_after(clock):
    device = Slow()
    with timed(device) as timing:
        device.log.append("body")
    assert device.log == ["synchronize", "body", "synchronize"]
    assert (timing.start_ns, timing.dur_ns) == (0, 10)


def test_timed_synchronises_also_when_the_body_raises(clock):
    device = Slow()
    with pytest.raises(KeyError), timed(device) as timing:
        raise KeyError("body")
    assert device.log == ["synchronize", "synchronize"]
    assert timing.dur_ns == 10


def test_the_bodys_error_is_not_hidden_by_the_devices():
    class Broken(Slow):
        def synchronize(self):
            super().synchronize()
            if len(self.log) > 1:
                raise RuntimeError("device lost")

    with pytest.raises(KeyError, match="body"), timed(Broken()):
        raise KeyError("body")
    with pytest.raises(RuntimeError, match="device lost"), timed(Broken()):
        pass


def test_synchronize_device_takes_a_word_or_a_device():
    device = Slow()
    synchronize_device(device)
    assert device.log == ["synchronize"]
    synchronize_device("cpu")


def test_times_are_real_nanoseconds():
    import time

    with timed("cpu") as timing:
        time.sleep(0.02)
    assert 20e6 <= timing.dur_ns < 2e9
