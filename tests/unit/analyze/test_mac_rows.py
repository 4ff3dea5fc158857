"""Passes opstats and energy of a bundle, in the store."""

import json
from pathlib import Path

import duckdb

import phasescope
from analyze.mac_rows import opstats_rows
from capture.bundle import BundleWriter, Manifest, Model, PassRecord, Workload
from capture.opstats_tables import read_tables

OPSTATS = {
    "operations": [
        {"id": "K2", "kind": "kernel", "runs": 4, "mean_schedule_ms": 0.1, "mean_gpu_ms": 0.001, "total_gpu_ms": 0.004,
         "name": "aten::add"},
        {"id": "K3", "kind": "kernel", "runs": 0, "mean_schedule_ms": 0.0, "mean_gpu_ms": None,
         "total_gpu_ms": None, "name": "aten::never"},
        {"id": "G1", "kind": "graph", "runs": 8, "mean_schedule_ms": 0.2, "mean_gpu_ms": 0.123, "total_gpu_ms": 0.984,
         "name": "aten::mm:MPS:Half[1,576]"},
    ],
    "fallbacks": None,
    "copies": [
        {"kind": "MPS to CPU", "copies": 3, "bytes_approximate": 12, "total_schedule_ms": 0.5, "total_gpu_ms": 0.25,
         "scalars": 3, "blocking": 3, "memcpy": 0},
    ],
}  # fmt: skip
ENERGY = {
    "windows": [
        {"name": "generation", "runs": 4, "dur_ns": 5_000_000_000, "energy_mj": {"gpu_mj": 9000.0, "gpu_sram_mj": None}}
    ],
    "decode_derived": {"gpu_mj": 1800.5, "gpu_sram_mj": None},
}


def bundle(folder: Path) -> Path:
    workload = Workload("mps", "float16", "sdpa", "dynamic", "all", 1, 8, 2, 0, 1, 0)
    writer = BundleWriter.create(folder, Manifest("run", None, 0, "0.1.0", Model("tiny", "random", "random"), workload))
    for name, content in (("opstats", OPSTATS), ("energy", ENERGY)):
        (folder / name).mkdir()
        (folder / name / f"{name}.json").write_text(json.dumps(content))
        writer.record(PassRecord(name, "measured", None))
    return folder


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(sql).fetchall()


def test_a_bundle_brings_its_ranking_and_its_energy(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    assert phasescope.load([bundle(tmp_path / "b")], store).failed == []
    assert rows(store, "SELECT pass, place, name, kind, operator_id, runs, total_gpu_ns FROM mps_operators") == [
        ("opstats", 1, "aten::mm:MPS:Half[1,576]", "graph", "G1", 8, 984_000),
        ("opstats", 2, "aten::add", "kernel", "K2", 4, 4_000),
        ("opstats", 3, "aten::never", "kernel", "K3", 0, None),
    ]
    assert rows(store, "SELECT count(*) FROM mps_fallbacks") == [(0,)]
    assert rows(store, "SELECT kind, copies, bytes_approximate, total_gpu_ns, blocking FROM mps_copies") == [
        ("MPS to CPU", 3, 12, 250_000, 3)
    ]
    assert rows(store, "SELECT pass, work, counter, runs, dur_ns, energy_mj, derived FROM energy ORDER BY ALL") == [
        ("energy", "decode", "gpu", 1, None, 1800.5, True),
        ("energy", "decode", "gpu_sram", 1, None, None, True),
        ("energy", "generation", "gpu", 4, 5_000_000_000, 9000.0, False),
        ("energy", "generation", "gpu_sram", 4, 5_000_000_000, None, False),
    ]


def test_what_pytorch_printed_of_nothing() -> None:
    tables = opstats_rows(read_tables("There are no copies logged for profiling"))
    assert {name: table.num_rows for name, table in tables.items()} == {
        "mps_operators": 0, "mps_fallbacks": 0, "mps_copies": 0,
    }  # fmt: skip
