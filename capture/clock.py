"""The clocks of a capture. All times are integer nanoseconds."""

from __future__ import annotations

import sys
import time

from capture.bundle import ClockReading

# On macOS CLOCK_UPTIME_RAW is mach_absolute_time, the clock that xctrace's time-info anchors to; it stands still
# while the machine sleeps. Elsewhere CLOCK_MONOTONIC.
if sys.platform == "darwin":

    def now_ns() -> int:
        """Monotonic time in nanoseconds."""
        return time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)

else:
    now_ns = time.monotonic_ns


def _raw_ns() -> int:
    raw = getattr(time, "CLOCK_MONOTONIC_RAW", None)
    return time.clock_gettime_ns(raw) if raw is not None else time.monotonic_ns()


def read_clocks() -> ClockReading:
    """One instant on the wall clock, the monotonic clock and the raw monotonic clock."""
    return ClockReading(unix_ns=time.time_ns(), monotonic_ns=now_ns(), raw_ns=_raw_ns())
