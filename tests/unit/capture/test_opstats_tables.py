"""PyTorch's MPS tables, laid out as MPSProfiler.mm prints them (made up: no Mac printed these)."""

import json

from capture.opstats_tables import read_tables


def centred(text: str, width: int, fill: str = " ") -> str:
    """fmt's {:^width}, which puts the odd blank to the right, as str.center here does for these widths."""
    left = (width - len(text)) // 2
    return fill * max(0, left) + text + fill * max(0, width - len(text) - left)


def operations(rows: list[tuple[str, int, str, str, str, str]]) -> str:
    names = ("ID", "#Runs", "Mean KRNL(ms)", "Mean GPU(ms)", "Total GPU(ms)")
    head = "|".join(centred(n, w) for n, w in zip(names, (6, 7, 15, 14, 15), strict=True)) + "| Operation Name"
    body = [
        "".join(centred(str(v), w) for v, w in zip(row[:5], (7, 8, 16, 15, 16), strict=True)) + " " + row[5]
        for row in rows
    ]
    title = centred(" MPS Operations Profiling: 2 graphs, 1 kernels ", 200, "-")
    return "\n".join(["", title, head, "-" * 200, *body, ""])


OPS = [
    ("G1", 31, "0.011", "1.234", "38.254", "mm:MPS:Half[1,896],MPS:Half[896,4864]"),
    ("K2", 1024, "0.002", "0.100", "102.400", "sdpa_vector (2-pass), float16"),
    ("G3", 1, "0.000", "nan", "0.000", "copy"),
]
FALLBACKS = (
    "\n" + centred(" CPU Fallback Profiling: Total 3 Runs, 4.50 ms, 12.00 KB Copies ", 150, "-")
    + "\n  ID | #Runs | Mean CPU(ms) | Total CPU(ms) | Copy Overhead | Operation Name\n" + "-" * 150
    + "\n  1      3         1.500           4.500         12.00 KB      aten::isin.Tensor_Tensor_out\n"
)  # fmt: skip
COPIES = (
    "\n" + centred(" MPS Copy Profiling: 35 total copies (2.50 MB), 31 scalar copies ", 160, "-")
    + "\n    Kind    |  Total#  |   Total Size    | Total KRNL(ms) | Total GPU(ms) | Scalars | Scalars GPU "
    + "| Blocking | memcpy \n"
    + "-" * 160
    + "\n MPS to CPU      32         248 bytes          0.100           0.640          31 "
    + "      96.88 %       32        0    "
    + "\n CPU to MPS      3           2.50 MB           0.000           0.900           0 "
    + "       0.00 %        1        2    \n"
)  # fmt: skip


def test_all_three_tables() -> None:
    tables = read_tables("loading\n" + operations(OPS) + FALLBACKS + COPIES + "bye\n")
    assert tables["operations"] is not None
    assert tables["operations"][2]["mean_gpu_ms"] is None  # nan, which JSON does not have
    assert json.loads(json.dumps(tables, allow_nan=False)) == tables
    assert [(*tuple(row.values())[:3], row["total_gpu_ms"], row["name"]) for row in tables["operations"]] == [
        ("G1", "graph", 31, 38.254, "mm:MPS:Half[1,896],MPS:Half[896,4864]"),
        ("K2", "kernel", 1024, 102.4, "sdpa_vector (2-pass), float16"),
        ("G3", "graph", 1, 0.0, "copy"),
    ]
    assert tables["fallbacks"] == [
        {
            "id": "1",
            "runs": 3,
            "mean_cpu_ms": 1.5,
            "total_cpu_ms": 4.5,
            "copy_bytes_approximate": 12_288,
            "name": "aten::isin.Tensor_Tensor_out",
        }
    ]
    assert tables["copies"] is not None
    assert [(row["kind"], row["copies"], row["bytes_approximate"], row["blocking"]) for row in tables["copies"]] == [
        ("MPS to CPU", 32, 248, 32),
        ("CPU to MPS", 3, 2_621_440, 1),
    ]


def test_nothing_to_say_is_not_the_same_as_not_said() -> None:
    text = (
        "There are no MPS operations logged for profiling\nThere are no CPU Fallbacks logged for profiling\n"
        "There are no copies logged for profiling\n"
    )
    assert read_tables(text) == {"operations": [], "fallbacks": [], "copies": []}
    assert read_tables("anything else") == {"operations": None, "fallbacks": None, "copies": None}


def test_lines_that_are_no_rows_are_left_out() -> None:
    text = operations(OPS[:1]).rstrip("\n") + "\nwarning: command buffer exited with error status\n"
    tables = read_tables(text)
    assert tables["operations"] is not None
    assert len(tables["operations"]) == 1
