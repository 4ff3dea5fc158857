"""The cache of compiled modules, with a tiny module that compiles at once."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime

from analyze import user_cache
from analyze.engines.module_cache import cached_path, load_module
from analyze.user_cache import cache_folder, read_intact, write_intact

TINY = '(module (func (export "answer") (result i32) i32.const 42))'


@pytest.fixture
def wasm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny.wasm"
    path.write_bytes(wasmtime.wat2wasm(TINY))
    return path


def answer(path: Path) -> int:
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    exports = wasmtime.Instance(store, load_module(engine, path), []).exports(store)
    return exports["answer"](store)


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(wasmtime.Module, "__init__", compiled)


def test_the_second_start_does_not_compile(wasm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(wasm) == 42
    forbid_compiling(monkeypatch)
    assert answer(wasm) == 42


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:40],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-100] + bytes(100),
        lambda content: content[len(user_cache._MAGIC) :],
    ],
    ids=["empty", "half header", "cut", "longer", "overwritten", "other version"],
)
def test_a_damaged_file_is_compiled_again_and_replaced(wasm: Path, damage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(wasm) == 42
    cached = cached_path(wasm.read_bytes(), "tiny")
    intact = cached.read_bytes()
    cached.write_bytes(damage(intact))
    assert read_intact(cached) is None
    assert answer(wasm) == 42
    assert read_intact(cached) is not None
    forbid_compiling(monkeypatch)
    assert answer(wasm) == 42


def test_an_intact_file_that_wasmtime_refuses_is_compiled_again(wasm: Path) -> None:
    cached = cached_path(wasm.read_bytes(), "tiny")
    write_intact(cached, b"made by another wasmtime")
    assert answer(wasm) == 42
    assert b"another wasmtime" not in cached.read_bytes()


def test_a_cache_that_cannot_be_written_costs_only_the_compilation(wasm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = wasm.parent / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("PHASESCOPE_CACHE", str(blocked))
    assert answer(wasm) == 42


def test_a_failed_write_leaves_nothing_behind(wasm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    assert answer(wasm) == 42
    assert list(cache_folder().iterdir()) == []


def test_the_key_changes_with_the_bytes_and_with_wasmtime(monkeypatch: pytest.MonkeyPatch) -> None:
    first = cached_path(b"one", "m")
    assert first == cached_path(b"one", "m")
    assert first != cached_path(b"two", "m")
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.1")
    assert first != cached_path(b"one", "m")


def test_processes_that_start_at_once_all_get_the_module(wasm: Path) -> None:
    script = (
        "import sys, os\nfrom pathlib import Path\n"
        "from tests.unit.analyze.test_engine_module_cache import answer, cached_path\n"
        "path = Path(sys.argv[1]); cached = cached_path(path.read_bytes(), 'tiny')\n"
        "for round in range(40):\n"
        "    assert answer(path) == 42\n"
        "    if round % 3 == 0: cached.unlink(missing_ok=True)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(wasm)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert answer(wasm) == 42
    assert [path.suffix for path in cache_folder().iterdir()] == [".cwasm"]


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"PHASESCOPE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ("linux", {"XDG_CACHE_HOME": "/b"}, "/b/phasescope"),
        ("linux", {}, "/home/me/.cache/phasescope"),
        ("darwin", {}, "/home/me/Library/Caches/phasescope"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/phasescope"),
    ],
)
def test_the_folder_of_each_platform(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PHASESCOPE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert cache_folder() == Path(expected)
