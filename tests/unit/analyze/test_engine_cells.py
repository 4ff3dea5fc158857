"""Query results made by protobuf's own classes, decoded into Arrow."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from analyze.engines.cells import decode, one_line
from analyze.errors import PhasescopeError

PROTOS = ProtoFactory(PlatformDelegate())


def result(names: list[str], *batches: list[Any], error: str = "") -> bytes:
    """A QueryResult as trace processor packs it: cells row by row, the values apart by type."""
    message = PROTOS.QueryResult()
    message.column_names.extend(names)
    if error:
        message.error = error
    for cells in batches:
        batch = message.batch.add()
        strings = []
        for cell in cells:
            if cell is None:
                batch.cells.append(1)
            elif isinstance(cell, int):
                batch.cells.append(2)
                batch.varint_cells.append(cell)
            elif isinstance(cell, float):
                batch.cells.append(3)
                batch.float64_cells.append(cell)
            elif isinstance(cell, str):
                batch.cells.append(4)
                strings.append(cell + "\0")
            else:
                batch.cells.append(5)
                batch.blob_cells.append(cell)
        batch.string_cells = "".join(strings)
    return message.SerializeToString()


def test_columns_of_each_type_over_several_batches() -> None:
    table = decode(
        result(
            ["i", "f", "s", "b"],
            [1, 1.5, "eins", b"\0", -2, None, "", None],
            [2**63 - 1, 0.0, "zwei\nZeilen, 'quoted' \x01 ✓", b"", None, float("inf"), None, b"x"],
        )
    )
    assert table.schema == pa.schema([("i", pa.int64()), ("f", pa.float64()), ("s", pa.string()), ("b", pa.binary())])
    assert table.to_pydict() == {
        "i": [1, -2, 2**63 - 1, None],
        "f": [1.5, None, 0.0, float("inf")],
        "s": ["eins", "", "zwei\nZeilen, 'quoted' \x01 ✓", None],
        "b": [b"\0", None, b"", b"x"],
    }


def test_integers_and_floats_become_floats() -> None:
    table = decode(result(["m", "n"], [1, 7, 2.5, 8, None, 9]))
    assert table["m"].to_pylist() == [1.0, 2.5, None]
    assert table["n"].to_pylist() == [7, 8, 9]
    assert table.schema.types == [pa.float64(), pa.int64()]


@pytest.mark.parametrize(
    ("cells", "names"),
    [([1, "a"], "integers and strings"), ([1.5, b"x", "a"], "floats and strings and blobs")],
)
def test_other_mixtures_are_refused(cells: list[Any], names: str) -> None:
    with pytest.raises(PhasescopeError, match=f"Column v of the query mixes {names}"):
        decode(result(["v"], cells))


def test_columns_without_values_and_empty_results() -> None:
    table = decode(result(["a", "b"], [None, 1, None, 2]))
    assert table.schema.types == [pa.null(), pa.int64()]
    assert table.to_pydict() == {"a": [None, None], "b": [1, 2]}
    empty = decode(result(["a", "b"], []))
    assert (empty.num_rows, empty.column_names) == (0, ["a", "b"])
    statement = decode(result([], []))
    assert (statement.num_rows, statement.num_columns) == (0, 0)


def test_columns_may_share_a_name() -> None:
    assert [c.to_pylist() for c in decode(result(["x", "x"], [1, "a"])).columns] == [[1], ["a"]]


def test_bad_utf8_becomes_a_replacement_character() -> None:
    good = result(["s"], ["ab", None, "xyz"])
    table = decode(good.replace(b"xyz", b"x\xff\xfe"))
    assert table["s"].to_pylist() == ["ab", None, "x��"]


def test_an_error_is_raised_even_beside_rows() -> None:
    message = (
        'Traceback (most recent call last):\n  File "stdin" line 1 col 8\n    select foo\n  ^\nno such column: foo'
    )
    with pytest.raises(PhasescopeError, match=r"refused the query: no such column: foo \(line 1, column 8\)$"):
        decode(result(["a"], [1], error=message))
    assert one_line("\n") == "no message"


def test_cells_that_do_not_fit_their_columns_are_refused() -> None:
    with pytest.raises(PhasescopeError, match="3 cells do not fill rows of 2 columns"):
        decode(result(["a", "b"], [1, 2, 3]))
    missing = PROTOS.QueryResult(column_names=["a"])
    missing.batch.add().cells.append(2)
    with pytest.raises(PhasescopeError, match="1 cells of type 2, but 0 values"):
        decode(missing.SerializeToString())


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
COLUMN = st.sampled_from(
    [st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT, st.binary(), st.nothing()]
)


@given(st.data(), st.lists(COLUMN, min_size=1, max_size=4), st.integers(0, 12), st.integers(1, 5))
def test_any_table_comes_back(data: Any, columns: list[Any], rows: int, batch_rows: int) -> None:
    table = [[data.draw(st.one_of(st.none(), column)) for column in columns] for _ in range(rows)]
    batches = [[cell for row in table[i : i + batch_rows] for cell in row] for i in range(0, rows, batch_rows)]
    decoded = decode(result([f"c{i}" for i in range(len(columns))], *batches))
    assert [list(row.values()) for row in decoded.to_pylist()] == table
