"""A store as everybody may see it: the same tables and views, with what is private left out.

`public_columns.toml` says what happens to each column of text. The views of the analysis run on what is left, so that
nothing that is made from it can show more.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import platform
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import duckdb

from analyze import derived
from analyze.query import attach_store, open_store
from analyze.store import create_reference, create_run_tables, create_views

# Names that name nobody, and words that a report needs.
_NOBODY = {
    "root", "user", "admin", "runner", "ubuntu", "nobody", "localhost", "host", "home", "python", "model", "build",
}  # fmt: skip
# Tables that are there for all runs: pages about several runs are made of them.
_SMALL = ("runs", "passes", "phases", "samples", "kv_expected", "quality", "claims", "trace_metadata")
# Of what a trace says of itself only these keys, which views read and which name nobody.
_METADATA = "regexp_matches(t.key, '^(cuda|hip|cupti|roctracer|rocprofiler|nccl)[a-z_]*_version$|^deviceProperties$')"
_WITHHELD = "(withheld)"
# The last part of a path stays. RE2 has no lookbehind, hence the group.
_HOME = r"(?:file://)?(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/][^\s\\/:*?\"<>|()']+"
_FOLDERS = r"(^|[^\w.:/\\~-])(?:file://)?(?:[A-Za-z]:|~)?(?:[\\/][^\s\\/:*?\"<>|()']+)+[\\/]([^\s\\/])"
# SGLang's `step[EXTEND bs=4 toks=96]` is one, too.
_IDENTIFIER = r"[A-Za-z_][\w.:#/()<>=,*&+-]{0,160}(\[[A-Z]+( \w+=\d+)*\])?"
_KEPT_MACHINE = ("processor", "cores", "gpu_cores", "memory_bytes", "device_memory_bytes")
_KEPT_WORKLOAD = (
    "device", "dtype", "attention", "logits", "batch_size", "prompt_tokens", "new_tokens", "warmup", "repeat", "seed",
)  # fmt: skip


@cache
def _rules() -> dict[str, str]:
    lists = tomllib.loads((resources.files("analyze") / "public_columns.toml").read_text(encoding="utf-8"))
    return {column: rule for rule, columns in lists.items() for column in columns}


def rule_of(table: str, column: str) -> str | None:
    """The rule for a column of text; None where `public_columns.toml` does not know it (it is withheld then)."""
    return _rules().get(f"{table}.{column}") or _rules().get(column)


class PublicStore:
    """A store without what is private, in memory. `con` holds the small tables of all runs; `run` adds one run's rest.

    Left out are paths, host names, users, other programs' names, arguments and annotations of free form. Runs that
    were loaded from traces get other ids, since theirs are made of file names: `ids` maps ids of the store to public.
    """

    def __init__(self, path: Path, hide: Sequence[str] = ()) -> None:
        """Raises PhasescopeError as `open_store` does. `hide`: more words to take out of texts."""
        open_store(path).close()  # its errors are sentences
        self.con = duckdb.connect(":memory:")
        try:
            create_run_tables(self.con)
            self._selects = self._attach(path, hide)
            self.ids: dict[str, str] = dict(self.con.execute("SELECT private_id, run_id FROM public_ids").fetchall())
            for table in _SMALL:
                self.con.execute(f"INSERT INTO {table} BY NAME {self._selects[table]}")
            create_reference(self.con)
            create_views(self.con)
            self.con.execute("SET lock_configuration = true")
        except BaseException:
            self.con.close()
            raise

    def __enter__(self) -> PublicStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.con.close()

    def _attach(self, path: Path, hide: Sequence[str]) -> dict[str, str]:
        """Open the store beside this one; the SELECT that yields each table's public rows."""
        attach_store(self.con, path, "private")
        self.con.execute(
            "CREATE TEMP TABLE public_ids AS SELECT run_id AS private_id, CASE "
            r"WHEN source_kind = 'bundle' AND regexp_full_match(run_id, '\d{8}T\d{6}Z-[0-9a-f]{8}') THEN run_id "
            "ELSE 'run-' || left(md5(source_sha256), 10) END AS run_id FROM private.main.runs"
        )
        words = _private_words(self.con, hide)
        return {table: _select(table, columns, words) for table, columns in _tables(self.con).items()}

    @contextlib.contextmanager
    def run(self, *run_ids: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection with all tables of the runs with these public ids, for as long as the context lasts."""
        large = [table for table in self._selects if table not in _SMALL]
        try:
            for table in large:
                wanted = f"{self._selects[table]} AND list_contains(?, i.run_id)"
                self.con.execute(f"INSERT INTO {table} BY NAME {wanted}", [list(run_ids)])
            for run_id in run_ids:
                derived.derive(self.con, run_id)
            yield self.con
        finally:
            for table in (*large, *derived.TABLES):
                self.con.execute(f"DELETE FROM {table}")

    def digests(self) -> dict[str, str]:
        """A digest of all rows of each run, by public id; it changes whenever a row does."""
        parts: dict[str, list[str]] = {public: [] for public in self.ids.values()}
        for table in sorted(self._selects):
            for run_id, rows, total in self.con.execute(
                f"SELECT i.run_id, count(*), sum(hash(t)) FROM private.main.{table} t "
                "JOIN public_ids i ON i.private_id = t.run_id GROUP BY i.run_id"
            ).fetchall():
                parts[run_id].append(f"{table} {rows} {total}")
        return {run_id: hashlib.sha256("\n".join(each).encode()).hexdigest() for run_id, each in parts.items()}


def _tables(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, str]]]:
    """Columns of every table that holds rows of runs, as far as this version knows them, with their types.

    Tables without a run_id are reference facts of this version, and derived ones are made anew from what is public:
    neither is taken from the store.
    """
    tables: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in con.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = 'private' "
        "AND (table_name, column_name) IN (SELECT (table_name, column_name) FROM duckdb_columns() "
        "WHERE database_name = 'memory') ORDER BY table_name, column_index"
    ).fetchall():
        tables.setdefault(table, []).append((column, kind))
    return {
        table: columns for table, columns in tables.items() if "run_id" in dict(columns) and table not in derived.TABLES
    }


def _private_words(con: duckdb.DuckDBPyConnection, hide: Sequence[str]) -> list[str]:
    """This machine's host and user, those that traces and manifests name, and what the caller wants hidden."""
    found = {platform.node(), platform.node().split(".")[0]}
    with contextlib.suppress(OSError, KeyError):  # a user without a name has none to hide
        found.add(getpass.getuser())
    # torch.profiler's tensorboard_trace_handler names files <host>_<pid>.<time>.pt.trace.json.
    for (source,) in con.execute("SELECT source FROM private.main.runs").fetchall():
        found.update(match[1] for match in re.finditer(r"([^\s/\\]+?)_\d+\.\d+\.pt\.trace\.json", source))
    hosts = con.execute(
        "SELECT value FROM private.main.trace_metadata WHERE regexp_matches(key, '(?i)host|user') UNION SELECT "
        r"unnest(regexp_extract_all(text, '[\\/](?:home|Users)[\\/]+([^\\/\s\"]+)', 1)) FROM ("
        "SELECT manifest::VARCHAR AS text FROM private.main.runs UNION ALL "
        "SELECT value FROM private.main.trace_metadata)"
    ).fetchall()
    found.update(str(value).strip('"') for (value,) in hosts if value)
    found = {
        word for word in found if 3 < len(word) < 64 and word.lower() not in _NOBODY and re.search(r"[A-Za-z]", word)
    }
    return sorted({*found, *(word for word in hide if word)}, key=lambda word: (-len(word), word))


def _select(table: str, columns: list[tuple[str, str]], words: list[str]) -> str:
    shown = ", ".join(f'{_expression(table, name, kind, words)} AS "{name}"' for name, kind in columns)
    some = _METADATA if table == "trace_metadata" else "true"
    return f"SELECT {shown} FROM private.main.{table} t JOIN public_ids i ON i.private_id = t.run_id WHERE {some}"


def _expression(table: str, column: str, kind: str, words: list[str]) -> str:
    name = f't."{column}"'
    if column == "run_id":
        return "i.run_id"
    if kind not in ("VARCHAR", "JSON"):
        return name
    if (table, column) == ("runs", "manifest"):
        return _manifest(name, words)
    if (table, column) == ("passes", "detail"):
        return _detail(name, words)
    if (table, column) == ("runs", "source"):
        return "t.source_kind"
    if (table, column) == ("runs", "source_sha256"):
        return "i.run_id"
    match rule_of(table, column):
        case "vocabulary" | "analysis_only":
            return name
        case "cleaned" if (table, column) == ("claims", "sql"):
            return _clean("replace(t.sql, t.run_id, i.run_id)", words)
        case "cleaned":
            return _clean(name, words)
        case "identifiers":
            return _identifier(table, name, words)
        case "processes":
            return f"'process ' || nullif(regexp_extract({name}, '\\((\\d+)\\)', 1), '')"
    return f"NULL::{kind}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _clean(expression: str, words: list[str]) -> str:
    out = f"regexp_replace({expression}, {_literal(_HOME)}, '', 'g')"
    out = f"regexp_replace({out}, {_literal(_FOLDERS)}, '\\1\\2', 'g')"
    if words:
        any_word = "|".join(re.escape(word) for word in words)
        pattern = _literal(f"(?i)(^|[^A-Za-z0-9])(?:{any_word})($|[^A-Za-z0-9])")
        for _ in range(2):  # neighbours share the character between them
            out = f"regexp_replace({out}, {pattern}, '\\1{_WITHHELD}\\2', 'g')"
    return out


def _identifier(table: str, name: str, words: list[str]) -> str:
    clean = _clean(name, words)
    looks_safe = f"regexp_full_match({name}, {_literal(_IDENTIFIER)})"
    if table == "ops":  # operators, runtime calls and Python frames are named by programs, annotations by people
        looks_safe = f"t.layer <> 'annotation' OR {looks_safe}"
    return f"CASE WHEN {looks_safe} THEN {clean} WHEN {name} IS NOT NULL THEN '{_WITHHELD}' END"


def _manifest(name: str, words: list[str]) -> str:
    """Of the manifest only the workload, the size of the machine and versions."""
    workload = _object(name, "workload", _KEPT_WORKLOAD)
    machine = _object(name, "machine", _KEPT_MACHINE)
    software = _clean(f"CAST({name} -> '$.software' AS VARCHAR)", words) + "::JSON"
    version = f"{name} -> '$.phasescope_version'"
    kept = f"'workload', {workload}, 'machine', {machine}, 'software', {software}, 'phasescope_version', {version}"
    return f"CASE WHEN {name} IS NOT NULL THEN {_without_nulls(kept)} END"


def _detail(name: str, words: list[str]) -> str:
    """Of a pass's detail only what tells that two runs did the same under the same conditions."""
    conditions = _clean(f"CAST({name} -> '$.conditions' AS VARCHAR)", words) + "::JSON"
    kept = ", ".join(f"'{key}', {name} -> '$.{key}'" for key in ("prompt_sha256", "generated_sha256", "cpu_threads"))
    kept += f", 'conditions', {conditions}"
    return f"CASE WHEN {name} IS NOT NULL THEN {_without_nulls(kept)} END"


def _object(name: str, part: str, keys: Sequence[str]) -> str:
    pairs = ", ".join(f"'{key}', {name} -> '$.{part}.{key}'" for key in keys)
    return f"json_object({pairs})"


def _without_nulls(members: str) -> str:
    """An object without its null members, which a merge patch (RFC 7396) leaves out: what is not known is not there."""
    return f"json_merge_patch('{{}}', json_object({members}))"
