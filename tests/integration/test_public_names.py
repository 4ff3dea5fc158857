"""What is public keeps its name, is documented, and starts quickly enough to import nothing heavy."""

import json
import subprocess
import sys
from pathlib import Path

import click
import duckdb
import pytest

import phasescope
from analyze.store import writable_store

COMMANDS = [
    "capture", "compare", "demo", "doctor", "export", "load", "publish", "query", "report", "runs", "sweep", "tables",
    "view",
]  # fmt: skip
TABLES = {
    "runs": "run_id label source source_sha256 model weights device device_name dtype batch_size prompt_tokens "
    "new_tokens raw_events loaded_events excluded_events",
    "passes": "run_id pass status reason",
    "phases": "run_id pass repeat phase step start_ns dur_ns tokens cached_tokens source",
    "ops": "run_id op_id parent_id depth thread_id name category start_ns dur_ns self_ns phase step shapes",
    "kernels": "run_id kernel_id name kind device stream start_ns dur_ns correlation_id launch_op_id phase step "
    "attributed_by",
    "samples": "run_id pass phase step kv_cache_bytes tensor_bytes driver_bytes resident_bytes footprint_bytes "
    "process_cpu_percent",
    "counters": "run_id track t_ns value unit",
    "quality": "run_id reason kind events detail",
    "claims": "run_id claim verdict evidence numbers sql settled_by",
    "kv_check": "run_id phase step cached_tokens measured_bytes computed_bytes verdict",
}
VIEWS = (
    "phase_breakdown step_latency kv_check op_summary kernel_summary device_idle launches memory_timeline "
    "roofline coverage"
)


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str | None]]:
    """Comment of every column of every table and view of an empty store."""
    path = tmp_path_factory.mktemp("store") / "s.duckdb"
    with writable_store(path) as con:
        rows = con.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal AND schema_name = 'main'"
        ).fetchall()
        relations = con.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal UNION ALL "
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
        ).fetchall()
    found: dict[str, dict[str, str | None]] = {name: {"": comment} for name, comment in relations}
    for table, column, comment in rows:
        found[table][column] = comment
    return found


def test_every_table_view_and_column_is_documented(columns: dict[str, dict[str, str | None]]) -> None:
    missing = [f"{table}.{column}" for table, each in columns.items() for column, text in each.items() if not text]
    assert missing == []


@pytest.mark.parametrize("table", TABLES)
def test_public_columns(columns: dict[str, dict[str, str | None]], table: str) -> None:
    assert set(TABLES[table].split()) <= set(columns[table])


def test_public_views(columns: dict[str, dict[str, str | None]]) -> None:
    assert set(VIEWS.split()) <= set(columns)


def test_an_empty_store_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with writable_store(path) as con:
        assert con.execute("SELECT count(*) FROM runs").fetchall() == [(0,)]
    assert not path.exists()


def test_views_and_derived_rows_are_brought_to_this_version(tmp_path: Path) -> None:
    """A store that an older version made gets today's views and derived rows when something is loaded."""
    path = tmp_path / "s.duckdb"
    trace = tmp_path / "t.json"
    trace.write_text(json.dumps([{"ph": "X", "name": "a", "ts": 1, "dur": 1}]))
    phasescope.load([trace], path)
    con = duckdb.connect(str(path))
    con.execute("DROP VIEW coverage CASCADE")
    con.execute("CREATE VIEW coverage AS SELECT 1 AS old")
    con.execute("UPDATE phase_breakdown SET wall_ns = 7")
    con.execute("DROP TABLE step_audit")
    con.execute("CREATE VIEW step_audit AS SELECT 1 AS old")  # what is a table now was a view once
    con.execute("DROP TABLE time_budget")
    con.execute("UPDATE store_info SET value = 'older' WHERE key = 'views_sha256'")
    con.close()
    phasescope.load([trace], path)
    con = duckdb.connect(str(path), read_only=True)
    assert "attributed_by" in [row[0] for row in con.execute("DESCRIBE coverage").fetchall()]
    assert con.execute("SELECT wall_ns, operators FROM phase_breakdown").fetchall() == [(1000, 1)]
    assert con.execute("SELECT part, ns FROM time_budget").fetchall() == [("other", 1000)]
    assert con.execute("SELECT count(verdict) FROM step_audit").fetchall() == [(0,)]
    con.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_a_python_twin(name: str) -> None:
    command = phasescope.cli.get_command(click.Context(phasescope.cli), name)
    assert command is not None
    assert command.name == name
    text = command.get_help(click.Context(command))
    assert f"phasescope {name}" in text, "the help has an example"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"
    assert callable(getattr(phasescope, name))


def test_commands_are_listed_with_one_line_each() -> None:
    assert phasescope.cli.list_commands(click.Context(phasescope.cli)) == COMMANDS


def modules_after(*args: str) -> set[str]:
    code = (
        "import sys, phasescope\n"
        f"sys.argv = ['phasescope', *{list(args)!r}]\n"
        "try: phasescope.main()\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.split())


def test_help_imports_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "duckdb", "pyarrow", "numpy", "wasmtime", "altair", "perfetto", "jinja2", "scipy"}
    assert not heavy & modules_after("--help")
    for name in COMMANDS:
        assert not heavy & modules_after(name, "--help"), name


def test_the_analyzer_runs_without_torch(tmp_path: Path) -> None:
    """With torch and transformers made unimportable, a trace loads, answers and reports."""
    trace = tmp_path / "t.json"
    trace.write_text(json.dumps([{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]))
    code = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import phasescope\n"
        f"phasescope.load([{str(trace)!r}], {str(tmp_path / 's.duckdb')!r})\n"
        f"print(phasescope.query('SELECT name FROM ops', {str(tmp_path / 's.duckdb')!r}, format_='csv'))\n"
        f"phasescope.report({str(tmp_path / 's.duckdb')!r}, None, {str(tmp_path / 'r.html')!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["name", "a"]
    assert (tmp_path / "r.html").stat().st_size > 1000
