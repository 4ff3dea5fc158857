-- Times are unions of intervals: a row adds only what lies behind everything that began before it.
CREATE VIEW phase_breakdown AS
WITH host AS (
    SELECT
        p.rowid AS phase_row, o.run_id, o.pass, o.rank, o.role, o.depth, o.start_ns,
        o.thread_id = p.thread_id OR p.thread_id IS NULL AS on_thread,
        least(o.start_ns + o.dur_ns, p.start_ns + p.dur_ns) AS end_ns
    FROM ops o
    LEFT JOIN phases p USING (run_id, pass, rank, repeat, phase, step)
    WHERE o.role IS NOT NULL
),
traced AS (SELECT DISTINCT run_id, pass, rank FROM host),
counted AS (
    SELECT
        run_id, phase_row,
        count(*) FILTER (role = 'operator') AS operators,
        count(*) FILTER (role = 'launch') AS launches,
        -- A phase may begin inside an operator. No slice of the phase is then nested less deeply in others of the
        -- phase than one at the depth of its first, so that deeper ones add nothing.
        arg_min(depth, start_ns) FILTER (on_thread) AS top_depth
    FROM host
    WHERE phase_row IS NOT NULL
    GROUP BY run_id, phase_row
),
host_added AS (
    SELECT
        run_id, phase_row, false AS sync,
        end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns)) AS added_ns
    FROM host
    JOIN counted USING (run_id, phase_row)
    WHERE on_thread AND depth <= top_depth
    WINDOW earlier AS (PARTITION BY run_id, phase_row ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    UNION ALL
    SELECT run_id, phase_row, true, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns))
    FROM host
    WHERE on_thread AND role = 'synchronisation'
    WINDOW earlier AS (PARTITION BY run_id, phase_row ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
host_time AS (
    SELECT
        run_id, phase_row,
        sum(added_ns) FILTER (added_ns > 0 AND NOT sync)::BIGINT AS operator_ns,
        sum(added_ns) FILTER (added_ns > 0 AND sync)::BIGINT AS sync_ns
    FROM host_added
    GROUP BY run_id, phase_row
),
device AS (
    SELECT p.rowid AS phase_row, k.run_id, k.pass, k.rank, k.kind, k.start_ns, k.start_ns + k.dur_ns AS end_ns
    FROM own_device_rows k
    LEFT JOIN phases p USING (run_id, pass, rank, repeat, phase, step)
),
with_device AS (SELECT DISTINCT run_id, pass, rank FROM device),
device_added AS (
    SELECT
        run_id, phase_row, kind,
        end_ns - greatest(start_ns, coalesce(max(end_ns) OVER earlier, start_ns)) AS added_ns
    FROM device
    WHERE phase_row IS NOT NULL
    WINDOW earlier AS (PARTITION BY run_id, phase_row ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
device_time AS (
    SELECT
        run_id, phase_row,
        sum(added_ns) FILTER (added_ns > 0)::BIGINT AS device_busy_ns,
        count(*) FILTER (kind IN ('kernel', 'metal', 'other')) AS kernels
    FROM device_added
    GROUP BY run_id, phase_row
),
extent AS (
    SELECT p.rowid AS phase_row, e.run_id, e.pass, e.rank, e.start_ns, e.end_ns, e.synchronised, e.established
    FROM device_extent e
    JOIN phases p USING (run_id, pass, rank, repeat, phase, step)
),
-- Gaps in which no device of the rank works: between its rows in order, the ends of synchronised phases among them as
-- rows of no length. A gap belongs to the phase of the row that ends it, from the begin of that phase's extent.
edges AS (
    SELECT run_id, pass, rank, phase_row, start_ns, end_ns FROM device
    UNION ALL
    SELECT run_id, pass, rank, phase_row, end_ns, end_ns FROM extent WHERE synchronised
),
gaps AS (
    SELECT
        run_id, phase_row, start_ns,
        max(end_ns) OVER (
            PARTITION BY run_id, pass, rank ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS busy_until_ns
    FROM edges
),
idle AS (
    SELECT
        run_id, phase_row,
        sum(greatest(0, g.start_ns - greatest(e.start_ns, coalesce(g.busy_until_ns, e.start_ns))))::BIGINT AS device_idle_ns
    FROM gaps g
    JOIN extent e USING (run_id, phase_row)
    WHERE e.established
    GROUP BY run_id, phase_row
)
SELECT
    p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step,
    p.dur_ns AS wall_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(h.operator_ns, 0) END AS operator_ns,
    CASE WHEN t.run_id IS NOT NULL THEN p.dur_ns - coalesce(h.operator_ns, 0) END AS between_operators_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(h.sync_ns, 0) END AS sync_ns,
    CASE WHEN w.run_id IS NOT NULL THEN coalesce(d.device_busy_ns, 0) END AS device_busy_ns,
    i.device_idle_ns,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(c.operators, 0) END AS operators,
    CASE WHEN t.run_id IS NOT NULL THEN coalesce(c.launches, 0) END AS launches,
    CASE WHEN w.run_id IS NOT NULL THEN coalesce(d.kernels, 0) END AS kernels,
    100.0 * p.cpu_ns / nullif(p.dur_ns, 0) AS cpu_percent,
    p.tokens,
    p.cached_tokens
FROM phases p
LEFT JOIN traced t USING (run_id, pass, rank)
LEFT JOIN with_device w USING (run_id, pass, rank)
LEFT JOIN counted c ON c.run_id = p.run_id AND c.phase_row = p.rowid
LEFT JOIN host_time h ON h.run_id = p.run_id AND h.phase_row = p.rowid
LEFT JOIN device_time d ON d.run_id = p.run_id AND d.phase_row = p.rowid
LEFT JOIN idle i ON i.run_id = p.run_id AND i.phase_row = p.rowid;
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
