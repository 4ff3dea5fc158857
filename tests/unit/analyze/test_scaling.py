"""The scaling views over stores with known laws in them, and the interval against scipy's own regression."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

from analyze.scaling import interval
from analyze.store import connect, writable_store

PER_TOKEN = 512


def store(
    path: Path,
    prompts: list[int],
    *,
    batches: tuple[int, ...] = (1,),
    prefill_ns: Callable[[int], float] = lambda n: 1000 * n,
    decode_ns: Callable[[int], float] = lambda n: 50_000 + 7 * n,
    kv_bytes: Callable[[int, int], int] = lambda n, b: PER_TOKEN * n * b,
    device: str = "cuda",
    driver: int | None = 1 << 30,
    limit: int | None = 2 << 30,
) -> Path:
    """A store with a run for each prompt length and batch size: a prefill and two decode steps, two repeats."""
    with writable_store(path) as con:
        for batch in batches:
            for number, prompt in enumerate(prompts):
                run = f"b{batch}-p{prompt}-{number}"
                con.execute(
                    "INSERT INTO runs (run_id, source, source_kind, source_sha256, model, weights, device, dtype, "
                    "batch_size, prompt_tokens, new_tokens, ranks, loaded_unix_ns, phasescope_version, raw_events, "
                    "loaded_events, excluded_events) VALUES "
                    "(?, 's', 'bundle', ?, 'tiny', 'random', ?, 'float32', ?, ?, 3, 1, 0, '0', 0, 0, 0)",
                    [run, run, device, batch, prompt],
                )
                for step in range(3):
                    phase = "decode" if step else "prefill"
                    cached = prompt + step
                    for pass_ in ("clean", "profiled"):
                        for repeat in range(2):
                            dur = round(decode_ns(cached) if step else prefill_ns(prompt))
                            con.execute(
                                "INSERT INTO phases (run_id, pass, rank, repeat, phase, step, dur_ns, cached_tokens, "
                                "source) VALUES (?, ?, 0, ?, ?, ?, ?, ?, 'timer')",
                                [run, pass_, repeat, phase, step, dur * (2 if pass_ == "profiled" else 1), cached],
                            )
                    con.execute(
                        "INSERT INTO samples (run_id, pass, repeat, phase, step, kv_cache_bytes, driver_bytes, "
                        "recommended_max_bytes) VALUES (?, 'profiled', 0, ?, ?, ?, ?, ?)",
                        [run, f"after_{phase}", step, kv_bytes(cached, batch), driver, limit],
                    )
                    con.execute(
                        "INSERT INTO kv_expected VALUES (?, ?, ?, 'by hand')", [run, cached, PER_TOKEN * cached * batch]
                    )
    return path


def rows(path: Path, sql: str) -> list[tuple]:
    con = connect(path, read_only=True)
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def test_a_power_law_gives_its_exponent(tmp_path):
    path = store(tmp_path / "s", [64, 128, 256, 512], batches=(1, 2), prefill_ns=lambda n: 10_000 * n**1.5)
    fits = "SELECT * EXCLUDE (series, exponent, ln_ns_at_one_token, r_squared, standard_error) FROM scaling_prefill"
    assert rows(path, f"{fits} ORDER BY batch_size") == [(1, 4, 4, 64, 512), (2, 4, 4, 64, 512)]
    fit = "SELECT exponent, standard_error, ln_ns_at_one_token FROM scaling_prefill WHERE batch_size = 1"
    [(exponent, standard_error, at_one_token)] = rows(path, fit)
    assert exponent == pytest.approx(1.5, abs=1e-5)
    assert interval(exponent, standard_error, 4) == pytest.approx((1.5, 1.5), abs=1e-4)
    assert at_one_token == pytest.approx(math.log(10_000), abs=1e-3)
    local = rows(path, "SELECT local_exponent FROM scaling_points WHERE batch_size = 1 ORDER BY prompt_tokens")
    assert [value for (value,) in local] == [None, *[pytest.approx(1.5, abs=1e-4)] * 3]


def test_the_interval_is_that_of_scipys_regression(tmp_path):
    lengths = [64, 100, 128, 256, 256, 512]
    noise = iter([1.02, 0.97, 1.05, 0.99, 1.08, 0.94])
    noisy = [3000 * n**1.2 * next(noise) for n in lengths]
    path = tmp_path / "s"
    values = iter(noisy)
    current: dict[int, float] = {}

    def latency(n: int) -> float:
        # Called four times for each run: both passes, two repeats.
        if current.setdefault("calls", 0) % 4 == 0:
            current["value"] = next(values)
        current["calls"] += 1
        return current["value"]

    fit = "SELECT points, exponent, standard_error, r_squared FROM scaling_prefill"
    [(points, exponent, standard_error, r_squared)] = rows(store(path, lengths, prefill_ns=latency), fit)
    low, high = interval(exponent, standard_error, points)
    want = stats.linregress([math.log(n) for n in lengths], [math.log(round(t)) for t in noisy])
    half = stats.t.ppf(0.975, len(lengths) - 2) * want.stderr
    assert exponent == pytest.approx(want.slope, rel=1e-9)
    assert low == pytest.approx(want.slope - half, rel=1e-9)
    assert high == pytest.approx(want.slope + half, rel=1e-9)
    assert r_squared == pytest.approx(want.rvalue**2, rel=1e-9)
    assert low < 1.2 < high


def test_two_lengths_give_an_exponent_and_no_interval_and_one_gives_neither(tmp_path):
    fit = "SELECT points, lengths, exponent, standard_error, r_squared FROM scaling_prefill"
    two = store(tmp_path / "two", [64, 128], prefill_ns=lambda n: n * n)
    assert rows(two, fit) == [(2, 2, pytest.approx(2.0), None, None)]
    assert rows(store(tmp_path / "one", [64, 64]), fit) == [(2, 1, None, None, None)]
    assert interval(2.0, None, 2) == interval(None, None, 2) == interval(1.0, None, 9) == (None, None)


def test_decode_gives_the_cost_of_a_cached_token(tmp_path):
    path = store(tmp_path / "s", [100, 200, 400])
    assert rows(path, "SELECT points, contexts, shortest_tokens, longest_tokens FROM scaling_decode") == [
        (3, 3, 101.5, 401.5)
    ]
    fit = "SELECT ns_per_cached_token, standard_error_ns, ns_at_empty_cache FROM scaling_decode"
    [(slope, standard_error, at_empty_cache)] = rows(path, fit)
    assert slope == pytest.approx(7.0)
    assert at_empty_cache == pytest.approx(50_000)
    assert interval(slope, standard_error, 3) == pytest.approx((7.0, 7.0), abs=1e-3)


def test_clean_latencies_only(tmp_path):
    path = store(tmp_path / "s", [100])
    assert rows(path, "SELECT prefill_ns, repeats, decode_ns, prefill_tokens_per_s FROM scaling_points") == [
        (100_000.0, 2, 50_000 + 7 * 101.5, 1e9 * 100 / 100_000)
    ]


def test_kv_linear_in_length_and_batch(tmp_path):
    path = store(tmp_path / "s", [8, 16], batches=(1, 2))
    assert rows(path, "SELECT * EXCLUDE series FROM scaling_kv") == [
        (12, 6, 2, 8, 18, 0, "holds", "holds", PER_TOKEN, 0, 12)
    ]


@pytest.mark.parametrize(
    ("kv_bytes", "length", "batch", "per_token", "fixed"),
    [
        # A fixed state beside the growing part is still linear.
        (lambda n, b: (PER_TOKEN * n + 4096) * b, "holds", "holds", PER_TOKEN, 4096),
        # One byte off at one point.
        (lambda n, b: PER_TOKEN * n * b + (n == 16 and b == 2), "does not hold", "does not hold", None, None),
        # A static cache does not grow.
        (lambda n, b: 65_536 * b, "does not hold", "holds", 0, 65_536),
        # A part that all sequences share.
        (lambda n, b: PER_TOKEN * n * b + 4096, "does not hold", "does not hold", None, None),
        # A window of 12 tokens.
        (lambda n, b: PER_TOKEN * min(n, 12) * b, "does not hold", "does not hold", None, None),
    ],
)
def test_kv_that_is_not_simply_proportional(tmp_path, kv_bytes, length, batch, per_token, fixed):
    path = store(tmp_path / "s", [8, 16], batches=(1, 2), kv_bytes=kv_bytes)
    assert rows(path, "SELECT linear_in_length, linear_in_batch, bytes_per_token, fixed_bytes FROM scaling_kv") == [
        (length, batch, per_token, fixed)
    ]


def test_kv_of_one_batch_says_nothing_about_batches(tmp_path):
    path = store(tmp_path / "s", [8, 16])
    assert rows(path, "SELECT linear_in_length, linear_in_batch FROM scaling_kv") == [("holds", "not established")]


def test_longest_context_from_headroom(tmp_path):
    path = store(tmp_path / "s", [8], batches=(1, 2), driver=1_000_000, limit=1_000_000 + 10 * PER_TOKEN + 3)
    assert rows(
        path,
        "SELECT batch_size, cached_tokens, headroom_bytes, longest_context_tokens FROM scaling_headroom ORDER BY 1",
    ) == [(1, 10, 10 * PER_TOKEN + 3, 20), (2, 10, 10 * PER_TOKEN + 3, 15)]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"device": "cpu", "driver": 0, "limit": None}, (None, None)),
        ({"driver": 0}, (None, None)),
        ({"limit": None}, (None, None)),
        ({"driver": 3 << 30}, (-(1 << 30), None)),
        ({"kv_bytes": lambda n, b: 65_536}, (1 << 30, None)),
    ],
)
def test_no_longest_context_without_its_numbers(tmp_path, options, want):
    path = store(tmp_path / "s", [8], **options)
    assert rows(path, "SELECT headroom_bytes, longest_context_tokens FROM scaling_headroom") == [want]


def test_runs_of_other_threads_or_warm_up_are_of_another_series(tmp_path):
    path = store(tmp_path / "s", [64, 128, 256])
    with writable_store(path) as con:
        con.execute("INSERT INTO passes (run_id, pass, status, detail) SELECT run_id, 'clean', 'measured', "
                    "json_object('cpu_threads', if(prompt_tokens = 256, 8, 2)) FROM runs")  # fmt: skip
        con.execute("""UPDATE runs SET manifest = '{"workload": {"warmup": 1}}'""")
    seen = "SELECT series, count(*), max(cpu_threads) FROM scaling_points GROUP BY series ORDER BY 2 DESC"
    (first, *told), (second, *other) = rows(path, seen)
    assert (told, other) == ([2, 2], [1, 8])
    assert first.endswith("CPU threads 2 · warm-up 1")
    assert second.endswith("CPU threads 8 · warm-up 1")
    with writable_store(path) as con:
        con.execute("""UPDATE runs SET manifest = '{"workload": {"warmup": 0}}' WHERE prompt_tokens = 64""")
    assert len(rows(path, seen)) == 3


def test_disturbed_runs_carry_the_mark_of_the_report(tmp_path):
    path = store(tmp_path / "s", [64, 128, 256], device="cpu")
    with writable_store(path) as con:
        con.execute("UPDATE phases SET cpu_ns = dur_ns")
        con.execute("UPDATE phases SET cpu_ns = dur_ns // 2 WHERE run_id = 'b1-p64-0' AND phase = 'decode'")
        con.execute(
            "UPDATE phases SET dur_ns = 3 * dur_ns, cpu_ns = 3 * cpu_ns WHERE run_id = 'b1-p128-1' AND step = 2"
        )
    assert rows(path, "SELECT run_id, disturbed FROM scaling_points ORDER BY prompt_tokens") == [
        ("b1-p64-0", "busy machine"),
        ("b1-p128-1", "decode steps far from alike"),
        ("b1-p256-2", None),
    ]
