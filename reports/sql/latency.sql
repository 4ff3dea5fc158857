-- Latencies to quote: the clean pass only, over all its repeats and steps.
SELECT
    phase,
    count(*) AS calls,
    count(DISTINCT repeat) AS repeats,
    median(dur_ns) AS median_ns,
    quantile_cont(dur_ns, 0.05) AS p5_ns,
    quantile_cont(dur_ns, 0.95) AS p95_ns,
    min(dur_ns) AS min_ns,
    max(dur_ns) AS max_ns,
    1e9 * median(tokens) / median(dur_ns) AS tokens_per_second,
    median(100.0 * cpu_ns / dur_ns) AS cpu_percent
FROM phases
WHERE run_id = $run_id AND pass = 'clean' AND dur_ns > 0
GROUP BY phase
ORDER BY phase = 'prefill' DESC, phase
