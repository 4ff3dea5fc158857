"""Rows of a query as text or Parquet, in the formats that every command offers."""

import csv
import io
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from analyze.errors import UsageError

_WIDEST_CELL = 72


def write_rows(
    con: duckdb.DuckDBPyConnection, format_: str, out: Path | None, *, widest: int = _WIDEST_CELL
) -> str | None:
    """The last result of `con` in `format_` (table, csv, json, jsonl, markdown, parquet).

    Returns the text, or None where it was written to `out` (by a temporary name, then renamed). Parquet needs
    `out`. A cell of a table wider than `widest` is cut, which its last line says. NaN and infinities become null in
    JSON, which has none.
    """
    if format_ == "parquet":
        if out is None:
            raise UsageError("--format parquet needs --out FILE")
        import pyarrow.parquet as pq

        with _replacing(out) as temporary, warnings.catch_warnings():
            # DuckDB warns of a copy of the rows; the result of the last of several statements can be had no other way.
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
            pq.write_table(con.to_arrow_table(), temporary)
        return None
    names = [column[0] for column in con.description or []]
    rows = con.fetchall()
    formats: dict[str, Callable[[list[str], list[tuple[Any, ...]]], str]] = {
        "table": partial(_table, widest=widest),
        "csv": _csv,
        "json": _json,
        "jsonl": _jsonl,
        "markdown": _markdown,
    }
    text = formats[format_](names, rows)
    if out is None:
        return text
    with _replacing(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return None


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, out)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written ({error.strerror}); name another file with --out") from error
    finally:
        temporary.unlink(missing_ok=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 or not math.isfinite(value) else f"{value:.0f}"
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _table(names: list[str], rows: list[tuple[Any, ...]], *, widest: int) -> str:
    whole = [[" ".join(_cell(v).split()) for v in row] for row in rows]
    cells = [[_shortened(text, widest) for text in row] for row in whole]
    right = [any(_is_number(row[i]) for row in rows) for i in range(len(names))]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]

    def line(values: list[str]) -> str:
        return "  ".join(
            v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True)
        ).rstrip()

    rule = "  ".join("─" * width for width in widths)
    cut = "" if cells == whole else "; … marks text that was cut: --format csv or json shows it all"
    count = f"({len(rows)} row{'' if len(rows) == 1 else 's'}{cut})"
    return "\n".join([line(names), rule, *(line(row) for row in cells), count]) + "\n"


def _shortened(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _csv(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)


def _objects(names: list[str], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in rows]


def _json(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    return json.dumps(_objects(names, rows), ensure_ascii=False, indent=1) + "\n"


def _jsonl(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in _objects(names, rows))


def _markdown(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    def line(values: list[str]) -> str:
        return "| " + " | ".join(" ".join(v.split()).replace("|", "\\|") for v in values) + " |"

    rule = (
        "|"
        + "|".join(" ---: " if any(_is_number(row[i]) for row in rows) else " --- " for i in range(len(names)))
        + "|"
    )
    return "\n".join([line(names), rule, *(line([_cell(v) for v in row]) for row in rows)]) + "\n"
