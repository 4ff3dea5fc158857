"""The XML reader: positions, references, sentinels, and what it refuses."""

import io

import pytest

from analyze.instruments.ids import IdFault, IdTable
from analyze.instruments.values import Composite, Process, Thread, compose, plain, text_of
from analyze.instruments.xml_rows import Batch, Fault, read_rows
from tests.unit.analyze.instruments_xml import document, node, schema, table

COLUMNS = [("start", "start-time"), ("label", "string"), ("process", "process")]
ROW = (
    '<start-time id="1" fmt="x">5</start-time><string id="2" fmt="a">a</string>'
    '<process id="3" fmt="llm (42)"><pid id="4" fmt="42">42</pid></process>'
)


def rows(data: bytes) -> tuple[list[Batch], list[Fault]]:
    faults: list[Fault] = []
    return list(read_rows(io.BytesIO(data), faults.append)), faults


def cells(data: bytes) -> list[list[object]]:
    batches, faults = rows(data)
    assert faults == []
    return [row for batch in batches for row in batch.rows]


def fault(data: bytes) -> Fault:
    _, faults = rows(data)
    assert len(faults) == 1
    return faults[0]


def test_reference_sentinel_and_nested_id() -> None:
    data = table("t", COLUMNS, [ROW, '<start-time ref="1"/><sentinel/><process ref="3"/>'])
    llm = Process("llm (42)", 42)
    assert cells(data) == [[5, "a", llm], [5, None, llm]]


def test_a_ref_may_point_inside_another_cell() -> None:
    label = (
        '<formatted-label id="2" fmt="Compute 0 ( llm (42) ) 0x9"><string id="3" fmt="Compute 0">Compute 0</string>'
        '<narrative-text id="9" fmt=" "> </narrative-text>'
        '<process id="12" fmt="llm (42)"><pid id="13" fmt="42">42</pid></process>'
        '<metal-encoder-id id="14" fmt="0x9">9</metal-encoder-id></formatted-label>'
    )
    data = table(
        "t",
        [("l", "formatted-label"), ("p", "process"), ("s", "string")],
        [label + '<process ref="12"/><string ref="3"/>'],
    )
    assert cells(data) == [["Compute 0", Process("llm (42)", 42), "Compute 0"]]


def test_second_node_without_schema_goes_on_with_the_first() -> None:
    data = document(
        node(schema("t", COLUMNS) + f"<row>{ROW}</row>", 1),
        node('<row><start-time ref="1"/><string ref="2"/><process ref="3"/></row>', 2),
    )
    batches, faults = rows(data)
    assert faults == []
    assert [(b.schema.name, b.node[-3:], b.run, len(b.rows)) for b in batches] == [
        ("t", "[1]", 1, 1),
        ("t", "[2]", 1, 1),
    ]


def test_node_without_rows_is_told_from_no_node() -> None:
    batches, faults = rows(document(node(schema("t", COLUMNS))))
    assert [len(b.rows) for b in batches] == [0]
    assert faults == []
    assert rows(document()) == ([], [])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('<start-time ref="1"/><process ref="3"/>', "shifted"),
        ('<start-time ref="1"/><string ref="2"/>', "it has 2 cells, and the schema has 3 columns"),
        ('<start-time ref="1"/><string ref="2"/><process ref="3"/><sentinel/>', "it has 4 cells"),
        ('<start-time ref="99"/><string ref="2"/><process ref="3"/>', "ref 99 points to an id"),
        (
            '<start-time ref="2"/><string ref="2"/><process ref="3"/>',
            "<start-time> refers to id 2, which is a <string>",
        ),
        ('<start-time ref="1"/><string id="2">b</string><process ref="3"/>', "id 2 is defined twice"),
        ('<start-time ref="one"/><string ref="2"/><process ref="3"/>', "'one' is not a number"),
        ('<start-time ref="1"/><string ref="2">b</string><process ref="3"/>', "must be empty"),
        ('<start-time ref="1"/><sentinel>b</sentinel><process ref="3"/>', "must be empty"),
        ('<start-time ref="1"/><string id="5" ref="2"/><process ref="3"/>', "an id and a ref at once"),
        ('<start-time ref="1"/>text<string ref="2"/><process ref="3"/>', "stands between the cells"),
        (
            '<start-time ref="1"/><string ref="2"/><process id="5" fmt="p"><process ref="5"/></process>',
            "inside the element",
        ),
    ],
)
def test_a_bad_row_is_a_fault_of_that_row_alone(second: str, message: str) -> None:
    batches, faults = rows(table("t", COLUMNS, [ROW, second, '<start-time ref="1"/><sentinel/><process ref="3"/>']))
    assert [row[1] for batch in batches for row in batch.rows] == ["a", None]
    assert [(f.reason, f.table, f.row, f.rows_lost, f.line) for f in faults] == [("malformed_row", "t", 2, 1, 4)]
    assert message in faults[0].message


def test_ids_of_a_bad_row_still_hold() -> None:
    bad = '<start-time id="7">9</start-time>'
    batches, faults = rows(table("t", COLUMNS, [ROW, bad, '<start-time ref="7"/><sentinel/><sentinel/>']))
    assert len(faults) == 1
    assert [row[0] for batch in batches for row in batch.rows] == [5, 9]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "b">]><trace-query-result/>', "DOCTYPE"),
        (b'<!DOCTYPE r SYSTEM "http://example.invalid/x.dtd"><trace-query-result/>', "DOCTYPE"),
        (b"<trace-query-result>&nbsp;</trace-query-result>", "undefined entity"),
        (b"<html></html>", "the root is <html>"),
        (document(node("<row></row>")), "before any <schema>"),
        (document(node("")), "has no <schema>"),
        (document("<other/>"), "<other> stands inside <trace-query-result>"),
        (document("text"), "'text' stands outside the rows"),
        (document(node('<schema name="t"></schema>')), "lacks its name"),
        (document(node(schema("t", COLUMNS) + schema("u", COLUMNS))), "a second <schema>"),
        (document(node(schema("t", [("a", "")]))), "lacks its name"),
        (document(node(schema("t", [("a", "x")]) + "<row>" + "<x>" * 300 + "</x>" * 300 + "</row>")), "deep"),
        (document(node(schema("t", [("a", "x")]) + '<row><x resident-%="1"/></row>')), "not well-formed"),
    ],
)
def test_a_broken_document_ends_with_its_place(data: bytes, message: str) -> None:
    found = fault(data)
    assert found.reason == "broken_xml"
    assert message in found.message
    assert found.line >= 1
    assert found.column >= 1


def test_rows_before_and_behind_a_break_are_counted() -> None:
    data = table("t", COLUMNS, [ROW, "<start-time>1</string>", "<sentinel/>", "<sentinel/>"])
    batches, faults = rows(data)
    assert sum(len(b.rows) for b in batches) == 1
    assert (faults[0].row, faults[0].rows_lost, faults[0].line) == (2, 3, 4)


def test_any_and_backtrace_columns_take_other_names() -> None:
    data = table(
        "t",
        [("a", "any"), ("b", "backtrace")],
        ['<pmc-event>7</pmc-event><tagged-backtrace><frame name="f" addr="0x1"/><frame name="g"/></tagged-backtrace>'],
    )
    assert [[text_of(v) for v in row] for row in cells(data)] == [["7", "f g"]]  # type: ignore[arg-type]


def test_codes_keep_their_meaning() -> None:
    data = table("t", [("core-index", "core")], ['<core id="1" fmt="CPU 3 (P Core)">3</core>'])
    assert cells(data) == [[Composite("CPU 3 (P Core)", (("core", 3),))]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_marks_newlines_and_encodings(encoding: str, newline: str) -> None:
    text = table("t", COLUMNS, [ROW]).decode().replace("\n", newline).replace("a</string>", "µ</string>")
    assert cells(text.encode(encoding))[0][1] == "µ"


@pytest.mark.parametrize(
    "text", ["0", "7", "-7", "18446744073709551615", "007", "-0", "1.5", "x", "٣", "-", " 1", "9" * 30]
)
def test_plain_numbers_lose_nothing(text: str) -> None:
    assert str(plain(text)) == text


def test_composed_values() -> None:
    inner = compose("process", "llm (42)", [("pid", 42)])
    assert compose("thread", "Main", [("tid", 7), ("process", inner)]) == Thread("Main", 7, Process("llm (42)", 42))
    assert text_of(compose("narrative", None, [("string", "a"), ("sentinel", None), ("string", "b")])) == "a b"
    assert compose("process", None, []) == Process("(None)", None)


def test_ids_out_of_sequence() -> None:
    ids = IdTable()
    for number in ("1", "2", "900000000000", "7"):
        ids.close(ids.open(number, "a"), int(number) * 10)
    assert [ids.get(n, "a") for n in ("1", "2", "7", "900000000000")] == [10, 20, 70, 9000000000000]
    for number in ("3", "4", "5", "0"):
        with pytest.raises(IdFault, match="not defined before"):
            ids.get(number, "a")
    for number in ("2", "7"):
        with pytest.raises(IdFault, match="defined twice"):
            ids.open(number, "a")


def test_ids_hold_numbers_beyond_64_bits() -> None:
    ids = IdTable()
    ids.close(ids.open("1", "a"), 2**64 - 1)
    assert ids.get("1", "a") == 2**64 - 1
