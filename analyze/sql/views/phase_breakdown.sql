CREATE VIEW phase_breakdown AS
WITH host AS (
    SELECT
        o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, o.role,
        o.thread_id = p.thread_id OR p.thread_id IS NULL AS on_thread,
        o.start_ns,
        least(o.start_ns + o.dur_ns, p.start_ns + p.dur_ns) AS end_ns,
        o.depth
    FROM ops o
    JOIN phases p USING (run_id, pass, rank, repeat, phase, step)
    WHERE o.layer = 'operator'
),
counted AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        count(*) FILTER (role = 'operator') AS operators,
        count(*) FILTER (role = 'launch') AS launches
    FROM host
    GROUP BY ALL
),
top_added AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns))) AS added_ns
    FROM host
    WHERE on_thread AND depth = 0
    WINDOW earlier AS (
        PARTITION BY run_id, pass, rank, repeat, phase, step ORDER BY start_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
top_sum AS (
    SELECT run_id, pass, rank, repeat, phase, step, sum(added_ns)::BIGINT AS operator_ns FROM top_added GROUP BY ALL
),
sync_added AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns))) AS added_ns
    FROM host
    WHERE on_thread AND role = 'synchronisation'
    WINDOW earlier AS (
        PARTITION BY run_id, pass, rank, repeat, phase, step ORDER BY start_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
sync_sum AS (
    SELECT run_id, pass, rank, repeat, phase, step, sum(added_ns)::BIGINT AS sync_ns FROM sync_added GROUP BY ALL
),
device_added AS (
    SELECT
        run_id, pass, rank, repeat, phase, step, kind,
        greatest(0, start_ns + dur_ns - greatest(start_ns, coalesce(max(start_ns + dur_ns) OVER earlier, start_ns))) AS added_ns
    FROM kernels
    WHERE phase IS NOT NULL
    WINDOW earlier AS (
        PARTITION BY run_id, pass, rank, repeat, phase, step ORDER BY start_ns, dur_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
device_sum AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        sum(added_ns)::BIGINT AS device_busy_ns,
        count(*) FILTER (kind IN ('kernel', 'metal', 'other')) AS kernels
    FROM device_added
    GROUP BY ALL
),
-- gaps in which no device of the rank works: rows in order, and the ends of synchronised phases as rows of no length
idle_edges AS (
    SELECT run_id, pass, rank, repeat, phase, step, start_ns, start_ns + dur_ns AS end_ns FROM kernels
    UNION ALL
    SELECT run_id, pass, rank, repeat, phase, step, end_ns, end_ns FROM device_extent WHERE synchronised
),
idle_before AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY run_id, pass, rank ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns
    FROM idle_edges
),
idle_sum AS (
    SELECT
        run_id, pass, rank, repeat, phase, step,
        CASE WHEN any_value(e.established)
            THEN sum(greatest(0, b.start_ns - greatest(e.start_ns, coalesce(b.busy_until_ns, e.start_ns))))::BIGINT
        END AS device_idle_ns
    FROM idle_before b
    JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    GROUP BY ALL
),
traced AS (SELECT DISTINCT run_id, pass, rank FROM counted),
has_device AS (SELECT DISTINCT run_id, pass, rank FROM coverage)
SELECT
    p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step,
    p.dur_ns AS wall_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(o.operator_ns, 0) END AS operator_ns,
    CASE WHEN t.run_id IS NOT NULL THEN p.dur_ns - coalesce(o.operator_ns, 0) END AS between_operators_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(s.sync_ns, 0) END AS sync_ns,
    CASE WHEN h.run_id IS NOT NULL THEN coalesce(d.device_busy_ns, 0) END AS device_busy_ns,
    i.device_idle_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(c.operators, 0) END AS operators,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(c.launches, 0) END AS launches,
    CASE WHEN h.run_id IS NOT NULL THEN coalesce(d.kernels, 0) END AS kernels,
    100.0 * p.cpu_ns / nullif(p.dur_ns, 0) AS cpu_percent,
    p.tokens,
    p.cached_tokens
FROM phases p
LEFT JOIN traced t USING (run_id, pass, rank)
LEFT JOIN has_device h USING (run_id, pass, rank)
LEFT JOIN counted c USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN top_sum o USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN sync_sum s USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN device_sum d USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN idle_sum i USING (run_id, pass, rank, repeat, phase, step);
COMMENT ON VIEW phase_breakdown IS 'Where the time of each phase went. Only pass clean holds latencies to quote; the others explain.';
COMMENT ON COLUMN phase_breakdown.run_id IS 'Run.';
COMMENT ON COLUMN phase_breakdown.pass IS 'Pass.';
COMMENT ON COLUMN phase_breakdown.rank IS 'Rank.';
COMMENT ON COLUMN phase_breakdown.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN phase_breakdown.phase IS 'Phase.';
COMMENT ON COLUMN phase_breakdown.step IS 'Step.';
COMMENT ON COLUMN phase_breakdown.wall_ns IS 'Wall time of the phase; for servers the time of its range on the host, which may end before its device work.';
COMMENT ON COLUMN phase_breakdown.operator_ns IS 'Time in operators and runtime calls on the phase''s thread: union, cut at the phase''s end. NULL where the pass has none.';
COMMENT ON COLUMN phase_breakdown.between_operators_ns IS 'Wall time less operator_ns: Python and framework code.';
COMMENT ON COLUMN phase_breakdown.sync_ns IS 'The part of operator_ns in calls that wait for the device (role synchronisation).';
COMMENT ON COLUMN phase_breakdown.device_busy_ns IS 'Time in which device work of this phase ran on any device of the rank: union. NULL where the pass has no device rows.';
COMMENT ON COLUMN phase_breakdown.device_idle_ns IS 'Time inside the phase''s device_extent in which no device of the rank worked. NULL where that is not established: under 99 % of device time attributed, or over 1 % of the phase''s launches without device row.';
COMMENT ON COLUMN phase_breakdown.operators IS 'Operators, nested ones included, runtime calls not.';
COMMENT ON COLUMN phase_breakdown.launches IS 'Calls that launch a kernel or a graph.';
COMMENT ON COLUMN phase_breakdown.kernels IS 'Kernels that the phase launched, copies and sets not counted.';
COMMENT ON COLUMN phase_breakdown.cpu_percent IS 'CPU time of the process as per cent of one core over the wall time; above 100 with several threads. NULL where not measured.';
COMMENT ON COLUMN phase_breakdown.tokens IS 'Tokens processed.';
COMMENT ON COLUMN phase_breakdown.cached_tokens IS 'Tokens in the KV cache after it.';
