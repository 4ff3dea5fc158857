"""Writes docs/cli.md from `--help` and docs/tables.md from the store's comments; --check tells if they are current."""

import sys
import tempfile
from pathlib import Path

import click

import phasescope
from analyze.query import open_store
from analyze.store import writable_store

DOCS = Path(__file__).parent


def cli_page() -> str:
    """The help of every command, as the command prints it."""
    parts = ["# Command line\n\nWritten by `make docs` from `--help`.\n"]
    context = click.Context(phasescope.cli, info_name="phasescope", terminal_width=80)
    parts.append(f"```\n{phasescope.cli.get_help(context)}\n```\n")
    for name in phasescope.cli.list_commands(context):
        command = phasescope.cli.get_command(context, name)
        assert command is not None
        text = command.get_help(click.Context(command, info_name=name, parent=context, terminal_width=80))
        parts.append(f"## phasescope {name}\n\n```\n{text}\n```\n")
    return "\n".join(parts)


def tables_page() -> str:
    """Every table and view with its columns, from an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "empty.duckdb"
        with writable_store(store) as con:
            con.execute(
                "INSERT INTO runs (run_id, source, source_kind, source_sha256, ranks, loaded_unix_ns, "
                "phasescope_version, raw_events, loaded_events, excluded_events) "
                "VALUES ('', '', '', '', 1, 0, '', 0, 0, 0)"
            )
        con = open_store(store)
        relations = con.execute(
            "SELECT table_name, 'table', comment FROM duckdb_tables() WHERE NOT internal UNION ALL "
            "SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' "
            "ORDER BY 2, 1"
        ).fetchall()
        columns = con.execute(
            "SELECT table_name, column_name, lower(data_type), comment FROM duckdb_columns() "
            "WHERE NOT internal AND schema_name = 'main' ORDER BY table_name, column_index"
        ).fetchall()
        con.close()
    parts = [
        "# Tables and views\n\n"
        "Written by `make docs` from the store's own comments; `phasescope tables` shows the same.\n"
    ]
    for name, kind, comment in relations:
        parts.append(f"## {name} ({kind})\n\n{comment}\n\n| column | type | meaning |\n|---|---|---|")
        cells = [row for row in columns if row[0] == name]
        escaped = [(column, kind_, str(meaning).replace("|", "\\|")) for _, column, kind_, meaning in cells]
        parts.append("\n".join(f"| `{column}` | {kind_} | {meaning} |" for column, kind_, meaning in escaped) + "\n")
    return "\n".join(parts)


def main() -> int:
    """Write the pages, or with --check compare them; the exit code."""
    pages = {"cli.md": cli_page(), "tables.md": tables_page()}
    stale = [name for name, text in pages.items() if not (DOCS / name).exists() or (DOCS / name).read_text() != text]
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/{name} is not current: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for name, text in pages.items():
        (DOCS / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
