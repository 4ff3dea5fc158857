"""The streaming reader: pieces, metadata anywhere, mending, and an account of every event."""

import gzip
import io
import json
import resource
import sys
import tracemalloc

import pytest

from analyze import event_stream
from analyze.errors import PhasescopeError
from analyze.event_stream import EventStream


def read(text: bytes | str) -> tuple[list[str], EventStream]:
    data = text.encode() if isinstance(text, str) else text
    stream = EventStream(io.BytesIO(data), "x.json")
    return [event.name for piece in stream for event in piece], stream


def event(name: str, **more: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, **more}


def test_metadata_before_and_behind_the_events() -> None:
    names, stream = read('{"a": {"b": "]}"}, "traceEvents": [{"ph":"X","name":"k"}], "late": [1, {"c": "}"}], "n": 5}')
    assert names == ["k"]
    assert stream.metadata == {"a": '{"b": "]}"}', "late": '[1, {"c": "}"}]', "n": "5"}
    assert not stream.faults.repaired


@pytest.mark.parametrize("size", [64, 100, 257, 1000])
def test_small_pieces_give_the_same_events(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Every place where a piece may end: nested arrays of objects, strings with brackets, a tail full of objects."""
    monkeypatch.setattr(event_stream, "PIECE_BYTES", size)
    events = [event(f"e{i}", args={"a": [{"b": i}, {"c": "},{"}], "s": "] }"}) for i in range(50)]
    document = {"x": [{"k": 1}, {"k": 2}], "traceEvents": events, "tail": [{"k": i} for i in range(60)]}
    names, stream = read(json.dumps(document, indent=1))
    assert names == [f"e{i}" for i in range(50)]
    assert stream.raw_events == 50
    assert json.loads(stream.metadata["tail"])[59] == {"k": 59}
    assert not stream.faults.repaired
    assert not stream.faults.excluded


def test_several_gzip_members() -> None:
    half = json.dumps([event("a"), event("b")]).encode()
    packed = gzip.compress(half[:40]) + gzip.compress(half[40:])
    stream = EventStream(gzip.GzipFile(fileobj=io.BytesIO(packed)), "x.gz")  # type: ignore[arg-type]
    assert [e.name for piece in stream for e in piece] == ["a", "b"]


def test_cut_gzip_keeps_what_is_whole() -> None:
    text = json.dumps([event(f"e{i}") for i in range(2000)]).encode()
    packed = gzip.compress(text)
    stream = EventStream(gzip.GzipFile(fileobj=io.BytesIO(packed[: len(packed) * 2 // 3])), "x.gz")  # type: ignore[arg-type]
    names = [e.name for piece in stream for e in piece]
    assert 0 < len(names) < 2000
    assert names == [f"e{i}" for i in range(len(names))]
    assert stream.faults.repaired["damaged_compression"] == 1
    assert stream.faults.repaired["truncated"] == 1


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b'{"ph":"X","name":"a\nb","pid":1}', "raw_control_character"),
        (b'{"ph":"X","name":"pkg\\dir\\mod.py","pid":1}', "lone_backslash"),
        (b'{"ph":"C","name":"c","args":{"v": nan}}', "nan_or_inf"),
        (b'{"ph":"C","name":"c","args":{"v": -Infinity}}', "nan_or_inf"),
        (b'{"ph":"X","name":"\xff\xfe","pid":1}', "invalid_utf8"),
        (b'{"ph":"X","name":"a","args":{"s":"\xff"}}', "invalid_utf8"),
        (b'{"ph":"X","name":"\\ud800","pid":1}', "lone_surrogate"),
        (b'{"ph":"X","name":"a","args":{"x":[1,],}}', "trailing_comma"),
        (b'{"ph":"X","name":"say "hi" now","pid":1,"ts":1}', "unescaped_quote"),
        (b'{"ph":"X","name":7,"pid":1}', "unexpected_type"),
    ],
)
@pytest.mark.parametrize("where", ["first", "middle", "last", "only"])
def test_a_mended_event_and_its_neighbours(broken: bytes, reason: str, where: str) -> None:
    good = json.dumps(event("good")).encode()
    parts = {"first": [broken, good], "middle": [good, broken, good], "last": [good, broken], "only": [broken]}[where]
    names, stream = read(b'{"traceEvents":[' + b",\n".join(parts) + b'],"tail":1}')
    assert len(names) == len(parts)
    assert names.count("good") == len(parts) - 1
    assert stream.raw_events == len(parts)
    assert not stream.faults.excluded
    assert stream.faults.repaired[reason] >= 1
    assert stream.metadata == {"tail": "1"}


def test_legal_escapes_are_left_alone() -> None:
    names, stream = read(rb'[{"ph":"X","name":"a\n\"b\" c:\q \u00e9"}]')
    assert names == ['a\n"b" c:\\q é']
    assert stream.faults.repaired == {"lone_backslash": 1}


def test_what_cannot_be_mended_is_left_out_alone() -> None:
    """k01: a name whose quotes look like structure; the byte is named and the other event is kept."""
    text = '{"traceEvents":[{"ph":"X","name":"{"dev": "x"}(3): go","ts":1},{"ph":"X","name":"aten::mm","ts":2}]}'
    names, stream = read(text)
    assert names == ["aten::mm"]
    assert stream.raw_events == 2
    assert stream.faults.excluded == {"malformed": 1}
    assert "byte 16" in stream.faults.first["malformed"]


def test_members_that_are_no_events() -> None:
    names, stream = read('[{"ph":"X","name":"a"}, 5, "s", [1], {"name":"no ph"}, null]')
    assert names == ["a"]
    assert stream.raw_events == 6
    assert stream.faults.excluded == {"not_an_event": 4, "no_ph": 1}


def test_cut_off_names_the_byte() -> None:
    names, stream = read('[{"ph":"X","name":"prefill"},\n{"ph":"X","name":"dec')
    assert names == ["prefill"]
    assert stream.faults.excluded == {"cut_off": 1}
    assert stream.faults.first["truncated"].startswith("the file ends inside an event that begins at byte 30")
    assert stream.faults.first["truncated"].endswith("1 events before it are whole")


def test_trailing_data_is_said() -> None:
    _, stream = read('{"traceEvents":[{"ph":"X","name":"a"}]}{"traceEvents":[{"ph":"X","name":"b"}]}')
    assert stream.faults.repaired == {"trailing_data": 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("7", "expected a Chrome trace object or array"),
        ('{"nodes": [1], "schema": "x"}', "no traceEvents in this JSON (its keys: nodes, schema)"),
    ],
)
def test_no_trace(text: str, sentence: str) -> None:
    with pytest.raises(PhasescopeError, match=r"x\.json") as error:
        read(text)
    assert sentence in str(error.value)


def test_deep_nesting_is_left_out_not_a_crash() -> None:
    deep = '{"ph":"X","name":"deep","args":' + "[" * 100_000 + "]" * 100_000 + "}"
    names, stream = read(f'[{{"ph":"X","name":"a"}},{deep},{{"ph":"X","name":"b"}}]')
    assert names == ["a", "b"]
    assert stream.raw_events == 3
    assert stream.faults.excluded.total() == 1


def test_many_broken_events_take_linear_time() -> None:
    """40,000 events, every second one with nan: mended a piece at a time."""
    text = ",".join(f'{{"ph":"C","name":"c{i}","args":{{"v":{"nan" if i % 2 else i}}}}}' for i in range(40_000))
    names, stream = read(f"[{text}]")
    assert len(names) == 40_000
    assert stream.faults.repaired == {"nan_or_inf": 20_000}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "block",
    [
        b'"', b"[]", b"{}", b"1 ", b"a,", b"1,", b'{"a":1}', b'{"a":x}', b'},{"ph":', b'\\"', b'"},{',
        b'{"ph":"X","name":"a"b","ts":1}\n',
    ],
)  # fmt: skip
def test_garbage_takes_linear_time(block: bytes) -> None:
    """Each of these once took a search through the whole file for every few bytes: hours for a file of 60 MB."""
    data = b"[" + block * (300_000 // len(block)) + b"," + json.dumps(event("good")).encode() + b"]"
    names, stream = read(data)
    assert "good" not in names[:-1]
    assert stream.faults.excluded.total() == stream.raw_events - len(names) > 0


@pytest.mark.parametrize("text", ['{"x":"%s","traceEvents":[]}', '[{"ph":"M","args":{"x":"%s\n"}}]'])
def test_a_long_string_takes_a_few_times_its_size(text: str) -> None:
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    _, stream = read(text % ("a" * (16 << 20)))
    assert not stream.faults.excluded
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before < 300 << 20  # it was 1.3 GiB


def test_missing_commas_are_mended() -> None:
    text = b"\n".join(json.dumps(event(f"e{i}")).encode() for i in range(2000))
    names, stream = read(b"[" + text + b"]")
    assert names == [f"e{i}" for i in range(2000)]
    assert stream.faults.repaired == {"missing_comma": 1999}
    assert not stream.faults.excluded


def test_garbage_between_events_costs_no_event() -> None:
    a, b = (json.dumps(event(name)).encode() for name in "ab")
    names, stream = read(b"[" + a + b', oops "oops {[ ' + b + b"," + a + b"]")
    assert names == ["a", "b", "a"]
    assert stream.faults.excluded == {"malformed": 1}


def test_memory_is_bounded_by_the_piece() -> None:
    one = json.dumps(event("e" * 50, args={"pad": "x" * 200})).encode()

    class Endless(io.RawIOBase):
        """64 MiB of events that never exist at once."""

        left = 64 << 20
        begun = False

        def read(self, size: int = -1) -> bytes:
            if self.left <= 0:
                return b""
            count = max(1, size // (len(one) + 1))
            block = b",".join([one] * count)
            self.left -= len(block)
            out = (b"," if self.begun else b"[") + block + (b"]" if self.left <= 0 else b"")
            self.begun = True
            return out

    tracemalloc.start()
    stream = EventStream(Endless(), "x.json")  # type: ignore[arg-type]
    total = sum(len(piece) for piece in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == stream.raw_events > 190_000
    assert peak < 80 << 20
