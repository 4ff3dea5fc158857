import errno
import json
import os
import zipfile
from pathlib import Path

import pytest

from capture import bundle as module
from capture.bundle import (
    BundleWriter,
    Manifest,
    Model,
    PassRecord,
    PhasescopeError,
    Workload,
    is_bundle,
    new_run_id,
    open_bundle,
    write_then_rename,
    zip_bundle,
)


def manifest(**changes) -> Manifest:
    workload = Workload("cpu", "float32", "sdpa", "dynamic", "all", 1, 4, 3, 0, 1, 0)
    fields = {"run_id": "r1", "label": "a label", "captured_unix_ns": 5, "phasescope_version": "1"}
    return Manifest(
        **(fields | changes),
        model=Model("m", "random", "random"),
        workload=workload,
        passes=[PassRecord("clean"), PassRecord("profiled")],
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    writer = BundleWriter.create(tmp_path / "b", manifest())
    writer.begin("clean")
    with write_then_rename(tmp_path / "b/clean/timings.jsonl") as stream:
        stream.write(b'{"step": 0}\n{"step": 1}\n')
    writer.record(PassRecord("clean", "measured", None, detail={"threads": 2}))
    return tmp_path / "b"


def edit_manifest(folder: Path, change) -> None:
    data = json.loads((folder / "manifest.json").read_text())
    change(data)
    (folder / "manifest.json").write_text(json.dumps(data))


def test_folder_and_zip_say_the_same(written: Path):
    packed = zip_bundle(written, written.with_suffix(".zip"))
    opened = []
    for path in (written, packed):
        assert is_bundle(path)
        with open_bundle(path) as bundle:
            assert bundle.manifest.label == "a label"
            assert bundle.manifest.workload.prompt_tokens == 4
            assert bundle.read_jsonl("clean/timings.jsonl") == [{"step": 0}, {"step": 1}]
            assert bundle.measured("clean").detail == {"threads": 2}
            assert bundle.measured("profiled") is None
            assert bundle.missing() == ["pass profiled is not_attempted: The capture ended before this pass began."]
            opened.append((bundle.sha256, bundle.manifest))
    assert opened[0] == opened[1]


def test_zips_of_the_same_bundle_are_the_same_bytes(written: Path):
    first = zip_bundle(written, written.with_name("1.zip")).read_bytes()
    assert first == zip_bundle(written, written.with_name("2.zip")).read_bytes()


def test_a_zip_with_the_folder_inside_opens_too(written: Path):
    packed = written.with_name("finder.zip")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("__MACOSX/b/manifest.json", b"resource fork")
        for path in written.rglob("*"):
            archive.write(path, path.relative_to(written.parent))
    with open_bundle(packed) as bundle:
        assert len(bundle.read_jsonl("clean/timings.jsonl")) == 2


def test_a_pass_that_began_and_did_not_end_is_failed(written: Path):
    BundleWriter(written, open_bundle(written).manifest).begin("profiled")
    (written / "profiled").mkdir()
    (written / "profiled/.trace.json.gz.12.partial").write_bytes(b"half")
    bundle = open_bundle(written)
    assert bundle.missing() == ["pass profiled is failed: The capture ended before this pass was complete."]
    assert list(bundle.files) == ["clean/timings.jsonl"]


def test_newer_schema_is_refused(written: Path):
    edit_manifest(written, lambda data: data.update(schema_version=2, passes="of another kind"))
    with pytest.raises(PhasescopeError, match=r"schema version 2, and this phasescope reads up to 1; update"):
        open_bundle(written)


def test_fields_of_a_later_minor_change_are_ignored(written: Path):
    edit_manifest(written, lambda data: data.update(weather="fair"))
    assert open_bundle(written).manifest.run_id == "r1"


def test_changed_bytes_are_noticed(written: Path):
    (written / "clean/timings.jsonl").write_bytes(b'{"step": 7}\n')
    with pytest.raises(PhasescopeError, match=r"clean/timings.jsonl in .* is not the file that was captured"):
        open_bundle(written).read_jsonl("clean/timings.jsonl")


def test_a_file_that_is_gone_and_one_that_never_was(written: Path):
    (written / "clean/timings.jsonl").unlink()
    with pytest.raises(PhasescopeError, match=r"lacks clean/timings.jsonl, which its manifest names"):
        open_bundle(written).open("clean/timings.jsonl")
    with pytest.raises(PhasescopeError, match="has no file nothing"):
        open_bundle(written).open("nothing")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "clean/../../x", "a\\b"])
def test_names_that_lead_outside_are_refused(written: Path, name: str):
    edit_manifest(written, lambda data: data["passes"][0]["files"].update({name: "0" * 64}))
    with pytest.raises(PhasescopeError, match="names a file outside itself"):
        open_bundle(written)


def test_what_is_no_bundle(tmp_path: Path):
    (tmp_path / "text").write_text("hello")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "x")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/manifest.json").write_text('{"name": "an extension"}')
    for name, words in {
        "absent": "does not exist",
        "text": "neither a folder nor a readable zip",
        "other.zip": "has no manifest.json",
        ".": "no readable manifest.json",
        "foreign": "no bundle manifest",
    }.items():
        with pytest.raises(PhasescopeError, match=words):
            open_bundle(tmp_path / name)
        assert not is_bundle(tmp_path / name)


def test_a_line_that_is_not_json_is_named(written: Path):
    writer = BundleWriter(written, open_bundle(written).manifest)
    (written / "clean/timings.jsonl").write_bytes(b'{"step": 0}\n{"st\n')
    writer.record(PassRecord("clean", "measured", None))
    with pytest.raises(PhasescopeError, match=r"clean/timings.jsonl in .* is not JSON at line 2"):
        open_bundle(written).read_jsonl("clean/timings.jsonl")


def test_overwrites_only_a_bundle_and_only_with_force(written: Path, tmp_path: Path):
    with pytest.raises(PhasescopeError, match=r"Will not overwrite .* or --force"):
        BundleWriter.create(written, manifest())
    BundleWriter.create(written, manifest(label="new"), force=True)
    assert open_bundle(written).manifest.label == "new"
    assert not (written / "clean").exists()
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/thesis").write_text("years of work")
    with pytest.raises(PhasescopeError, match="is not a bundle"):
        BundleWriter.create(tmp_path / "papers", manifest(), force=True)
    assert (tmp_path / "papers/thesis").read_text() == "years of work"
    with pytest.raises(PhasescopeError, match="Will not overwrite"):
        zip_bundle(written, tmp_path / "papers/thesis")


def test_an_empty_folder_may_be_filled(tmp_path: Path):
    BundleWriter.create(tmp_path / "deep/er", manifest())
    (tmp_path / "empty").mkdir()
    BundleWriter.create(tmp_path / "empty", manifest())
    assert is_bundle(tmp_path / "empty")
    assert is_bundle(tmp_path / "deep/er")


def test_full_disk_leaves_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "file"
    target.write_text("before")

    def write():
        with write_then_rename(target) as stream:
            stream.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(PhasescopeError, match=r"Could not write .*file \(No space left on device\); make room"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_text() == "before"

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PhasescopeError, match="No space left"):
        BundleWriter.create(tmp_path / "b", manifest())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_another_error_in_the_body_goes_through_and_leaves_nothing(tmp_path: Path):
    def write():
        with write_then_rename(tmp_path / "x"):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        write()
    assert list(tmp_path.iterdir()) == []


def test_run_ids_differ_and_sort_by_time():
    assert new_run_id() != new_run_id()
    assert new_run_id()[:8].isdigit()


def test_bundle_reads_without_torch():
    import subprocess
    import sys

    code = "import sys, capture.bundle; sys.exit(any(m in sys.modules for m in ('torch', 'transformers')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(module.__file__).parents[2]).returncode == 0
