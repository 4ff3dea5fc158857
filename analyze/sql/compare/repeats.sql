-- One row a repeat of the clean pass and phase: what the repeat has of it. Repeats are the unit of replication; steps
-- inside one are not independent, so each repeat yields one number.
SELECT
    repeat, phase,
    count(*) AS calls,
    sum(dur_ns)::BIGINT AS sum_ns,
    quantile_cont(dur_ns, 0.5) AS p50_ns,
    quantile_cont(dur_ns, 0.95) AS p95_ns,
    1e9 * sum(tokens) / sum(dur_ns) AS tokens_per_second,
    100.0 * sum(cpu_ns) / sum(dur_ns) AS cpu_percent
FROM phases
WHERE run_id = $run_id AND pass = 'clean' AND dur_ns > 0
GROUP BY repeat, phase
ORDER BY repeat, phase = 'prefill' DESC, phase
