"""Loading into a lake: in this process, or by the workers of a Dask cluster.

A worker that is lost loses what it had begun; Dask gives its traces to others. One that had finished has left its
marker, which whoever does it again finds, so that nothing is there twice. A second go finds the markers, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from analyze.errors import PhasescopeError
from analyze.lake.layout import Lake, Marker
from analyze.lake.sources import Item, fetch, find_items
from analyze.lake.write import add_run
from analyze.load import LoadResult
from analyze.one_run import Loaded, Options
from analyze.parallel import Task, load_task
from analyze.sniff import sniff

Progress = Callable[[str], None]
# How often a trace is given to another worker when its worker is lost.
_LOSSES = 3
_ANSWER_S = 10.0


def load_into_lake(
    sources: Sequence[str | Path],
    lake: str,
    *,
    options: Options | None = None,
    progress: Progress = lambda text: None,
) -> LoadResult:
    """Load what is not in the lake yet, one source after another. Sources that fail are named, the others are in."""
    options = options or Options()
    result, missing = _missing(sources, lake)
    for item in missing:
        progress(f"loading {item.name}")
        _note(result, load_item(item, lake, options))
    return result


def load_on_cluster(
    sources: Sequence[str | Path],
    lake: str,
    address: str,
    *,
    options: Options | None = None,
    progress: Progress = lambda text: None,
) -> LoadResult:
    """The same by the workers of the Dask scheduler at `address`; lake and sources must be within their reach."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise PhasescopeError("--cluster needs pip install 'phasescope[cluster]'") from error
    options = options or Options()
    result, missing = _missing(sources, lake)
    try:
        client = Client(address, timeout=_ANSWER_S)
    except (OSError, ValueError) as error:
        raise PhasescopeError(f"{address}: no Dask scheduler answers there ({error}); start one first") from error
    outcomes: dict[str, list[Loaded | PhasescopeError]] = {}
    try:
        futures = {
            client.submit(load_item, item, lake, options, pure=False, retries=_LOSSES, priority=-n): item
            for n, item in enumerate(missing)
        }
        for done, future in enumerate(as_completed(list(futures)), 1):
            item = futures[future]
            try:
                outcomes[item.url] = future.result()
            except Exception as error:  # of Dask: a worker was lost once too often, or the code could not be sent
                outcomes[item.url] = [PhasescopeError(f"{item.url}: no worker could load it ({error})")]
            progress(f"{done} of {len(futures)}: {item.name}")
    finally:
        client.close()
    for item in missing:
        _note(result, outcomes[item.url])
    return result


def load_item(item: Item, lake: str, options: Options) -> list[Loaded | PhasescopeError]:
    """What a worker does with one source (a zip may hold several runs): fetch, load, write, mark."""
    target = Lake(lake)
    outcomes: list[Loaded | PhasescopeError] = []
    try:
        with tempfile.TemporaryDirectory(prefix="phasescope-") as folder:
            for source in sniff(fetch(item, Path(folder))):
                store = Path(folder) / f"{len(outcomes)}.duckdb"
                try:
                    loaded = load_task(Task((source.name,), (str(source.path),), 0), store, options)
                    own = replace(item, key=f"{item.key}/{source.name}") if source.path.suffix == ".zip" else item
                    marker = add_run(target, store, loaded, own)
                    outcomes.append(replace(loaded, run_id=marker.run_id))
                except PhasescopeError as error:
                    outcomes.append(error)
                store.unlink(missing_ok=True)
    except PhasescopeError as error:
        outcomes.append(error)
    return outcomes


def _missing(sources: Sequence[str | Path], lake: str) -> tuple[LoadResult, list[Item]]:
    """What is to be loaded, and a result that holds what is there already and what cannot be found."""
    target = Lake(lake)
    target.create()
    there: dict[tuple[str, str], Marker] = {(m.source_url, m.source_key): m for m in target.markers()}
    result, missing = LoadResult(), []
    for source in sources:
        try:
            for item in find_items(str(source)):
                marker = there.get((item.url, item.key))
                if marker is None:
                    missing.append(item)
                else:
                    result.loaded.append(_loaded(marker))
        except PhasescopeError as error:
            result.failed.append(error)
    return result, missing


def _loaded(marker: Marker) -> Loaded:
    return Loaded(
        marker.run_id, marker.source, marker.raw_events, marker.loaded_events, marker.excluded_events,
        marker.repaired_events, already=True, source_sha256=marker.source_sha256,
    )  # fmt: skip


def _note(result: LoadResult, outcomes: list[Loaded | PhasescopeError]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Loaded):
            result.loaded.append(outcome)
            result.failed.extend(outcome.failures)
        else:
            result.failed.append(outcome)
