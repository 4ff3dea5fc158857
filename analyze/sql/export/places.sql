-- What of a run can be drawn, by pass and rank, with what puts its zero on the wall clock.
-- A recording whose clock is not joined with its pass is drawn apart from the pass's own rows.
WITH pieces AS (
    SELECT pass, rank, false AS recorded, start_ns AS t_ns, start_ns + dur_ns AS end_ns, phase = 'prefill' AS prefill FROM phases
    WHERE run_id = $run_id AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
    UNION ALL
    SELECT pass, 0, false, t_ns, t_ns, false FROM samples WHERE run_id = $run_id AND t_ns IS NOT NULL
    UNION ALL
    SELECT pass, rank, true, start_ns, start_ns + dur_ns, false FROM ops WHERE run_id = $run_id
    UNION ALL
    SELECT pass, rank, true, start_ns, start_ns + dur_ns, false FROM kernels WHERE run_id = $run_id
    UNION ALL
    SELECT pass, rank, true, start_ns, start_ns + dur_ns, false FROM metal_encoders WHERE run_id = $run_id
    UNION ALL
    SELECT pass, rank, true, start_ns, start_ns, false FROM metal_allocated_size WHERE run_id = $run_id
    UNION ALL
    SELECT pass, rank, true, t_ns, t_ns, false FROM counters WHERE run_id = $run_id AND value IS NOT NULL
),
recordings AS (
    SELECT pass, rank, start_unix_ns, clock_method, clock_uncertainty_ns, pass_start_ns
    FROM instruments_recordings WHERE run_id = $run_id
),
origins AS (
    SELECT pass, rank, any_value(value)::BIGINT AS origin_unix_ns FROM trace_metadata
    WHERE run_id = $run_id AND key = 'phasescope.origin_unix_ns' GROUP BY ALL
),
begins AS (
    SELECT pass, any_value(detail ->> '$.clock.start.unix_ns')::BIGINT AS began_unix_ns FROM passes
    WHERE run_id = $run_id GROUP BY ALL
),
parts AS (
    SELECT p.pass, p.rank, p.recorded AND r.pass IS NOT NULL AND r.pass_start_ns IS NULL AS apart,
        min(p.t_ns) AS first_ns, max(p.end_ns) AS last_ns, min(p.t_ns) FILTER (p.prefill) AS prefill_ns
    FROM pieces p LEFT JOIN recordings r USING (pass, rank)
    GROUP BY ALL
)
SELECT
    p.pass, p.rank, p.apart, p.first_ns, p.last_ns, p.prefill_ns,
    CASE
        WHEN p.apart THEN r.start_unix_ns
        WHEN r.pass_start_ns IS NOT NULL THEN b.began_unix_ns - r.pass_start_ns
        ELSE coalesce(o.origin_unix_ns, b.began_unix_ns)
    END AS zero_unix_ns,
    CASE
        WHEN p.apart AND r.start_unix_ns IS NOT NULL THEN 'the start date of the recording, to the millisecond'
        WHEN p.apart THEN NULL
        WHEN r.pass_start_ns IS NOT NULL AND b.began_unix_ns IS NOT NULL
            THEN 'the wall clock read when the pass began; its recording joined by ' || r.clock_method
                || ', to ' || r.clock_uncertainty_ns || ' ns'
        WHEN o.origin_unix_ns IS NOT NULL THEN 'the base time of its trace'
        WHEN b.began_unix_ns IS NOT NULL THEN 'the wall clock read when the pass began'
    END AS placed_by
FROM parts p
LEFT JOIN recordings r USING (pass, rank)
LEFT JOIN origins o USING (pass, rank)
LEFT JOIN begins b USING (pass)
ORDER BY zero_unix_ns + first_ns NULLS LAST, p.pass, p.rank, p.apart
