CREATE VIEW step_latency AS
WITH clean AS (
    SELECT
        run_id, phase, step,
        max(cached_tokens) AS cached_tokens,
        count(*) AS repeats,
        quantile_cont(dur_ns, 0.5) AS median_ns,
        quantile_cont(dur_ns, 0.05) AS p5_ns,
        quantile_cont(dur_ns, 0.95) AS p95_ns,
        min(dur_ns) AS min_ns,
        max(dur_ns) AS max_ns,
        100.0 * sum(cpu_ns) / nullif(sum(dur_ns), 0) AS cpu_percent
    FROM phases
    WHERE pass = 'clean'
    GROUP BY ALL
),
profiled AS (
    SELECT run_id, phase, step, quantile_cont(dur_ns, 0.5) AS profiled_ns
    FROM phases
    WHERE pass = 'profiled'
    GROUP BY ALL
)
SELECT clean.*, profiled.profiled_ns
FROM clean
LEFT JOIN profiled USING (run_id, phase, step);
COMMENT ON VIEW step_latency IS 'Latency of each step in the clean pass, over its repeats. The only latencies to quote.';
COMMENT ON COLUMN step_latency.run_id IS 'Run.';
COMMENT ON COLUMN step_latency.phase IS 'prefill or decode.';
COMMENT ON COLUMN step_latency.step IS '0 for prefill, 1 and on for decode.';
COMMENT ON COLUMN step_latency.cached_tokens IS 'Tokens of one sequence in the cache after the step.';
COMMENT ON COLUMN step_latency.repeats IS 'Measurements of this step.';
COMMENT ON COLUMN step_latency.median_ns IS 'Median wall time.';
COMMENT ON COLUMN step_latency.p5_ns IS '5th percentile, interpolated between neighbours.';
COMMENT ON COLUMN step_latency.p95_ns IS '95th percentile, interpolated between neighbours.';
COMMENT ON COLUMN step_latency.min_ns IS 'Shortest.';
COMMENT ON COLUMN step_latency.max_ns IS 'Longest.';
COMMENT ON COLUMN step_latency.cpu_percent IS 'CPU time of the process over the repeats as per cent of one core.';
COMMENT ON COLUMN step_latency.profiled_ns IS 'Median of the same step in the profiled pass: what profiling costs, never a latency to quote.';
