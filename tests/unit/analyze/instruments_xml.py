"""Small made-up exports of xctrace for the tests."""

import io
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import duckdb

from analyze.instruments.load import InstrumentsData, read_instruments
from tests.shared import SHARED

GPU_COLUMNS = [
    ("start", "start-time"),
    ("duration", "duration"),
    ("channel-name", "gpu-channel-name"),
    ("start-latency", "duration"),
    ("process", "process"),
]


def schema(name: str, columns: list[tuple[str, str]]) -> str:
    """The <schema> element."""
    cols = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic}</name><engineering-type>{kind}</engineering-type></col>"
        for mnemonic, kind in columns
    )
    return f'<schema name="{name}">{cols}</schema>'


def node(body: str, table: int = 1, run: int = 1) -> str:
    """The <node> element around a schema and rows."""
    return f"<node xpath='//trace-toc[1]/run[{run}]/data[1]/table[{table}]'>{body}</node>"


def document(*nodes: str) -> bytes:
    """A whole export."""
    return ('<?xml version="1.0"?>\n<trace-query-result>\n' + "\n".join(nodes) + "</trace-query-result>\n").encode()


def table(name: str, columns: list[tuple[str, str]], rows: list[str], number: int = 1) -> bytes:
    """An export of one table; a row is the text of its cells."""
    return document(node(schema(name, columns) + "\n".join(f"<row>{row}</row>" for row in rows), number))


def process(pid: int | None, name: str = "llm") -> str:
    """A process cell without ids; None is the sentinel."""
    return "<sentinel/>" if pid is None else f'<process fmt="{name} ({pid})"><pid fmt="{pid}">{pid}</pid></process>'


def gpu_table(intervals: list[tuple[int, int, int | None]], number: int = 1) -> bytes:
    """metal-gpu-intervals of (start, duration, pid)."""
    return table(
        "metal-gpu-intervals",
        GPU_COLUMNS,
        [
            f"<start-time>{start}</start-time><duration>{dur}</duration>"
            f"<gpu-channel-name>Compute</gpu-channel-name><duration>7</duration>{process(pid)}"
            for start, dur, pid in intervals
        ],
        number,
    )


def opener(data: bytes) -> Callable[[], BinaryIO]:
    """What opens these bytes, as often as it is asked."""
    return partial(io.BytesIO, data)


def read(*sources: bytes, **options: object) -> InstrumentsData:
    """Read documents named 0.xml, 1.xml, … and check that every row is accounted for."""
    data = read_instruments([(f"{i}.xml", opener(source)) for i, source in enumerate(sources)], **options)  # type: ignore[arg-type]
    assert data.raw_rows == data.loaded_rows + sum(rows for _, rows, _ in data.excluded)
    return data


def case(name: str) -> bytes:
    """One of the shared cases."""
    return (SHARED / "cases" / name).read_bytes()


def store(data: InstrumentsData, run_id: str = "r") -> duckdb.DuckDBPyConnection:
    """A store with this run and the views over it."""
    from analyze import instruments

    sql = instruments.__path__[0].removesuffix("instruments") + "sql"
    connection = duckdb.connect()
    for name in ("schema.sql", "schema_instruments.sql", *(f"views/metal_{v}.sql" for v in VIEWS)):
        with open(f"{sql}/{name}", encoding="utf-8") as file:
            connection.execute(file.read())
    for name, rows in data.tables.items():
        connection.register("rows_in", rows)
        connection.execute(f"INSERT INTO {name} BY NAME SELECT ? AS run_id, * FROM rows_in", [run_id])
        connection.unregister("rows_in")
    return connection


VIEWS = ("busy", "share", "bursts", "host", "signposts", "gates", "trust")
