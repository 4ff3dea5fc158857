-- What the timeline shows: the lowest rank's first repeat of one traced pass, the profiled one if it has slices.
WITH traced AS (
    SELECT pass, rank, min(start_ns) AS start_ns, max(start_ns + dur_ns) AS end_ns, count(*) AS slices
    FROM (
        SELECT pass, rank, start_ns, dur_ns FROM ops WHERE run_id = $run_id AND layer = 'operator'
        UNION ALL
        SELECT pass, rank, start_ns, dur_ns FROM kernels WHERE run_id = $run_id
    )
    GROUP BY pass, rank
    ORDER BY pass = 'profiled' DESC, pass, rank
    LIMIT 1
), shown AS (
    SELECT traced.pass, traced.rank, min(phases.repeat) AS repeat
    FROM traced LEFT JOIN phases
        ON phases.run_id = $run_id AND phases.pass = traced.pass AND phases.rank = traced.rank
    GROUP BY ALL
)
SELECT
    traced.pass, traced.rank, shown.repeat,
    coalesce(min(phases.start_ns), any_value(traced.start_ns)) AS start_ns,
    coalesce(max(phases.start_ns + phases.dur_ns), any_value(traced.end_ns)) AS end_ns,
    (SELECT count(DISTINCT phases.repeat) FROM phases WHERE run_id = $run_id AND pass = traced.pass) AS repeats,
    (SELECT ranks FROM runs WHERE run_id = $run_id) AS ranks
FROM traced
JOIN shown USING (pass, rank)
LEFT JOIN phases
    ON phases.run_id = $run_id AND phases.pass = traced.pass AND phases.rank = traced.rank
    AND phases.repeat = shown.repeat AND phases.start_ns IS NOT NULL
GROUP BY traced.pass, traced.rank, shown.repeat
