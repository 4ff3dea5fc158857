-- Gaps between device work inside a phase, split by what the trace shows of the reason; and copies that run alone.
-- A gap lies between the end of all earlier work of its device and the next row; it belongs to the phase of that
-- row, and begins no earlier than that phase's extent. In a synchronised loop the stretch from the last row to
-- the end of the phase is a gap too.
CREATE VIEW device_idle AS
WITH work AS (
    SELECT run_id, pass, rank, device, repeat, phase, step, start_ns, start_ns + dur_ns AS end_ns, launch_op_id, true AS is_row
    FROM kernels
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
-- Each gap before and after the launch of the row that ends it, and the calls that wait for the device: +1 at the
-- begin, -1 at the end; their running sums say what holds between one edge and the next.
parts AS (
    SELECT
        run_id, pass, rank, device, phase, step, gap_start_ns AS start_ns,
        least(gap_end_ns, greatest(gap_start_ns, coalesce(launched_ns, gap_end_ns))) AS end_ns,
        CASE WHEN established THEN 'host' ELSE 'not established' END AS cause
    FROM gaps
    UNION ALL
    SELECT
        run_id, pass, rank, device, phase, step, greatest(gap_start_ns, launched_ns), gap_end_ns,
        CASE WHEN established THEN 'launch' ELSE 'not established' END
    FROM gaps
    WHERE launched_ns < gap_end_ns
),
edges AS (
    SELECT run_id, pass, rank, device, start_ns AS t_ns, 1 AS gap, 0 AS sync, {'phase': phase, 'step': step, 'cause': cause} AS what
    FROM parts
    WHERE start_ns < end_ns
    UNION ALL
    SELECT run_id, pass, rank, device, end_ns, -1, 0, NULL
    FROM parts
    WHERE start_ns < end_ns
    UNION ALL
    SELECT o.run_id, o.pass, o.rank, d.device, unnest([o.start_ns, o.start_ns + o.dur_ns]), 0, unnest([1, -1]), NULL
    FROM ops o
    JOIN (SELECT DISTINCT run_id, pass, rank, device FROM gaps) d USING (run_id, pass, rank)
    WHERE o.role = 'synchronisation' AND o.dur_ns > 0
),
swept AS (
    SELECT
        run_id, pass, rank, device, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(gap) OVER ordered AS gap,
        sum(sync) OVER ordered AS sync,
        last_value(what IGNORE NULLS) OVER ordered AS what
    FROM edges
    WINDOW ordered AS (PARTITION BY run_id, pass, rank, device ORDER BY t_ns, gap ROWS UNBOUNDED PRECEDING)
),
engine_edges AS (
    SELECT
        k.run_id, k.pass, k.rank, k.device, unnest([k.start_ns, k.start_ns + k.dur_ns]) AS t_ns,
        unnest([1, -1]) * (k.kind = 'memcpy')::INTEGER AS copies,
        unnest([1, -1]) * (k.kind <> 'memcpy')::INTEGER AS others,
        CASE WHEN k.kind = 'memcpy' THEN {'phase': k.phase, 'step': k.step} END AS what
    FROM kernels k
    SEMI JOIN (SELECT run_id, pass, rank, device FROM kernels WHERE kind = 'memcpy') c USING (run_id, pass, rank, device)
    WHERE k.dur_ns > 0
),
engines AS (
    SELECT
        run_id, pass, rank, device, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(copies) OVER ordered AS copies,
        sum(others) OVER ordered AS others,
        last_value(what IGNORE NULLS) OVER ordered AS what
    FROM engine_edges
    WINDOW ordered AS (PARTITION BY run_id, pass, rank, device ORDER BY t_ns, copies ROWS UNBOUNDED PRECEDING)
)
SELECT
    run_id, pass, rank, device, what.phase AS phase, what.step AS step, t_ns AS start_ns, dur_ns,
    CASE WHEN what.cause = 'host' AND sync > 0 THEN 'synchronisation' ELSE what.cause END AS cause
FROM swept
WHERE gap > 0 AND dur_ns > 0
UNION ALL
SELECT run_id, pass, rank, device, what.phase, what.step, t_ns, dur_ns, 'copy'
FROM engines
WHERE copies > 0 AND others = 0 AND dur_ns > 0;
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
