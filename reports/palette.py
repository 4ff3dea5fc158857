"""One colour for one thing on every page: Okabe and Ito's palette (2008), which survives colour blindness.

On a page a colour is a CSS custom property, so that charts follow the system's light or dark; `HEX` holds the light
values for a chart that stands elsewhere, in a notebook say.
"""

from __future__ import annotations

import json
import re

PHASES = {
    "prefill": "var(--prefill)",
    "decode": "var(--decode)",
    "mixed": "var(--mixed)",
    "draft": "var(--draft)",
    "idle": "var(--idle)",
    "unknown": "var(--unknown)",
    "outside": "var(--idle)",
}
OTHER_PHASE = "var(--other)"
DEVICE = "var(--device)"
HOST = "var(--host)"
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
PAPER = "var(--paper)"

HEX = {
    "--prefill": "#e69f00",
    "--decode": "#0072b2",
    "--mixed": "#cc79a7",
    "--draft": "#56b4e9",
    "--unknown": "#8f949c",
    "--other": "#d55e00",
    "--device": "#009e73",
    "--host": "#8f88ac",
    "--idle": "#c9cdd3",
    "--ink": "#191c20",
    "--muted": "#555c66",
    "--line": "#dfe2e6",
    "--paper": "#ffffff",
}

_PROPERTY = re.compile(r"var\((--\w+)\)")


def of_phase(phase: str) -> str:
    """The colour of a phase; names from a user's rules share one."""
    return PHASES.get(phase, OTHER_PHASE)


def resolved(spec: dict) -> dict:
    """A chart's specification with the light colours in place of the page's properties."""
    return json.loads(_PROPERTY.sub(lambda match: HEX[match[1]], json.dumps(spec)))
