-- Gaps between device work inside a phase, split by what the trace shows of the reason; and copies that run alone.
-- A gap lies between the end of all earlier work of its device and the next row; it belongs to the phase of that
-- row, and begins no earlier than that phase's extent. In a synchronised loop the stretch from the last row to
-- the end of the phase is a gap too.
CREATE VIEW device_idle AS
WITH work AS (
    SELECT run_id, pass, rank, device, repeat, phase, step, start_ns, start_ns + dur_ns AS end_ns, launch_op_id, true AS is_row
    FROM own_device_rows
    UNION ALL
    SELECT e.run_id, e.pass, e.rank, d.device, e.repeat, e.phase, e.step, e.end_ns, e.end_ns, NULL, false
    FROM device_extent e
    JOIN (SELECT DISTINCT run_id, pass, rank, device FROM kernels) d USING (run_id, pass, rank)
    WHERE e.synchronised
),
before AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY run_id, pass, rank, device ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns
    FROM work
),
gaps AS (
    SELECT
        b.run_id, b.pass, b.rank, b.device, b.phase, b.step,
        greatest(b.busy_until_ns, e.start_ns) AS gap_start_ns, -- greatest passes over NULL
        b.start_ns AS gap_end_ns,
        o.start_ns AS launched_ns,
        coalesce(e.established, false) AND (o.op_id IS NOT NULL OR NOT b.is_row) AS established
    FROM before b
    LEFT JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    LEFT JOIN ops o ON o.run_id = b.run_id AND o.op_id = b.launch_op_id
    WHERE coalesce(b.busy_until_ns, e.start_ns) < b.start_ns
),
-- Each gap before and after the launch of the row that ends it.
parts AS (
    SELECT
        run_id, pass, rank, device, phase, step, gap_start_ns AS start_ns,
        least(gap_end_ns, coalesce(launched_ns, gap_end_ns)) AS end_ns,
        CASE WHEN established THEN 'host' ELSE 'not established' END AS cause
    FROM gaps
    WHERE gap_start_ns < launched_ns OR launched_ns IS NULL
    UNION ALL
    SELECT
        run_id, pass, rank, device, phase, step, greatest(gap_start_ns, launched_ns), gap_end_ns,
        CASE WHEN established THEN 'launch' ELSE 'not established' END
    FROM gaps
    WHERE launched_ns < gap_end_ns
),
-- Calls that wait for the device, and how far those begun so far reach: few gaps meet one, and only these are swept.
waits AS (
    SELECT
        run_id, pass, rank, start_ns, start_ns + dur_ns AS end_ns,
        max(start_ns + dur_ns) OVER (PARTITION BY run_id, pass, rank ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS reach_ns
    FROM ops
    WHERE role = 'synchronisation' AND dur_ns > 0
),
met AS (
    SELECT p.*, coalesce(p.cause = 'host' AND w.reach_ns > p.start_ns, false) AS waited
    FROM parts p
    ASOF LEFT JOIN waits w ON p.run_id = w.run_id AND p.pass = w.pass AND p.rank = w.rank AND p.end_ns > w.start_ns
),
-- +1 at the begin and -1 at the end of gaps and waits; the running sums say what holds between one edge and the next.
edges AS (
    SELECT
        run_id, pass, rank, device, unnest([start_ns, end_ns]) AS t_ns, unnest([1, -1]) AS gap, 0 AS wait,
        unnest([phase, NULL]) AS phase, unnest([step, NULL]) AS step
    FROM met
    WHERE waited
    UNION ALL
    SELECT w.run_id, w.pass, w.rank, d.device, unnest([w.start_ns, w.end_ns]), 0, unnest([1, -1]), NULL, NULL
    FROM waits w
    JOIN (SELECT DISTINCT run_id, pass, rank, device FROM met WHERE waited) d USING (run_id, pass, rank)
),
swept AS (
    SELECT
        run_id, pass, rank, device, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(gap) OVER ordered AS gap,
        sum(wait) OVER ordered AS wait,
        last_value(phase IGNORE NULLS) OVER ordered AS phase,
        last_value(step IGNORE NULLS) OVER ordered AS step
    FROM edges
    WINDOW ordered AS (PARTITION BY run_id, pass, rank, device ORDER BY t_ns, gap ROWS UNBOUNDED PRECEDING)
),
-- Copies, and the other rows that meet one.
copies AS (
    SELECT
        run_id, pass, rank, device, start_ns, start_ns + dur_ns AS end_ns, phase, step,
        max(start_ns + dur_ns) OVER (PARTITION BY run_id, pass, rank, device ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS reach_ns
    FROM kernels
    WHERE kind = 'memcpy' AND dur_ns > 0
),
engine_edges AS (
    SELECT
        run_id, pass, rank, device, unnest([start_ns, end_ns]) AS t_ns, unnest([1, -1]) AS copying, 0 AS other,
        unnest([coalesce(phase, ''), NULL]) AS phase, unnest([coalesce(step, -1), NULL]) AS step
    FROM copies
    UNION ALL
    SELECT
        k.run_id, k.pass, k.rank, k.device, unnest([k.start_ns, k.end_ns]), 0, unnest([1, -1]), NULL, NULL
    FROM (SELECT *, start_ns + dur_ns AS end_ns FROM kernels WHERE kind <> 'memcpy' AND dur_ns > 0) k
    ASOF JOIN copies c
        ON k.run_id = c.run_id AND k.pass = c.pass AND k.rank = c.rank AND k.device = c.device AND k.end_ns > c.start_ns
    WHERE c.reach_ns > k.start_ns
),
engines AS (
    SELECT
        run_id, pass, rank, device, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(copying) OVER ordered AS copying,
        sum(other) OVER ordered AS other,
        last_value(phase IGNORE NULLS) OVER ordered AS phase,
        last_value(step IGNORE NULLS) OVER ordered AS step
    FROM engine_edges
    WINDOW ordered AS (PARTITION BY run_id, pass, rank, device ORDER BY t_ns, copying ROWS UNBOUNDED PRECEDING)
)
SELECT run_id, pass, rank, device, phase, step, start_ns, end_ns - start_ns AS dur_ns, cause
FROM met
WHERE NOT waited
UNION ALL
SELECT run_id, pass, rank, device, phase, step, t_ns, dur_ns, CASE WHEN wait > 0 THEN 'synchronisation' ELSE 'host' END
FROM swept
WHERE gap > 0 AND dur_ns > 0
UNION ALL
SELECT run_id, pass, rank, device, nullif(phase, ''), nullif(step, -1), t_ns, dur_ns, 'copy'
FROM engines
WHERE copying > 0 AND other = 0 AND dur_ns > 0;
COMMENT ON VIEW device_idle IS 'Stretches inside a phase in which a device runs no kernel, with the cause where the trace shows it. Rows with cause copy are not idle: the copy engine works. Sums of the others are phase_breakdown.device_idle_ns (one device a rank).';
COMMENT ON COLUMN device_idle.run_id IS 'Run.';
COMMENT ON COLUMN device_idle.pass IS 'Pass.';
COMMENT ON COLUMN device_idle.rank IS 'Rank.';
COMMENT ON COLUMN device_idle.device IS 'Device within the rank.';
COMMENT ON COLUMN device_idle.phase IS 'Phase of the row that ends the gap, or of the copy; NULL outside every phase.';
COMMENT ON COLUMN device_idle.step IS 'Step of that phase.';
COMMENT ON COLUMN device_idle.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN device_idle.dur_ns IS 'Duration.';
COMMENT ON COLUMN device_idle.cause IS 'host (the launch of the next row has not begun, or nothing follows in the phase), synchronisation (the same, while the host waits in a synchronisation call), launch (its launch began, the row did not: launch overhead or queueing), copy (a copy runs alone), or not established: under 99 % of device time attributed, or over 1 % of the phase''s launches without device row, or the next row has no launch.';
