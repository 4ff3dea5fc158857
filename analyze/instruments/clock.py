"""Joining the clock of a recording with the clock of a pass.

Rows count nanoseconds since the recording began. A pass knows `uptime_ns`, the clock of mach_absolute_time
(CLOCK_UPTIME_RAW on macOS). The join is the begin of the recording on that clock, by the best evidence:

1. `time-info`: trace_ns = mach_abs_ns - mabs-epoch * numerator / denominator, exact to 1 ns.
2. a signpost that the pass emitted between two readings of its clock.
3. the TOC's start date, written to the millisecond.

Several epochs mean that the machine slept in between: such times are not comparable and the join is refused.
CLOCK_UPTIME_RAW is mach_absolute_time in ns (clock_gettime(3)).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

TOC_UNCERTAINTY_NS = 1_000_000
"""The TOC writes its start date to the millisecond; whether it is rounded or cut is not known."""


@dataclass(frozen=True)
class Mark:
    """A signpost that the pass emitted: its clock before and after."""

    name: str
    before_uptime_ns: int
    after_uptime_ns: int


@dataclass(frozen=True)
class PassClock:
    """Begin of a pass on the wall clock and on the uptime clock, and the signposts it emitted."""

    unix_ns: int
    uptime_ns: int
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class TimeInfo:
    """One row of `time-info`; epochs in ticks of mach_absolute_time."""

    mabs_epoch: int
    numerator: int
    denominator: int


@dataclass(frozen=True)
class ClockJoin:
    """How recording and pass are on one clock.

    `method` is time_info, signpost, toc_start_date or none. `start_uptime_ns` is the recording's zero on the
    uptime clock, off by at most `uncertainty_ns` either way. `reason` says why there is none.
    """

    method: str
    start_uptime_ns: int | None = None
    uncertainty_ns: int | None = None
    reason: str | None = None

    def trace_ns(self, uptime_ns: int) -> int | None:
        """A moment of the uptime clock as ns since the recording began; None when not joined."""
        return None if self.start_uptime_ns is None else uptime_ns - self.start_uptime_ns

    def uptime_ns(self, trace_ns: int) -> int | None:
        """The reverse of trace_ns."""
        return None if self.start_uptime_ns is None else trace_ns + self.start_uptime_ns


def join_clock(
    time_infos: Iterable[TimeInfo],
    signposts: Iterable[tuple[str, int]] = (),
    toc_start_unix_ns: int | None = None,
    pass_clock: PassClock | None = None,
) -> ClockJoin:
    """The best join that the evidence allows. `signposts` are (name, trace ns of the begin)."""
    epochs = set(time_infos)
    if len(epochs) > 1:
        return ClockJoin(
            "none",
            reason=f"time-info has {len(epochs)} epochs: the machine slept during the recording, "
            "so its times are not on one clock; record again with the machine kept awake (caffeinate)",
        )
    if epochs:
        info = epochs.pop()
        return ClockJoin("time_info", info.mabs_epoch * info.numerator // info.denominator, 1)
    if pass_clock is None:
        return ClockJoin("none")
    by_signpost = _by_signposts(signposts, pass_clock.marks)
    if by_signpost is not None:
        return by_signpost
    if toc_start_unix_ns is None:
        return ClockJoin("none", reason="there is no time-info table, no shared signpost and no start date in a TOC")
    start = pass_clock.uptime_ns + (toc_start_unix_ns - pass_clock.unix_ns)
    return ClockJoin("toc_start_date", start, TOC_UNCERTAINTY_NS)


def _by_signposts(signposts: Iterable[tuple[str, int]], marks: tuple[Mark, ...]) -> ClockJoin | None:
    """Every mark whose name one signpost alone bears bounds the recording's zero; they must agree."""
    if not marks:
        return None
    seen: Counter[str] = Counter()
    times: dict[str, int] = {}
    wanted = {mark.name for mark in marks}
    for name, trace_ns in signposts:
        if name in wanted:
            seen[name] += 1
            times[name] = trace_ns
    low, high = None, None
    for mark in marks:
        if seen[mark.name] != 1:
            continue
        earliest, latest = mark.before_uptime_ns - times[mark.name], mark.after_uptime_ns - times[mark.name]
        low = earliest if low is None else max(low, earliest)
        high = latest if high is None else min(high, latest)
    if low is None or high is None or low > high:
        return None
    return ClockJoin("signpost", (low + high) // 2, (high - low + 1) // 2)
