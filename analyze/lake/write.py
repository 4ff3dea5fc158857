"""A run's rows from a store of its own into a lake."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.errors import PhasescopeError
from analyze.lake.layout import Lake, Marker
from analyze.parallel import run_tables
from analyze.store import connect, scalar

if TYPE_CHECKING:
    from analyze.lake.sources import Item
    from analyze.one_run import Loaded


def add_run(lake: Lake, store: Path, loaded: Loaded, item: Item) -> Marker:
    """Write the only run of `store` as Parquet, then its marker; returns the marker that stands.

    Where another attempt was faster its files stand and those of this one go. Raises PhasescopeError where the lake
    holds other bytes under this run's id.
    """
    marker = Marker(
        run_id=loaded.run_id, source=loaded.source, source_url=item.url, source_key=item.key,
        source_sha256=loaded.source_sha256, raw_events=loaded.raw_events, loaded_events=loaded.loaded_events,
        excluded_events=loaded.excluded_events, repaired_events=loaded.repaired_events,
    )  # fmt: skip
    if (standing := known(lake, marker)) is not None:
        return standing
    con = connect(store, read_only=True)
    try:
        with tempfile.TemporaryDirectory(prefix="phasescope-") as folder:
            for table in run_tables(con):
                if not scalar(con, f'SELECT count(*) FROM "{table}"'):
                    continue
                local = Path(folder) / f"{table}.parquet"
                quoted = str(local).replace("'", "''")
                rows = f'SELECT * EXCLUDE (run_id) FROM "{table}"'
                con.execute(f"COPY ({rows}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)")
                name = lake.new_file(table, loaded.run_id)
                lake.put(local, name)
                marker.files[table] = name
                local.unlink()
    except OSError as error:
        raise PhasescopeError(f"{loaded.source}: the lake {lake.url} cannot be written ({error})") from error
    finally:
        con.close()
    if (standing := known(lake, marker)) is not None:
        lake.remove(list(marker.files.values()))
        return standing
    lake.mark(marker)
    return marker


def known(lake: Lake, marker: Marker) -> Marker | None:
    """The marker of the same bytes, if they are in the lake."""
    standing = lake.marker(marker.run_id)
    if standing is not None and standing.source_sha256 != marker.source_sha256:
        raise PhasescopeError(
            f"{marker.source}: the lake holds another bundle of run {marker.run_id} (a fuller or an emptier copy); "
            "load this one into another lake"
        )
    return standing
