"""What differs between two sides before any number is compared, and how comparable that leaves them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from analyze.compare.facts import RunFacts
from analyze.compare.sides import Side

# Below this share of device time with a known launch, phases lack a part of it that matters.
LEAST_ATTRIBUTED = 0.99

Kind = Literal["workload", "configuration", "machine", "software", "conditions", "measurement"]
Level = Literal["high", "medium", "low"]
Sameness = Literal["same", "different", "not known"]

_WORKLOAD = (
    ("model", "model"), ("weights", "weights"), ("parameters", "parameters"), ("layers", "layers"),
    ("batch_size", "sequences at once"), ("prompt_tokens", "prompt tokens"), ("new_tokens", "new tokens"),
    ("logits", "logits"),
)  # fmt: skip
_CONFIGURATION = (
    ("device", "device"), ("dtype", "element type"), ("attention", "attention"), ("cache", "cache"), ("ranks", "ranks"),
)  # fmt: skip
_MACHINE = (
    ("device_name", "device"), ("processor", "processor"), ("cores", "CPU cores"), ("gpu_cores", "GPU cores"),
    ("memory_bytes", "memory"), ("device_memory_bytes", "device memory"), ("os", "system"),
)  # fmt: skip
_MEASUREMENT = (("warmup", "warm-up generations"), ("repeats", "repeats"))


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both sides; None where a side does not tell."""

    kind: Kind
    what: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Check:
    """Whether something that must be the same is; `reason` says how that is known."""

    verdict: Sameness
    reason: str


@dataclass(frozen=True)
class Comparability:
    """How far a difference of the numbers may be put down to what was meant to differ, and what lowers it."""

    level: Level
    reasons: tuple[str, ...]


def differences(a: Side, b: Side) -> tuple[Difference, ...]:
    """What differs, the most telling first: workload, configuration, machine, software, conditions, measurement."""
    left, right = a.first, b.first
    found: list[Difference] = []
    found += _of_columns("workload", _WORKLOAD, left, right)
    found += _of_digests(left, right)
    found += _of_told_workload(left, right)
    found += _of_columns("configuration", _CONFIGURATION, left, right)
    if left.cpu_threads != right.cpu_threads:
        found.append(Difference("configuration", "CPU threads", left.cpu_threads, right.cpu_threads))
    found += _of_columns("machine", _MACHINE, left, right)
    for name in sorted({*left.software, *right.software}):
        if left.software.get(name) != right.software.get(name):
            found.append(Difference("software", name, left.software.get(name), right.software.get(name)))
    thermal = (thermal_state(a), thermal_state(b))
    if thermal[0] != thermal[1]:
        found.append(Difference("conditions", "thermal state", *thermal))
    for name in sorted({*conditions(a), *conditions(b)}):
        pair = conditions(a).get(name), conditions(b).get(name)
        if pair[0] != pair[1]:
            found.append(Difference("conditions", name, *pair))
    found += _of_columns("measurement", _MEASUREMENT, left, right)
    return tuple(found)


def _of_columns(kind: Kind, columns: tuple[tuple[str, str], ...], left: RunFacts, right: RunFacts) -> list[Difference]:
    return [
        Difference(kind, what, left.run[column], right.run[column])
        for column, what in columns
        if left.run[column] != right.run[column]
    ]


def _of_digests(left: RunFacts, right: RunFacts) -> list[Difference]:
    prompts = left.digest("prompt_sha256"), right.digest("prompt_sha256")
    if prompts[0] == prompts[1] or left.run["prompt_tokens"] != right.run["prompt_tokens"]:
        return []
    return [Difference("workload", "prompt (sha256)", *(digest and digest[:12] for digest in prompts))]


def _of_told_workload(left: RunFacts, right: RunFacts) -> list[Difference]:
    sides = [run.told_workload for run in (left, right)]
    return [
        Difference("workload", key, sides[0].get(key), sides[1].get(key))
        for key in sorted({*sides[0], *sides[1]})
        if sides[0].get(key) != sides[1].get(key)
    ]


def thermal_state(side: Side) -> str | None:
    """The thermal states that a side's recordings name, the longest first; None where none was recorded."""
    total: Counter[str] = Counter()
    for run in side.runs:
        for row in run.rows["thermal"]:
            total[row["state"]] += row["dur_ns"] or 0
    return ", ".join(state for state, _ in total.most_common()) or None


def conditions(side: Side) -> dict[str, str]:
    """Conditions of the machine that the clean passes wrote down (power source, governor, ...), where they did."""
    seen: dict[str, set[str]] = {}
    for run in side.runs:
        row = run.pass_row("clean")
        told = json.loads(row["conditions"]) if row and row["conditions"] else {}
        for name, value in told.items():
            if isinstance(value, str | int | bool):
                seen.setdefault(name.replace("_", " "), set()).add(str(value))
    return {name: ", ".join(sorted(values)) for name, values in seen.items()}


def busy_elsewhere(side: Side) -> str | None:
    """Why a side's clean latencies are not its own, if so: in half of its runs or more other work had the machine."""
    for phase in ("prefill", "decode"):
        rows = [row for run in side.runs for row in run.rows["clean_cpu"] if row["phase"] == phase]
        busy = [row["cpu_percent"] for row in rows if row["busy_elsewhere"]]
        if busy and 2 * len(busy) >= len(rows):
            return f"in {phase} its process had only {median(busy):.0f} % of one core"
    return None


def same_workload(a: Side, b: Side, found: tuple[Difference, ...]) -> Check:
    """Whether both sides did the same work: by their manifests, else by the shapes of their matrix products."""
    of_workload = [d for d in found if d.kind == "workload"]
    told = [d.what for d in of_workload if d.a is not None and d.b is not None]
    if told:
        return Check("different", f"they differ in {_listed(told)}")
    left, right = a.first, b.first
    if all(run.run["model"] and run.run["prompt_tokens"] and run.run["new_tokens"] for run in (left, right)):
        if left.digest("prompt_sha256") and right.digest("prompt_sha256"):
            return Check("same", "model, lengths, batch and prompt are the same")
        return Check("same", "model, lengths and batch are the same; the prompts were not recorded")
    shapes = left.products, right.products
    if shapes[0] and shapes[1]:
        calls = sum(count for _, _, count in shapes[0])
        if shapes[0] == shapes[1]:
            model = "what the traces tell of it is equal" if left.told_workload else "the model itself is not recorded"
            return Check("same", f"all {calls} matrix products with weights have the same shapes; {model}")
        return Check("different", _different_products(shapes[0], shapes[1]))
    return Check("not known", "neither their manifests nor the shapes of their operators tell")


def _different_products(left: tuple[tuple[str, str, int], ...], right: tuple[tuple[str, str, int], ...]) -> str:
    only = Counter({(name, shapes): n for name, shapes, n in left})
    only.subtract({(name, shapes): n for name, shapes, n in right})
    different = {key: n for key, n in only.items() if n}
    (name, shapes), _ = max(different.items(), key=lambda item: abs(item[1]))
    calls = [sum(n for which, of, n in side if (which, of) == (name, shapes)) for side in (left, right)]
    return (
        f"their matrix products differ in {len(different)} shapes, such as {name} of {shapes}: "
        f"{calls[0]} calls against {calls[1]}"
    )


def same_tokens(a: Side, b: Side) -> Check:
    """Whether both sides generated the same tokens, by the digests of their clean passes."""
    digests = [{run.digest("generated_sha256") for run in side.runs} for side in (a, b)]
    if None in digests[0] or None in digests[1]:
        which = " and ".join(name for name, seen in zip("AB", digests, strict=True) if None in seen)
        return Check("not known", f"the generated tokens of {which} were not recorded")
    for name, seen in zip("AB", digests, strict=True):
        if len(seen) > 1:
            return Check("different", f"the runs of {name} did not even agree among themselves")
    if digests[0] != digests[1]:
        return Check("different", "the two sides generated different tokens")
    return Check("same", f"sha256 {str(next(iter(digests[0])))[:12]} on both sides")


def comparability(a: Side, b: Side, found: tuple[Difference, ...], workload: Check, tokens: Check) -> Comparability:
    """The level and all that lowers it. high: nothing but one part of the configuration differs."""
    lowered: list[tuple[Level, str]] = []
    if workload.verdict == "different":
        lowered.append(("low", f"not the same workload: {workload.reason}"))
    elif workload.verdict == "not known":
        lowered.append(("low", f"the workload is not known: {workload.reason}"))
    without = [name for name, side in (("A", a), ("B", b)) if not any(run.rows["repeats"] for run in side.runs)]
    if without:
        lowered.append(("low", f"no clean latencies on {' and '.join(without)}, so only traced times are compared"))
    else:
        if tokens.verdict != "same":
            lowered.append(("medium", tokens.reason))
    unplaced = [
        f"{1 - total['attributed_share']:.0%} of {name}'s".replace("%", " %")
        for name, side in (("A", a), ("B", b))
        for total in side.first.rows["device_total"]
        if total["rows"] and (total["attributed_share"] or 0) < LEAST_ATTRIBUTED
    ]
    if unplaced:
        named = " and ".join(unplaced)
        lowered.append(("medium", f"{named} device time has no launch in the trace and so belongs to no phase"))
    kinds = Counter(d.kind for d in found)
    if kinds["configuration"] > 1:
        named = _listed([d.what for d in found if d.kind == "configuration"])
        lowered.append(("medium", f"more than one thing was changed ({named}), so a change cannot be put down to one"))
    if kinds["machine"]:
        lowered.append(("medium", f"other machine: {_listed([d.what for d in found if d.kind == 'machine'])}"))
    if kinds["software"]:
        lowered.append(("medium", f"other software: {_listed([d.what for d in found if d.kind == 'software'])}"))
    states = {state for side in (a, b) for state in (thermal_state(side) or "").split(", ") if state}
    for name, side in (("A", a), ("B", b)):
        if why := busy_elsewhere(side):
            lowered.append(("low", f"the machine was busy with other work while {name} was measured: {why}"))
    if kinds["conditions"]:
        lowered.append(("medium", f"other conditions: {_listed([d.what for d in found if d.kind == 'conditions'])}"))
    elif states - {"Nominal"}:
        lowered.append(("medium", f"the machine was not at its nominal thermal state ({_listed(sorted(states))})"))
    if any(d.what == "warm-up generations" for d in found):
        lowered.append(("medium", "other number of warm-up generations"))
    order: tuple[Level, ...] = ("low", "medium", "high")
    level: Level = min((each for each, _ in lowered), key=order.index, default="high")
    return Comparability(level, tuple(reason for _, reason in lowered))


def _listed(names: list[str], most: int = 6) -> str:
    shown = names[:most]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
