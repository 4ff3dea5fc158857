"""The first sentence: where the time went, or what is not known about it. Only clean latencies are quoted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.budget import KINDS, main_pass


@dataclass(frozen=True)
class Part:
    """A piece of a sentence; `tone` names the colour of what it speaks of, `strong` marks a number."""

    text: str
    strong: bool = False
    tone: str = ""


@dataclass(frozen=True)
class Answer:
    """The sentence in pieces, the queries it was built from, and why its times are not the run's own, if so."""

    parts: tuple[Part, ...]
    sql: tuple[Result, ...]
    disturbed: str | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def build(results: Mapping[str, Result]) -> Answer:
    """One or two sentences: the clean latencies, then what a decode step is made of."""
    why = _disturbed(results)
    parts = [*_latency(results), *_composition(results)]
    if why:
        parts += [Part("" if parts[-1].text.endswith(" ") else " "), Part(why, True)]
    used = ("run", "generation", "latency", "clean_trust", "breakdown", "time_budget", "device_busy", "timeline_window")
    return Answer(tuple(parts), tuple(results[name] for name in used if results[name]), why)


def _disturbed(results: Mapping[str, Result]) -> str | None:
    """Other work on the machine, by the rule of `phasescope compare`, or decode steps that are far from alike."""
    row = results["clean_trust"].one()
    if row["disturbed"] == "busy machine":
        had = fmt.percent(row["busy_cpu_percent"] / 100, 2)
        return (
            f"The machine was busy while this was measured (in {row['busy_phase']} the process got {had} of one core):"
            " do not quote these times."
        )
    if row["disturbed"]:
        span = f"{fmt.duration(row['decode_p5_ns'])} to {fmt.duration(row['decode_p95_ns'])}"
        return (
            f"The decode steps are far from alike ({span}, p5 to p95), as on a busy machine: do not quote these times."
        )
    return None


def _latency(results: Mapping[str, Result]) -> list[Part]:
    run, generation = results["run"].one(), results["generation"].one()
    if not generation["generations"]:
        return _without_clean(results, {row["phase"]: row for row in results["latency"]})
    tokens = fmt.plural(run["new_tokens"] or generation["decode_steps"] + 1, "token")
    if (run["batch_size"] or 1) > 1:
        tokens += f" for each of {fmt.count(run['batch_size'])} sequences"
    parts = [
        Part(f"{tokens} took "),
        Part(fmt.duration(generation["total_ns"]), True),
        Part(": "),
        Part("prefill", tone="prefill"),
        Part(" "),
        Part(fmt.duration(generation["prefill_ns"]), True),
        Part(f" ({fmt.percent(generation['prefill_share'], 2)})"),
    ]
    if generation["decode_steps"]:
        parts += [
            Part(", then "),
            Part(fmt.plural(generation["decode_steps"], "decode step"), tone="decode"),
            Part(" of "),
            Part(fmt.duration(generation["decode_step_ns"]), True),
            Part(f" on average ({fmt.significant(generation['tokens_per_second'])} tokens/s)"),
        ]
    if generation["generations"] > 1:
        parts.append(Part(f", in the middle one of {fmt.count(generation['generations'])} repeats"))
    return [*parts, Part(". ")]


def _without_clean(results: Mapping[str, Result], clean: Mapping[str, Row]) -> list[Part]:
    if clean:
        names = " and ".join(sorted(clean))
        return [Part(f"The clean pass holds no whole generation, only {names} calls, so no total is quoted. ")]
    why = next((row["reason"] for row in results["passes"] if row["pass"] == "clean" and row["reason"]), None)
    parts = [Part("How long a token takes without a profiler is not known", True), Part(": no clean pass was measured")]
    parts.append(Part(f" ({why}). " if why else ". "))
    window, calls = results["timeline_window"].one(), results["breakdown"]
    if window["end_ns"] is not None:
        span = fmt.duration(window["end_ns"] - window["start_ns"])
        parts += [Part("What the trace shows spans "), Part(span, True), Part(" with the profiler on")]
        known = [row for row in calls if row["pass"] == window["pass"] and row["phase"] != "unknown"]
        if known:
            listed = [fmt.plural(row["calls"], f"{row['phase']} call") for row in known]
            parts.append(
                Part(f" and holds {' and '.join([', '.join(listed[:-1]), listed[-1]] if listed[1:] else listed)}. ")
            )
        else:
            parts.append(Part("; no phase of generation was recognised in it. "))
    return parts


def _composition(results: Mapping[str, Result]) -> list[Part]:
    rows = [row for row in results["breakdown"] if row["pass"] == main_pass(results)]
    by_phase = {row["phase"]: row for row in rows}
    row = by_phase.get("decode") or (rows[0] if rows else None)
    busy = _busy(results, row["pass"] if row else results["timeline_window"].one().get("pass"))
    if row is None or not (row["operators_ns"] or row["waiting_ns"] or row["device_busy_ns"]):
        why = "no pass recorded operators" if row is None else "no operator lies inside it"
        if busy:
            return [*busy, Part(f". What the host did in that time is not known: {why}.")]
        return [Part(f"What that time is made of is not known: {why}.")]
    what = "a decode step" if row["phase"] == "decode" else f"a {row['phase']} call"
    if row["phase"] == "unknown":
        mean = f" (the mean of {fmt.count(row['calls'])} marked steps)" if row["calls"] > 1 else ""
        what = f"{fmt.duration(row['wall_ns'])} on the host{mean}"
    parts: list[Part] = []
    device_bound = row["device_busy_ns"] is not None and row["device_busy_ns"] > row["wall_ns"]
    if device_bound:
        parts += [Part("The "), Part("device", tone="device"), Part(" works ")]
        parts += [Part(fmt.duration(row["device_busy_ns"]), True), Part(f" for {what} of ")]
        parts += [Part(fmt.duration(row["wall_ns"]), True), Part(" on the host: the device sets the pace. ")]
    if row["operators_ns"] is not None:
        parts += _of_host(row, what, results)
    if row["device_busy_ns"] and row["device_idle_ns"] is not None:
        extent = row["device_busy_ns"] + row["device_idle_ns"]
        share = fmt.percent(row["device_busy_ns"] / extent, 2)
        if abs(extent - row["wall_ns"]) <= 0.01 * row["wall_ns"]:
            parts += [Part("The "), Part("device", tone="device"), Part(" is busy "), Part(share, True)]
            parts.append(Part(f" of {what if row['phase'] != 'unknown' else 'that time'}."))
        else:  # a loop that runs ahead of its device: the work for a step is not inside the step
            parts += [Part("The "), Part("device", tone="device"), Part(f"'s work for {what} spans ")]
            parts += [Part(fmt.duration(extent), True), Part(", busy "), Part(share, True), Part(" of that.")]
    elif busy:
        parts += [*busy, Part("; how much of the rest it waits for the host is not established.")]
    return parts


def _busy(results: Mapping[str, Result], of_pass: str | None) -> list[Part]:
    """How long the device works in the whole of a pass, which is known where attribution and idle time are not."""
    row = next((row for row in results["device_busy"] if row["pass"] == of_pass), None)
    ns = None if row is None else row["busy_ns"] or row["all_busy_ns"]
    if row is None or not ns:
        return []
    window = results["timeline_window"].one()
    span = fmt.duration(row["whole_ns"])
    shown = not results["generation"].one()["generations"] and window["end_ns"] is not None
    these = shown and fmt.duration(window["end_ns"] - window["start_ns"]) == span
    several = row["devices"] > 1
    parts = [Part("Each of the " if several else "The "), Part("device", tone="device")]
    parts[1:] = [Part(f"{fmt.count(row['devices'])} "), Part("devices", tone="device")] if several else parts[1:]
    parts += [Part(" is busy "), Part(fmt.duration(ns), True)]
    parts.append(Part(f" of {'these' if these else 'the'} {span}, {fmt.percent(ns / row['whole_ns'], 2)}"))
    mean = ", the mean of them" if several else ""
    if not row["busy_ns"]:
        parts.append(Part(f", with the work of every process of the machine (union of the rows{mean})"))
    elif row["all_busy_ns"] > row["busy_ns"]:
        parts.append(Part(", with the work of the recorded process, "))
        parts += [Part(fmt.duration(row["all_busy_ns"]), True), Part(" with that of every process")]
        parts.append(Part(f" (union of the rows{mean})"))
    else:
        parts.append(Part(f" (union of its rows in the whole pass{mean})"))
    return parts


def _of_host(row: Row, what: str, results: Mapping[str, Result]) -> list[Part]:
    device = results["run"].one()["device"]
    shares = {
        "operators": row["operators_ns"] / row["wall_ns"],
        "host work between operators": row["between_ns"] / row["wall_ns"],
        "waiting for the device": row["waiting_ns"] / row["wall_ns"],
    }
    label = "encoding operators on the CPU" if device == "mps" else "operators"
    if device == "cpu":
        label += _largest_kind(row, results["time_budget"])
    ordered = sorted(((share, key) for key, share in shares.items() if share >= 0.005), reverse=True)
    parts: list[Part] = []
    for number, (share, key) in enumerate(ordered):
        name = label if key == "operators" else key
        if number == 0:
            most = share > 0.5
            parts.append(Part(f"{'Most of' if most else 'Of'} {what}, "))
            parts += [Part(fmt.percent(share, 2), True), Part(f"{',' if most else ''} is {name}")]
        else:
            parts += [Part("; "), Part(fmt.percent(share, 2), True), Part(f" is {name}")]
    parts.append(Part(" (in the profiled pass). " if row["pass"] == "profiled" else ". "))
    if device == "mps":
        parts.append(Part("GPU time is not in this trace: on MPS an operator's duration is the time to encode it. "))
    return parts


def _largest_kind(row: Row, split: Result) -> str:
    """The kind of operator that takes most, as ` (linear alone: 78 %)`."""
    parts = [part for part in split if (part["pass"], part["phase"]) == (row["pass"], row["phase"])]
    kinds = [part for part in parts if part["part"] in KINDS and part["part"] != "other"]
    if not kinds:
        return ""
    most = max(kinds, key=lambda part: part["ns"])
    return f" ({most['part']} alone: {fmt.percent(most['ns'] / sum(part['ns'] for part in parts), 2)})"
