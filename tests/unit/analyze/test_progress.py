"""What a long load says."""

import gzip
import io

from analyze import progress
from analyze.progress import WatchedStream, announcement


def test_small_loads_promise_nothing_and_large_ones_a_time() -> None:
    assert announcement("a.json", 1000) == "loading a.json"
    assert announcement("a.json, b.json", 400 << 20) == "loading a.json, b.json (400 MiB unpacked, about 10 s)"


def test_a_stream_says_how_much_was_read(monkeypatch) -> None:
    now = iter(range(0, 100, 3))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    said: list[str] = []
    content = bytes(3 << 20)
    with WatchedStream(
        gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content))), "x.gz", 4 << 20, said.append
    ) as stream:
        parts = []
        while part := stream.read1(1 << 20):
            parts.append(part)
    assert b"".join(parts) == content
    assert said[0].startswith("x.gz: ")
    assert said[-1] == "x.gz: 3 of about 4 MiB read (75 %)"
    assert stream.closed
