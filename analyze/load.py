"""Loading: sources to runs in the store, one after another or by processes; those that fail cost no other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from analyze import parallel
from analyze.engines import warm_up
from analyze.errors import PhasescopeError
from analyze.grammars import load_grammar
from analyze.one_run import Loaded, Options, known_run, load_group, source_sha256
from analyze.progress import WatchedStream, announcement
from analyze.sniff import Source, sniff
from analyze.store import writable_store

Progress = Callable[[str], None]


@dataclass
class LoadResult:
    """The runs that came in, and a sentence for each source that did not."""

    loaded: list[Loaded] = field(default_factory=list)
    failed: list[PhasescopeError] = field(default_factory=list)


def load(
    sources: Sequence[str | Path],
    store: str | Path = "phases.duckdb",
    *,
    options: Options | None = None,
    one_run: bool = False,
    jobs: int | None = 1,
    progress: Progress = lambda text: None,
) -> LoadResult:
    """Load bundles, traces and exports; each source is a run, or all of them are the ranks of one (`one_run`).

    Sources that fail are named in the result, the others are in. A run is in the store whole or not at all; the
    same bytes are recognised and not loaded again. `jobs` traces are loaded at once, each by a process of its own (a
    script that asks for more than one needs `if __name__ == "__main__":`); None: as many as pay. Raises
    PhasescopeError where the store or the rules are bad.
    """
    options = options or Options()
    grammar = load_grammar(options.rules)
    result = LoadResult()
    groups = find_groups(sources, result, one_run=one_run)
    with writable_store(Path(store)) as con:
        tasks = [parallel.Task.of(group) for group in groups]
        jobs = parallel.default_jobs(tasks) if jobs is None else jobs
        if jobs > 1 and len(tasks) > 1:
            _load_by_processes(con, groups, tasks, jobs, options, result, progress)
            return result
        warm_up(options.engine, options.trace_processor)
        for group, task in zip(groups, tasks, strict=True):
            progress(announcement(", ".join(task.names), task.raw_bytes))
            group = [_watched(source, progress) for source in group]
            try:
                loaded = load_group(con, group, grammar, options)
                result.loaded.append(loaded)
                result.failed.extend(loaded.failures)
            except PhasescopeError as error:
                result.failed.append(error)
            except OSError as error:
                result.failed.append(_vanished(task, error))
    return result


def _vanished(task: parallel.Task, error: OSError) -> PhasescopeError:
    """It was there when the sources were looked for."""
    return PhasescopeError(f"{', '.join(task.names)}: cannot be read ({error})")


def _watched(source: Source, progress: Progress) -> Source:
    """The source, saying how much of it was read."""
    if source.kind == "bundle":
        return source
    total = parallel.raw_bytes(source.path)
    return replace(source, open=lambda: WatchedStream(source.open(), source.name, total, progress))  # type: ignore[arg-type,return-value]


def find_groups(sources: Sequence[str | Path], result: LoadResult, *, one_run: bool = False) -> list[list[Source]]:
    """The sources at these paths, those of one run together; what is no source goes to `result.failed`."""
    groups: list[list[Source]] = []
    for path in sources:
        try:
            groups.extend([found] for found in sniff(Path(path)))
        except PhasescopeError as error:
            result.failed.append(error)
    if one_run and result.failed:
        return []  # a run is here whole or not at all
    if one_run:
        groups = [[source for group in groups for source in group]]
    return _instruments_together(groups)


def _instruments_together(groups: list[list[Source]]) -> list[list[Source]]:
    """Exported tables of one folder are one recording."""
    together: dict[Path, list[Source]] = {}
    out = []
    for group in groups:
        if len(group) == 1 and group[0].kind == "instruments":
            together.setdefault(group[0].path.parent, []).append(group[0])
        else:
            out.append(group)
    return out + list(together.values())


def _load_by_processes(
    con: duckdb.DuckDBPyConnection,
    groups: list[list[Source]],
    tasks: list[parallel.Task],
    jobs: int,
    options: Options,
    result: LoadResult,
    progress: Progress,
) -> None:
    outcomes: dict[int, Loaded | PhasescopeError] = {}
    missing = []
    for i, group in enumerate(groups):
        try:
            known = known_run(con, source_sha256(group), options)
        except PhasescopeError as error:
            outcomes[i] = error
            continue
        except OSError as error:
            outcomes[i] = _vanished(tasks[i], error)
            continue
        if known:
            outcomes[i] = known
        else:
            missing.append(i)

    def done(n: int, store: Path, outcome: Loaded | PhasescopeError) -> None:
        i = missing[n]
        if isinstance(outcome, Loaded):
            try:
                # The same bytes may stand in the folder twice.
                known = known_run(con, outcome.source_sha256, options)
                if known is None:
                    parallel.join(con, store, outcome)
                outcomes[i] = known or outcome
            except PhasescopeError as error:
                outcomes[i] = error
        else:
            outcomes[i] = outcome

    parallel.load_tasks([tasks[i] for i in missing], jobs, options, done, progress=progress)
    for i in sorted(outcomes):
        outcome = outcomes[i]
        if isinstance(outcome, Loaded):
            result.loaded.append(outcome)
            result.failed.extend(outcome.failures)
        else:
            result.failed.append(outcome)
