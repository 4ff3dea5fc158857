"""A static site of all runs of a store. Twin of `phasescope publish`.

    index.html                     every run, with search and filters
    runs/ history/ scaling/ compare/   a page a run, workload, scaling study and pair
    data/index.json data/*.parquet     the same for programs
    phasescope-site.json           what each file was made from, so that only what changed is made again

Links are relative and no page requests anything, so it works from any folder of any file server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from analyze.errors import PhasescopeError
from analyze.public import PublicStore
from reports import queries, scaling
from reports.collect import collect
from reports.page import page
from reports.report import ReportData
from reports.site import comparisons, downloads, history
from reports.site.downloads import Download
from reports.site.ledger import Ledger, digest, program_digest
from reports.site.runs import SiteRun, by_workload, filters

TITLE = "phasescope runs"


@dataclass
class PublishResult:
    """The site's folder, and names of files that were written, kept as they were, and removed."""

    path: Path
    runs: int
    built: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    """A scaling study: its row of `scaling_series` and where its page is."""

    row: queries.Row

    @property
    def about(self) -> str:
        return scaling.about(self.row)

    @property
    def page(self) -> str:
        return f"scaling/{sha256(self.row['series'].encode()).hexdigest()[:10]}.html"


def publish(
    site_dir: str | Path,
    store: str | Path = "phases.duckdb",
    *,
    title: str = TITLE,
    hide: Sequence[str] = (),
    slices: bool = True,
    on_progress: Callable[[str], None] = lambda text: None,
) -> PublishResult:
    """Write a static site of all runs in `store` into `site_dir`; files made from what has not changed are kept.

    Nothing private is in it: see `analyze.public`. `hide`: more words to take out of texts. `slices`: also offer every
    operator and kernel of each run as Parquet. Files that are not the site's stay untouched. Raises PhasescopeError
    where the store is not there or empty, or a file of the same name is there that the site did not write.
    """
    with PublicStore(Path(store), hide) as public:
        site = _Site(public, Ledger(Path(site_dir)), title, digest(program_digest(), title, *hide), on_progress)
        site.write(slices)
        removed = site.ledger.finish()
        return PublishResult(Path(site_dir), len(site.runs), site.ledger.built, site.ledger.kept, removed)


class _Site:
    """One publication: what the store holds, and the pages made of it."""

    def __init__(
        self,
        public: PublicStore,
        ledger: Ledger,
        title: str,
        program: str,
        on_progress: Callable[[str], None],
    ) -> None:
        self.public, self.ledger, self.title, self.on_progress = public, ledger, title, on_progress
        self._program = program
        self.runs = [SiteRun(row) for row in queries.run(public.con, "site_runs")]
        if not self.runs:
            raise PhasescopeError("the store holds no run, so there is nothing to publish; `phasescope load SOURCE`")
        self._digests = public.digests()
        self._histories = by_workload(self.runs)
        self.studies = [Study(row) for row in scaling.series_of(public.con)]
        self.pairs = comparisons.pairs(self._histories)

    def _made_from(self, run_ids: Sequence[str], *more: str) -> str:
        return digest(self._program, *(self._digests[run_id] for run_id in run_ids), *more)

    def write(self, slices: bool) -> None:
        """Every file of the site; the index last, so that it never names a page that is not there."""
        self.ledger.put(".nojekyll", "nothing", lambda: b"")
        files: list[Download] = []
        for number, run in enumerate(self.runs, 1):
            self._run(run, number, files if slices else None)
        histories = [self._history(key, runs) for key, runs in self._histories.items() if len(runs) > 1]
        for study in self.studies:
            self._study(study)
        for pair in self.pairs:
            self._pair(pair)
        tables = [self._table(name) for name in downloads.TABLES]
        self._index(histories, tables, files)

    def _run(self, run: SiteRun, number: int, files: list[Download] | None) -> None:
        made_from = self._made_from([run.run_id])

        def render() -> str:
            self.on_progress(f"run {number} of {len(self.runs)}: {run.run_id}")
            with self.public.run(run.run_id) as con:
                data = ReportData.from_results(collect(con, run.run_id))
            return page("site_run.html", data.figures(), report=data, page_title=f"{data.title} · phasescope")

        self.ledger.put(run.page, made_from, render)
        if files is None:
            return
        names = {table: f"data/runs/{run.run_id}/{table}.parquet" for table in downloads.TABLES_OF_RUN}
        made: dict[str, bytes] = {}

        def table_bytes(table: str) -> bytes:
            if not made:
                where = f"WHERE run_id = {queries.literal(run.run_id)}"
                with self.public.run(run.run_id) as con:
                    for name, without in downloads.TABLES_OF_RUN.items():
                        made[name] = downloads.parquet(con, name, without, where)
            return made[table]

        for table, file in names.items():
            self.ledger.put(file, made_from, partial(table_bytes, table))
            files.append(self._download(table, file))

    def _history(self, workload: str, runs: list[SiteRun]) -> history.History:
        built = history.build(workload, runs)

        def render() -> str:
            title = f"{built.title} over time · phasescope"
            return page("site_history.html", built.figures(), history=built, method=history.METHOD, page_title=title)

        self.ledger.put(built.page, self._made_from([run.run_id for run in runs]), render)
        return built

    def _study(self, study: Study) -> None:
        def render() -> str:
            built = scaling.build(study.row, scaling.collect(self.public.con, study.row["series"]))
            title = f"{built.title}: scaling · phasescope"
            return page("site_scaling.html", built.figures(), scaling=built, page_title=title)

        self.ledger.put(study.page, self._made_from(study.row["run_ids"]), render)

    def _pair(self, pair: comparisons.Pair) -> None:
        ids = [pair.a.run_id, pair.b.run_id]

        def render() -> str:
            self.on_progress(f"comparing {ids[0]} and {ids[1]}")
            with self.public.run(*ids) as con:
                return comparisons.render(con, pair)

        self.ledger.put(pair.page, self._made_from(ids), render)

    def _table(self, table: str) -> Download:
        file = f"data/{table}.parquet"
        data = downloads.parquet(self.public.con, table, downloads.TABLES[table])
        self.ledger.put(file, digest(sha256(data).hexdigest()), lambda: data)
        return self._download(table, file)

    def _download(self, table: str, file: str) -> Download:
        import pyarrow.parquet

        path = self.ledger.folder / file
        rows = pyarrow.parquet.read_metadata(path).num_rows
        return Download(table, file, rows, path.stat().st_size, downloads.description(self.public.con, table))

    def _index(self, histories: list[history.History], tables: list[Download], files: list[Download]) -> None:
        names = [run.run_id for run in self.runs]
        described = {
            "schema_version": 1,
            "title": self.title,
            "runs": [run.public_json() for run in self.runs],
            "histories": [
                {"page": each.page, "runs": [run.run_id for run in each.runs], "finding": each.finding,
                 "changes": [{"run_id": c.run.run_id, "text": c.text, "ratio": c.point.ratio} for c in each.changes]}
                for each in histories
            ],
            "scaling": [{"page": each.page, **each.row} for each in self.studies],
            "comparisons": [{"page": p.page, "a": p.a.run_id, "b": p.b.run_id, "why": p.why} for p in self.pairs],
            "tables": [vars(each) for each in (*tables, *files)],
        }  # fmt: skip
        text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
        self.ledger.put("data/index.json", digest(text), lambda: text)

        def render() -> str:
            return page(
                "site_index.html",
                more_styles=("site.css",),
                more_scripts=("site.js",),
                title=self.title,
                runs=self.runs,
                filters=filters(self.runs),
                histories=histories,
                studies=self.studies,
                pairs=self.pairs,
                tables=tables,
                run_files={run_id: [f for f in files if f.file.startswith(f"data/runs/{run_id}/")] for run_id in names},
                page_title=self.title,
            )

        self.ledger.put("index.html", digest(self._program, text), render)
