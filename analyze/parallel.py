"""Many traces at once: each is loaded by another process into a store of its own, which then joins the common one.

A process that dies takes its trace with it and no other. Runs join in the order of their sources, each in one
transaction, whatever the order in which they were ready.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import duckdb

from analyze.errors import PhasescopeError
from analyze.grammars import load_grammar
from analyze.one_run import Loaded, Options, load_group
from analyze.sniff import Source, sniff
from analyze.store import scalar, transaction, writable_store

# Peak memory of a load over its raw trace, and beside it, as `python -m tests.benchmarks load growth` measures them.
_MEMORY_OVER_RAW = 5
_MEMORY_BESIDE_BYTES = 300 << 20
# What a load with arguments on disk holds at most.
_MEMORY_MOST_BYTES = 4 << 30
# Text of a trace over its gzip.
_RAW_OVER_GZIP = 12
# Below this one process is done before others have started.
WORTH_PROCESSES_BYTES = 24 << 20


@dataclass(frozen=True)
class Task:
    """Sources of one run, in a form that another process understands."""

    names: tuple[str, ...]
    paths: tuple[str, ...]
    memory_bytes: int
    raw_bytes: int = 0

    @classmethod
    def of(cls, group: Sequence[Source]) -> Task:
        """The task that loads `group`."""
        paths = tuple(dict.fromkeys(str(source.path) for source in group))
        raw = sum(raw_bytes(Path(path)) for path in paths)
        memory = min(_MEMORY_OVER_RAW * raw, _MEMORY_MOST_BYTES) + _MEMORY_BESIDE_BYTES
        return cls(tuple(source.name for source in group), paths, memory, raw)

    def sources(self) -> list[Source]:
        """The sources, found again."""
        found = [source for path in self.paths for source in sniff(Path(path))]
        return [source for source in found if source.name in self.names] or found


def raw_bytes(path: Path) -> int:
    """About the bytes of a trace or bundle without compression."""
    if path.is_dir():
        return sum(raw_bytes(entry) for entry in path.iterdir())
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            packed = file.read(2) in (b"\x1f\x8b", b"PK")
    except OSError:
        return 0
    return size * _RAW_OVER_GZIP if packed else size


def default_jobs(tasks: Sequence[Task]) -> int:
    """Processes for these tasks: one a core, and one where the traces are few or small."""
    work = sum(task.raw_bytes for task in tasks)
    return 1 if work < WORTH_PROCESSES_BYTES else min(_cores(), len(tasks))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_budget_bytes() -> int:
    """Memory that all loads together may take: most of what is free, within the control group's limit."""
    page = os.sysconf("SC_PAGE_SIZE")
    free = page * os.sysconf("SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES")
    try:  # Linux counts files that it could forget as used; MemAvailable does not
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
        free = min(free, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, StopIteration, ValueError):
        pass
    return free * 3 // 4


def load_tasks(
    tasks: Sequence[Task],
    jobs: int,
    options: Options,
    done: Callable[[int, Path, Loaded | PhasescopeError], None],
    *,
    progress: Callable[[str], None] = lambda text: None,
) -> None:
    """Load each task into a store of its own, `jobs` at a time; `done(index, store, what)` comes in order of index.

    The store is gone when `done` returns. Raises nothing of a task: a PhasescopeError is handed to `done`.
    """
    with tempfile.TemporaryDirectory(prefix="phasescope-") as folder:
        pool = _Pool(Path(folder), jobs, options)
        try:
            ready: dict[int, Loaded | PhasescopeError] = {}
            waiting, next_one = list(enumerate(tasks)), 0
            while next_one < len(tasks):
                while waiting and pool.takes(waiting[0][1]):
                    index, task = waiting.pop(0)
                    progress(f"loading {', '.join(task.names)} ({index + 1} of {len(tasks)})")
                    pool.start(index, task)
                ready.update(pool.finished())
                while next_one in ready:
                    store = pool.store_of(next_one)
                    done(next_one, store, ready.pop(next_one))
                    store.unlink(missing_ok=True)
                    next_one += 1
        finally:
            pool.stop()


def join(con: duckdb.DuckDBPyConnection, store: Path, loaded: Loaded) -> None:
    """Bring the one run of `store` into the open store, in one transaction."""
    if scalar(con, "SELECT count(*) FROM runs WHERE run_id = ?", [loaded.run_id]):
        raise PhasescopeError(
            f"{loaded.source}: the store holds another bundle of run {loaded.run_id} (a fuller or an emptier copy); "
            "load this one into a new store with --store"
        )
    con.execute(f"ATTACH '{str(store).replace(chr(39), 2 * chr(39))}' AS part (READ_ONLY)")
    try:
        with transaction(con, loaded.source):
            for table in run_tables(con):
                now = f" REPLACE ({time.time_ns()} AS loaded_unix_ns)" if table == "runs" else ""
                con.execute(f'INSERT INTO main."{table}" BY NAME SELECT *{now} FROM part."{table}"')
    finally:
        con.execute("DETACH part")


def run_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables whose rows belong to runs."""
    rows = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() "
        "AND table_name IN (SELECT table_name FROM duckdb_columns() WHERE column_name = 'run_id') ORDER BY 1"
    ).fetchall()
    return [name for (name,) in rows]


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    index: int | None = None
    task: Task | None = None


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """A process that is started here never hears Ctrl-C, which a terminal sends to all: this one hears it for them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class _Pool:
    folder: Path
    jobs: int
    options: Options
    budget_bytes: int = field(default_factory=memory_budget_bytes)
    workers: list[_Worker] = field(default_factory=list)

    def store_of(self, index: int) -> Path:
        return self.folder / f"{index}.duckdb"

    def takes(self, task: Task) -> bool:
        """Whether a process and memory are free for it; the only task may always run."""
        busy = [worker.task for worker in self.workers if worker.task is not None]
        used = sum(running.memory_bytes for running in busy)
        return not busy or (len(busy) < self.jobs and used + task.memory_bytes <= self.budget_bytes)

    def start(self, index: int, task: Task) -> None:
        worker = next((worker for worker in self.workers if worker.task is None), None) or self._new()
        worker.index, worker.task = index, task
        worker.pipe.send((task, self.store_of(index)))

    def _new(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        threads = max(1, _cores() // self.jobs)
        process = context.Process(target=_work, args=(theirs, self.options, threads), daemon=True)
        with _without_ctrl_c():
            process.start()
        theirs.close()
        self.workers.append(_Worker(process, ours))
        return self.workers[-1]

    def finished(self) -> dict[int, Loaded | PhasescopeError]:
        """Wait until at least one task has ended, and say how; a process that died has ended its task."""
        running = {worker.pipe: worker for worker in self.workers if worker.task is not None}
        ended: dict[int, Loaded | PhasescopeError] = {}
        for pipe in wait(list(running)):
            worker = running[pipe]  # type: ignore[index]
            assert worker.index is not None
            assert worker.task is not None
            try:
                ended[worker.index] = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.join()
                ended[worker.index] = PhasescopeError(
                    f"{', '.join(worker.task.names)}: the process that loaded it ended with code "
                    f"{worker.process.exitcode} (-9: most likely out of memory); load it alone with --jobs 1"
                )
                self.workers.remove(worker)
            worker.index = worker.task = None
        return ended

    def stop(self) -> None:
        for worker in self.workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join()


def _work(pipe: Connection, options: Options, threads: int) -> None:
    """What a process does: tasks from the pipe, one after another, until it is closed."""
    while True:
        try:
            task, store = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: Loaded | PhasescopeError = load_task(task, store, options, threads)
        except PhasescopeError as error:
            answer = error
        except Exception as error:  # a fault of ours must cost one trace, not the others
            answer = PhasescopeError(f"{', '.join(task.names)}: {type(error).__name__}: {error}")
        pipe.send(answer)


def load_task(task: Task, store: Path, options: Options, threads: int = 1) -> Loaded:
    """Load one task into the new store `store`."""
    with writable_store(store) as con:
        con.execute(f"SET threads = {threads}")
        return load_group(con, task.sources(), load_grammar(options.rules), options)
