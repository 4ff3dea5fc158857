"""Conditions of the machine that decide over its speed: power source, power mode, heat, as far as it tells.

Read before and after the clean pass, never inside it; comparisons set them side by side.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psutil

GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def read_conditions() -> dict[str, str]:
    """What this machine tells of power_source, low_power_mode, thermal_warning (macOS), cpu_governor (Linux)."""
    found = {"power_source": _power_source()}
    if sys.platform == "darwin":
        found["low_power_mode"] = low_power_mode(_pmset())
        found["thermal_warning"] = thermal_warning(_pmset("therm"))
    else:
        found["cpu_governor"] = _first_line(GOVERNOR)
    return {name: value for name, value in found.items() if value is not None}


def over_time(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Each condition, and where it changed in between, both values."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name, "not told"), after.get(name, "not told")) for name in names}
    return {name: first if first == last else f"{first}, then {last}" for name, (first, last) in pairs.items()}


def low_power_mode(settings: str | None) -> str | None:
    """on or off, out of what `pmset -g` prints; None where it does not say."""
    match = re.search(r"^\s*lowpowermode\s+(\d)", settings or "", re.MULTILINE)
    return None if match is None else "off" if match[1] == "0" else "on"


def thermal_warning(printed: str | None) -> str | None:
    """The thermal warning level out of `pmset -g therm`: none, or its number; None where it does not say."""
    if "No thermal warning level has been recorded" in (printed or ""):
        return "none"
    match = re.search(r"Thermal Warning Level\s*=\s*(\d+)", printed or "", re.IGNORECASE)
    return match[1] if match else None


def _power_source() -> str | None:
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError):  # platforms and containers without such sensors
        return None
    if battery is None or battery.power_plugged is None:
        return None
    return "mains" if battery.power_plugged else "battery"


def _pmset(*words: str) -> str | None:
    try:
        done = subprocess.run(["pmset", "-g", *words], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
