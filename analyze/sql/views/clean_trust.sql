-- Times to quote, and times not to quote: by CPU time (clean_cpu), and by decode steps that are far from alike.
CREATE VIEW clean_trust AS
WITH busy AS (
    SELECT
        run_id,
        arg_max(phase, phase = 'prefill') AS busy_phase,
        arg_max(cpu_percent, phase = 'prefill') AS busy_cpu_percent
    FROM clean_cpu
    WHERE busy_elsewhere
    GROUP BY run_id
),
decode AS (
    SELECT run_id, quantile_cont(dur_ns, 0.05) AS decode_p5_ns, quantile_cont(dur_ns, 0.95) AS decode_p95_ns
    FROM phases
    WHERE pass = 'clean' AND phase = 'decode' AND dur_ns > 0
    GROUP BY run_id
)
SELECT
    r.run_id,
    CASE
        WHEN b.busy_phase IS NOT NULL THEN 'busy machine'
        WHEN d.decode_p95_ns > 2 * d.decode_p5_ns THEN 'decode steps far from alike'
    END AS disturbed,
    b.busy_phase, b.busy_cpu_percent, d.decode_p5_ns, d.decode_p95_ns
FROM runs r
LEFT JOIN busy b USING (run_id)
LEFT JOIN decode d USING (run_id)
WHERE EXISTS (FROM phases p WHERE p.run_id = r.run_id AND p.pass = 'clean');
COMMENT ON VIEW clean_trust IS 'Runs with a clean pass, and why their clean times are not to be quoted, if so. Reports and sites mark such runs by this.';
COMMENT ON COLUMN clean_trust.run_id IS 'Run.';
COMMENT ON COLUMN clean_trust.disturbed IS 'busy machine (by clean_cpu), decode steps far from alike (p95 over twice p5), or NULL: the times may be quoted.';
COMMENT ON COLUMN clean_trust.busy_phase IS 'Phase in which other work had the machine, prefill where both; NULL where none.';
COMMENT ON COLUMN clean_trust.busy_cpu_percent IS 'CPU time in that phase, per cent of one core.';
COMMENT ON COLUMN clean_trust.decode_p5_ns IS '5th percentile over the decode steps of all repeats.';
COMMENT ON COLUMN clean_trust.decode_p95_ns IS '95th percentile over the decode steps of all repeats.';
