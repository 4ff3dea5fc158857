"""What goes into a page beside its text: scripts, styles, JSON, and the policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

import vl_convert

from reports.figure import Figure

VEGA_LITE = "6.4"  # the version that Altair 6 writes


def json_text(value: object) -> str:
    """`value` as JSON that may stand in a script element: no `<`, so no end tag and no comment can appear in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by column. A column of texts that repeat becomes its different texts and a number for each row."""
    packed: dict[str, Any] = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if (
            all(isinstance(value, str) for value in values)
            and len(different := dict.fromkeys(values)) < len(values) / 2
        ):
            number = {text: index for index, text in enumerate(different)}
            packed[name] = {"texts": list(different), "rows": [number[value] for value in values]}
        else:
            packed[name] = values
    return packed


def figure(item: Figure) -> str:
    """A figure as JSON for the page's script: the compiled chart, and its rows by column."""
    return json_text(
        {
            "spec": vl_convert.vegalite_to_vega(item.spec(), vl_version=VEGA_LITE),
            "data": {name: columns(rows) for name, rows in item.data.items()},
            "renderer": item.renderer,
        }
    )


def static(name: str) -> str:
    """A file of `static/`, ready to stand in the page."""
    return (resources.files("reports") / "static" / name).read_text(encoding="utf-8").strip()


@cache
def bundling() -> Future[str]:
    """Begin to bundle Vega, which takes a core for a second, in a thread: a report's queries can run meanwhile."""
    return ThreadPoolExecutor(1).submit(vl_convert.javascript_bundle, "window.vegaEmbed=vegaEmbed;")


@cache
def vega() -> str:
    """Vega as one script, with Vega-Embed as its door: the bundle's own `vega` is null (vl-convert 1.9)."""
    return bundling().result().replace("</script", "<\\/script").replace("\r\n", "\n").strip()


def policy(scripts: Sequence[str]) -> str:
    """A Content-Security-Policy under which only these scripts run and nothing is requested.

    Vega turns its expressions into functions, hence 'unsafe-eval'; they come from `charts.py` alone.
    """
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
