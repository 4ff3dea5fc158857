"""A lake is a store in files: the same answers, on a disk, in memory, on S3; and a cluster may lose its workers."""

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

pytest.importorskip("fsspec", reason="extra `cluster` is not installed")

from analyze import derived
from analyze.commands.load import command
from analyze.errors import PhasescopeError
from analyze.lake.cluster import load_into_lake, load_item, load_on_cluster
from analyze.lake.layout import Lake, address, is_lake
from analyze.lake.sources import find_items
from analyze.lake.write import add_run
from analyze.load import load
from analyze.one_run import Options
from analyze.public import PublicStore
from analyze.query import open_store, query, run_query
from capture.bundle import BundleWriter, Manifest, Model, PassRecord, Workload, write_then_rename


def bundle(folder: Path, n: int) -> Path:
    """A bundle of a clean pass with a prefill and three decode steps, and a profiled pass with a small trace."""
    manifest = Manifest(
        run_id=f"20260101T000000Z-{n:08x}", label=f"run {n}", captured_unix_ns=n, phasescope_version="1",
        model=Model("m", "random", "random"),
        workload=Workload("cpu", "float32", "sdpa", "dynamic", "all", 1, 4, 3, 0, 1, 0),
        passes=[PassRecord("clean"), PassRecord("profiled")],
    )  # fmt: skip
    writer = BundleWriter.create(folder, manifest)
    steps = [
        {"repeat": 0, "phase": "decode" if step else "prefill", "step": step, "start_ns": 1000 * step,
         "dur_ns": 900 + n, "cpu_ns": 800, "tokens": 1, "cached_tokens": 4 + step}
        for step in range(4)
    ]  # fmt: skip
    ranges = [
        {"ph": "X", "cat": "user_annotation", "name": "inference.decode_step" if s["step"] else "inference.prefill",
         "pid": 1, "tid": 1, "ts": s["step"], "dur": 0.9}
        for s in steps
    ]  # fmt: skip
    common = {"ph": "X", "cat": "cpu_op", "name": f"aten::op{n}", "pid": 1, "tid": 1, "dur": 0.5}
    ops = [{**common, "ts": i} for i in range(4)]
    for name in ("clean", "profiled"):
        writer.begin(name)
        with write_then_rename(folder / name / "timings.jsonl") as stream:
            stream.write("".join(json.dumps(step) + "\n" for step in steps).encode())
        if name == "profiled":
            with write_then_rename(folder / name / "trace.json") as stream:
                stream.write(json.dumps({"traceEvents": ranges + ops}).encode())
        writer.record(PassRecord(name, "measured", None))
    return folder


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 bundles."""
    folder = tmp_path_factory.mktemp("sources") / "bundles"
    folder.mkdir()
    for n in range(64):
        bundle(folder / f"b{n:02}", n)
    return folder


def few(bundles: Path, folder: Path, count: int) -> Path:
    folder.mkdir()
    for path in sorted(bundles.iterdir())[:count]:
        shutil.copytree(path, folder / path.name)
    return folder


def views(where: str | Path) -> dict[str, list[tuple[object, ...]]]:
    con = open_store(where)
    try:
        names = [n for (n,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
        tables = ["ops", "phases", "passes", "quality", "claims", *derived.TABLES]
        return {name: sorted(con.execute(f'FROM "{name}"').fetchall(), key=str) for name in {*names, *tables}}
    finally:
        con.close()


def test_a_lake_answers_as_a_store(bundles: Path, tmp_path: Path) -> None:
    folder = few(bundles, tmp_path / "some", 3)
    (folder / "zz.json").write_text("no trace")
    lake, store = tmp_path / "lake", tmp_path / "store.duckdb"
    result = load_into_lake([folder], str(lake))
    assert [run.source for run in result.loaded] == ["b00", "b01", "b02"]
    assert len(result.failed) == 1
    assert str(result.failed[0]).startswith("zz.json: ")
    load([folder], store)
    from_store, from_lake = views(store), views(lake)
    assert from_store["phase_breakdown"]
    assert len(from_store["ops"]) == 3 * 8
    for name, rows in from_store.items():
        assert from_lake[name] == rows, name
    again = load_into_lake([folder], str(lake))
    assert [run.already for run in again.loaded] == [True] * 3
    with PublicStore(lake) as public, public.run(*public.ids.values()) as con:
        assert con.execute("SELECT count(*) FROM ops").fetchall() == [(24,)]


def test_opening_a_lake_reads_no_rows(bundles: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    load_into_lake([few(bundles, tmp_path / "some", 2)], str(lake))
    *_, last = sorted(lake.glob("claims/*/*.parquet"))
    last.write_bytes(b"unreadable")
    con = open_store(lake)
    assert con.execute("SELECT count(*) FROM runs").fetchall() == [(2,)]
    assert con.execute("SELECT count(DISTINCT run_id) FROM step_latency").fetchall() == [(2,)]
    with pytest.raises(duckdb.Error):
        con.execute("SELECT count(*) FROM claims").fetchall()
    con.close()


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{lake}/x.csv'", "COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)", "ATTACH '{lake}/x.db'",
        "CREATE TABLE x AS SELECT 1", "DELETE FROM phases", "SELECT 1; DROP TABLE phases", "SET allowed_paths = ['/']",
        "SELECT * FROM read_text('{outside}')", "SELECT * FROM glob('{lake}/**')",
        "SELECT * FROM read_parquet('{orphan}')", "INSTALL httpfs", "PREPARE p AS SELECT 1",
    ],
)  # fmt: skip
def test_a_query_of_a_lake_reaches_its_files_only_and_changes_nothing(
    lake_of_one: Path, tmp_path: Path, sql: str
) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    file = next(lake_of_one.glob("ops/*/*.parquet"))
    orphan = file.with_name("orphan.parquet")
    if not orphan.exists():
        shutil.copy(file, orphan)
    before = {path: path.read_bytes() for path in lake_of_one.rglob("*") if path.is_file()}
    text = sql.format(lake=lake_of_one, file=file, outside=outside, orphan=orphan)
    with pytest.raises(PhasescopeError, match=r"read-only|cannot reach"), run_query(lake_of_one, text) as con:
        con.fetchall()
    assert {path: path.read_bytes() for path in lake_of_one.rglob("*") if path.is_file()} == before
    assert query("EXPLAIN SELECT * FROM ops", lake_of_one)


@pytest.fixture(scope="module")
def lake_of_one(bundles: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("one") / "lake"
    load_into_lake([bundles / "b00"], str(lake))
    return lake


def test_a_run_appears_with_its_marker_and_a_slower_attempt_gives_way(bundles: Path, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    (item,) = find_items(str(bundles / "b00"))
    store = tmp_path / "s.duckdb"
    (loaded,) = load([bundles / "b00"], store).loaded
    mark = Lake.mark

    def mark_after_another(self: Lake, marker: object) -> None:
        """Everything is written but the marker: readers see no run. Then another attempt comes first."""
        assert list(Path(lake.root).glob("ops/*/*.parquet"))
        con = open_store(lake.url)
        assert con.execute("SELECT count(*) FROM ops").fetchall() == [(0,)]
        con.close()
        mark(self, marker)  # type: ignore[arg-type]

    Lake.mark = mark_after_another  # type: ignore[method-assign]
    try:
        first = add_run(lake, store, loaded, item)
    finally:
        Lake.mark = mark  # type: ignore[method-assign]
    files = set(Path(lake.root).rglob("*.parquet"))
    # The second attempt began before the first had marked, and looks again before it marks.
    answers = iter([None, first])
    seen = Lake.marker
    Lake.marker = lambda self, run_id: next(answers)  # type: ignore[method-assign]
    try:
        assert add_run(lake, store, loaded, item) == first
    finally:
        Lake.marker = seen  # type: ignore[method-assign]
    assert set(Path(lake.root).rglob("*.parquet")) == files
    assert len(views(lake.url)["ops"]) == 8


def test_other_bytes_of_the_same_run_are_refused(bundles: Path, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    load_into_lake([bundles / "b00"], lake)
    other = bundle(tmp_path / "b00", 0)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "label": "another"}))
    result = load_into_lake([other], lake)
    assert "the lake holds another bundle of run 20260101T000000Z-00000000" in str(result.failed[0])


def test_the_same_bytes_under_two_names_are_one_run(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":2}]')
    result = load_into_lake([tmp_path / "a.json", tmp_path / "b.json"], str(tmp_path / "lake"))
    assert len(result.loaded) == 2
    con = open_store(tmp_path / "lake")
    assert con.execute("SELECT source FROM runs").fetchall() == [("a.json",)]
    assert con.execute("SELECT count(*) FROM ops").fetchall() == [(1,)]
    con.close()


def test_addresses(tmp_path: Path) -> None:
    assert address(Path("s3://bucket/lake")) == "s3://bucket/lake"
    assert is_lake("memory://x")
    assert not is_lake("C:/x")
    assert not is_lake(tmp_path)
    with pytest.raises(PhasescopeError, match="no lake there; make one with"):
        open_store(f"memory://{tmp_path.name}")
    with pytest.raises(PhasescopeError, match="this address cannot be used"):
        open_store("nonsense://x/y")


def test_a_lake_in_memory(bundles: Path, tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/lake"
    load_into_lake([bundles / "b00"], url)
    assert len(views(url)["ops"]) == 8
    with pytest.raises(PhasescopeError, match="cannot reach"):
        query("FROM read_text('/etc/hostname')", url)


def test_s3(bundles: Path, tmp_path: Path, s3: str) -> None:
    """Sources and lake in a bucket of a real server; the answers are those of a store."""
    import fsspec

    folder = few(bundles, tmp_path / "some", 2)
    fsspec.filesystem("s3").put(str(folder), "traces/in", recursive=True)
    result = load_into_lake(["s3://traces/in"], "s3://traces/lake")
    assert not result.failed
    assert len(result.loaded) == 2
    store = tmp_path / "s.duckdb"
    load([folder], store)
    from_store, from_lake = views(store), views("s3://traces/lake")
    assert from_lake["phase_breakdown"] == from_store["phase_breakdown"]
    assert from_lake["ops"] == from_store["ops"]
    assert [run.already for run in load_into_lake(["s3://traces/in"], "s3://traces/lake").loaded] == [True] * 2


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    pytest.importorskip("s3fs", reason="extra `cluster` is not installed")
    import fsspec

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir("traces")
    yield f"http://{host}:{port}"
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


def test_a_cluster_that_loses_a_worker_loses_and_doubles_nothing(bundles: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="extra `cluster` is not installed")
    lake = tmp_path / "lake"
    killed: list[int] = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, worker_class=distributed.Nanny
    ) as cluster:
        pids = {worker.worker_address: worker.pid for worker in cluster.workers.values()}

        def kill_one() -> None:
            """In the middle of the work, when some runs are complete and others have begun."""
            while len(list(lake.glob("_runs/*.json"))) < 8:
                time.sleep(0.01)
            pid = next(iter(pids.values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        result = load_on_cluster([bundles], str(lake), cluster.scheduler_address)
        thread.join()
        assert killed
        assert result.failed == []
        assert len({run.run_id for run in result.loaded}) == len(result.loaded) == 64
        con = open_store(lake)
        assert con.execute("SELECT count(*), count(DISTINCT run_id), sum(loaded_events) FROM runs").fetchall() == [
            (64, 64, 64 * 8)
        ]
        assert con.execute("SELECT run_id, count(*) FROM ops GROUP BY ALL HAVING count(*) <> 8").fetchall() == []
        assert con.execute("SELECT count(*) FROM phases WHERE pass = 'clean'").fetchall() == [(256,)]
        con.close()
        # A second go does only what is missing.
        gone = sorted(lake.glob("_runs/*.json"))[:2]
        for path in gone:
            path.unlink()
        again = load_on_cluster([bundles], str(lake), cluster.scheduler_address)
        assert sorted(run.already for run in again.loaded) == [False] * 2 + [True] * 62


def test_no_scheduler(tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="extra `cluster` is not installed")
    monkeypatch.setattr("analyze.lake.cluster._ANSWER_S", 0.5)
    with pytest.raises(PhasescopeError, match="no Dask scheduler answers there"):
        load_on_cluster([bundles], str(tmp_path / "lake"), "tcp://127.0.0.1:1")


def test_an_item_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[1, 2")
    Lake(str(tmp_path / "lake")).create()
    (item,) = find_items(str(tmp_path / "bad.json"))
    (outcome,) = load_item(item, str(tmp_path / "lake"), Options(strict=True))
    assert isinstance(outcome, PhasescopeError)
    assert "bad.json" in str(outcome)


def test_a_file_is_no_lake_and_one_place_is_enough(tmp_path: Path) -> None:
    trace, file = tmp_path / "a.json", tmp_path / "phases.duckdb"
    trace.write_text('[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":2}]')
    file.write_bytes(b"")
    with pytest.raises(PhasescopeError) as failure:
        load_into_lake([trace], str(file))
    assert str(failure.value) == (
        f"{file}: a file, and a lake is a folder; name another with --lake, or a store with --store"
    )
    both = CliRunner().invoke(command, [str(trace), "--lake", str(tmp_path / "lake"), "--store", str(file)])
    assert both.exit_code == 2
    assert both.output.splitlines()[-1] == "Error: --lake and --store are two places to load into: name one."
    assert not (tmp_path / "lake").exists()
