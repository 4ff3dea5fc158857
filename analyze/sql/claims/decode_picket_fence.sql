-- The work of each decode step as one burst, from its first row to its last: whether bursts follow one after the other,
-- and after how many of them there is a gap of 5 % of a step (burst and gap) or more.
-- Rows of the device where they are attributed, else operators when the CPU is the device.
-- Rows of a recording that failed one of its gates (metal_trust) are left out.
WITH pieces AS (
    SELECT k.pass, k.rank, k.repeat, k.step, 'device rows' AS basis, k.start_ns, k.start_ns + k.dur_ns AS end_ns
    FROM kernels k
    JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    ANTI JOIN (SELECT run_id, pass, rank FROM metal_trust WHERE run_id = $run_id AND verdict = 'not established') t USING (run_id, pass, rank)
    WHERE k.run_id = $run_id AND k.phase = 'decode' AND e.established
    UNION ALL
    SELECT o.pass, o.rank, o.repeat, o.step, 'operators', o.start_ns, o.start_ns + o.dur_ns
    FROM ops o
    JOIN runs r USING (run_id)
    WHERE o.run_id = $run_id AND o.phase = 'decode' AND o.layer = 'operator' AND o.depth = 0 AND r.device = 'cpu'
),
bursts AS (
    SELECT basis, pass, rank, repeat, step, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM pieces
    GROUP BY ALL
),
followed AS (
    SELECT
        *,
        start_ns - lag(end_ns) OVER same AS gap_ns,
        start_ns - lag(start_ns) OVER same AS step_ns
    FROM bursts
    WINDOW same AS (PARTITION BY basis, pass, rank, repeat ORDER BY start_ns)
)
SELECT
    basis, pass,
    count(*) AS bursts,
    count(gap_ns) AS successions,
    count(*) FILTER (gap_ns >= 0) AS sequential,
    count(*) FILTER (gap_ns >= 0.05 * step_ns) AS with_gap,
    median(end_ns - start_ns) AS median_burst_ns,
    median(gap_ns) FILTER (gap_ns > 0) AS median_gap_ns
FROM followed
GROUP BY basis, pass
ORDER BY basis, pass = 'metal' DESC, pass
LIMIT 1
