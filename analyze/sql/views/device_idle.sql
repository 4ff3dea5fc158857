-- Gaps between device work inside a phase, split by what the trace shows of the reason.
-- A gap lies between the end of all earlier work of its device and the next kernel; it belongs to the phase of that
-- kernel, and begins no earlier than that phase's extent. In a synchronised loop the stretch from the last row to
-- the end of the phase is a gap too. Copies are no kernels: a gap during which the copy engine works has cause `copy`.
CREATE VIEW device_idle AS
WITH work AS (
    SELECT run_id, pass, rank, device, repeat, phase, step, start_ns, start_ns + dur_ns AS end_ns, launch_op_id, true AS is_row
    FROM kernels
    WHERE kind <> 'memcpy'
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
            PARTITION BY run_id, pass, rank, device ORDER BY start_ns, is_row DESC, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns
    FROM work
),
gaps AS (
    SELECT
        b.run_id, b.pass, b.rank, b.device, b.repeat, b.phase, b.step,
        greatest(coalesce(b.busy_until_ns, e.start_ns), coalesce(e.start_ns, b.busy_until_ns)) AS gap_start_ns,
        b.start_ns AS gap_end_ns,
        o.start_ns AS launched_ns,
        coalesce(e.established, false) AND (o.op_id IS NOT NULL OR NOT b.is_row) AS established
    FROM before b
    LEFT JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    LEFT JOIN ops o ON o.run_id = b.run_id AND o.op_id = b.launch_op_id
    WHERE b.busy_until_ns < b.start_ns OR (b.busy_until_ns IS NULL AND e.start_ns < b.start_ns)
),
-- the sweep: +1 and -1 for each gap before its launch, gap after its launch, synchronisation call and copy
edges AS (
    SELECT run_id, pass, rank, device, gap_start_ns AS t_ns, 1 AS gap, 0 AS sync, 0 AS copy,
           {'repeat': repeat, 'phase': phase, 'step': step, 'cause': CASE WHEN NOT established THEN 'not established' ELSE 'host' END} AS what
    FROM gaps WHERE gap_start_ns < least(gap_end_ns, coalesce(launched_ns, gap_end_ns))
    UNION ALL
    SELECT run_id, pass, rank, device, least(gap_end_ns, coalesce(launched_ns, gap_end_ns)), -1, 0, 0, NULL
    FROM gaps WHERE gap_start_ns < least(gap_end_ns, coalesce(launched_ns, gap_end_ns))
    UNION ALL
    SELECT run_id, pass, rank, device, greatest(gap_start_ns, launched_ns), 1, 0, 0,
           {'repeat': repeat, 'phase': phase, 'step': step, 'cause': CASE WHEN NOT established THEN 'not established' ELSE 'launch' END}
    FROM gaps WHERE launched_ns < gap_end_ns
    UNION ALL
    SELECT run_id, pass, rank, device, gap_end_ns, -1, 0, 0, NULL
    FROM gaps WHERE launched_ns < gap_end_ns
    UNION ALL
    SELECT o.run_id, o.pass, o.rank, d.device, unnest([o.start_ns, o.start_ns + o.dur_ns]), 0, unnest([1, -1]), 0, NULL
    FROM ops o
    JOIN (SELECT DISTINCT run_id, pass, rank, device FROM gaps) d USING (run_id, pass, rank)
    WHERE o.role = 'synchronisation' AND o.dur_ns > 0
    UNION ALL
    SELECT run_id, pass, rank, device, unnest([start_ns, start_ns + dur_ns]), 0, 0, unnest([1, -1]), NULL
    FROM kernels
    WHERE kind = 'memcpy' AND dur_ns > 0
),
swept AS (
    SELECT
        run_id, pass, rank, device, t_ns,
        lead(t_ns) OVER ordered - t_ns AS dur_ns,
        sum(gap) OVER ordered AS gap,
        sum(sync) OVER ordered AS sync,
        sum(copy) OVER ordered AS copy,
        last_value(what IGNORE NULLS) OVER ordered AS what
    FROM edges
    WINDOW ordered AS (PARTITION BY run_id, pass, rank, device ORDER BY t_ns, gap, what IS NOT NULL ROWS UNBOUNDED PRECEDING)
)
SELECT
    run_id, pass, rank, device, what.phase AS phase, what.step AS step, t_ns AS start_ns, dur_ns,
    CASE
        WHEN copy > 0 THEN 'copy'
        WHEN what.cause = 'host' AND sync > 0 THEN 'synchronisation'
        ELSE what.cause
    END AS cause
FROM swept
WHERE gap > 0 AND dur_ns > 0;
COMMENT ON VIEW device_idle IS 'Stretches inside a phase in which a device runs no kernel, with the cause where the trace shows it. Rows with cause copy are not idle: the copy engine works. Sums of the others are phase_breakdown.device_idle_ns (one device a rank).';
COMMENT ON COLUMN device_idle.run_id IS 'Run.';
COMMENT ON COLUMN device_idle.pass IS 'Pass.';
COMMENT ON COLUMN device_idle.rank IS 'Rank.';
COMMENT ON COLUMN device_idle.device IS 'Device within the rank.';
COMMENT ON COLUMN device_idle.phase IS 'Phase of the kernel that ends the gap; NULL when that is unattributed.';
COMMENT ON COLUMN device_idle.step IS 'Step of that phase.';
COMMENT ON COLUMN device_idle.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN device_idle.dur_ns IS 'Duration.';
COMMENT ON COLUMN device_idle.cause IS 'host (the launch of the next kernel has not begun), synchronisation (nor has it, and the host waits in a synchronisation call), launch (its launch began, the kernel did not: launch overhead or queueing), copy (the copy engine works), or not established: under 99 % of device time attributed, or over 1 % of launches without device row, or the next kernel has no launch.';
