"""The SQL of this package, which stands in files."""

from importlib import resources


def sql_text(name: str) -> str:
    """The text of `analyze/sql/<name>`."""
    return resources.files("analyze").joinpath(f"sql/{name}").read_text("utf-8")
