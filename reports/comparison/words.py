"""Numbers and verdicts of a comparison as people read them, the same in the text and on the page."""

from __future__ import annotations

from analyze.compare.comparison import Comparison, MetricChange
from analyze.compare.names import NameChange
from analyze.statistics import Interval, Judgement
from reports import format as fmt

SIGNS = {
    "faster": "▼", "slower": "▲", "lower": "▼", "higher": "▲", "same": "=", "not established": "○",
}  # fmt: skip


def value(number: float | None, unit: str) -> str:
    """A number in a unit of the metrics."""
    if number is None:
        return fmt.MISSING
    if unit == "ns":
        return fmt.duration(number)
    if unit == "bytes":
        return fmt.size(number)
    if unit == "share":
        return fmt.percent(number)
    if unit == "count":
        return fmt.rate(number)
    return f"{fmt.significant(number)}{fmt.THIN}{'%' if unit == 'percent' else unit}"


def values(numbers: tuple[float | None, float | None], unit: str) -> tuple[str, str]:
    """Both sides in one unit, so that they can be compared by eye."""
    if unit == "ns":
        shared = fmt.time_unit(numbers)
        return fmt.duration(numbers[0], shared), fmt.duration(numbers[1], shared)
    if unit == "bytes":
        size = fmt.byte_unit(numbers)
        return fmt.size(numbers[0], size), fmt.size(numbers[1], size)
    return value(numbers[0], unit), value(numbers[1], unit)


def ratio(number: float | None) -> str:
    """B over A: × 0.705."""
    return fmt.MISSING if number is None else f"×{fmt.THIN}{fmt.significant(number)}"


def change(number: float | None) -> str:
    """A ratio as a change: +12.3 %, or "none" where it is exactly 1."""
    if number is None:
        return fmt.MISSING
    if number == 1:
        return "none"
    return signed_percent(number - 1)


def signed_percent(share: float) -> str:
    """A share with its sign, as per cent: +12.3 %."""
    shown = fmt.percent(share)
    return shown if shown.startswith("−") or share == 0 else f"+{shown}"


def interval(found: Interval | None) -> str:
    """The bounds of a ratio: 0.632 to 0.932; exact where it was counted; why there are none where there are none."""
    if found is None or found.low is None or found.high is None:
        return fmt.MISSING
    if found.low == found.high:
        return "exact"
    return f"{fmt.significant(found.low)} to {fmt.significant(found.high)}"


def limit_of(threshold: float) -> str:
    """A practical threshold as it was given: 5 %."""
    return f"{threshold * 100:g}{fmt.THIN}%"


def verdict(judgement: Judgement, threshold: float, said: str | None = None) -> str:
    """The verdict with what is known of its size: "slower, by over 5 %". A reason that was `said` is left out."""
    limit = limit_of(threshold)
    word = judgement.verdict
    if word == "same":
        return "no change" if judgement.reason == "counted, so exact" else f"the same within {limit}"
    if word == "not established":
        return "not established" + (f": {judgement.reason}" if judgement.reason and judgement.reason != said else "")
    size = {True: f"by over {limit}", False: f"by under {limit}", None: f"whether by over {limit} is open"}
    return f"{word}, {size[judgement.beyond]}"


def signed(ns: float) -> str:
    """A difference of time with its sign."""
    shown = fmt.duration(ns)
    return shown if shown.startswith("−") or not ns else f"+{shown}"


def shown_counts(comparison: Comparison) -> tuple[MetricChange, ...]:
    """Counts without those that say the same thing twice: a step of one sequence is a token."""
    batch = {side.first.run["batch_size"] for side in (comparison.a, comparison.b)}
    doubled = "_per_step" if batch == {1} else "\0"
    return tuple(c for c in comparison.counts if not c.metric.name.endswith(doubled) and (c.a or c.b))


def state(item: NameChange) -> str:
    """What happened to a name."""
    return item.state if item.state != "both" else "in both"


def leading(found: tuple[NameChange, ...], most: int = 3) -> tuple[NameChange, ...]:
    """The largest changes of the phase that counts most: decode where there is one, else the first with a name."""
    phases = {item.phase for item in found}
    phase = next((each for each in ("decode", "prefill", "mixed") if each in phases), None)
    chosen = [c for c in found if (c.phase == phase if phase else c.phase != "outside") and not c.name.startswith("(")]
    return tuple(c for c in chosen[:most] if c.delta_ns)
