-- Where the device's work for a phase is looked for, and whether "idle" may be said of it.
-- A synchronised loop (ours) ends its device work inside the phase: there the extent is the phase itself. A server's loop
-- runs ahead of the device (in a real vLLM trace no kernel starts inside the CPU range of its step): there it is
-- the stretch from the first to the last row that the phase launched.
CREATE VIEW device_extent AS
WITH placed AS (
    SELECT
        k.run_id, k.pass, k.rank, k.repeat, k.phase, k.step,
        min(k.start_ns) AS first_ns,
        max(k.start_ns + k.dur_ns) AS last_ns,
        count(*) AS rows_all,
        count(*) FILTER (k.start_ns >= p.start_ns AND k.start_ns + k.dur_ns <= p.start_ns + p.dur_ns) AS rows_inside
    FROM kernels k
    LEFT JOIN phases p USING (run_id, pass, rank, repeat, phase, step)
    GROUP BY ALL
),
ranks AS (
    SELECT
        run_id, pass, rank,
        sum(rows_inside) FILTER (phase IS NOT NULL) >= 0.99 * sum(rows_all) FILTER (phase IS NOT NULL) AS synchronised
    FROM placed
    GROUP BY ALL
),
marked AS (
    SELECT run_id, pass, rank, min(start_ns) AS first_ns, max(start_ns + dur_ns) AS last_ns FROM phases GROUP BY ALL
),
-- A recording of Metal holds warm-up and the probe, too, which are outside all marks and no gap in them.
covered AS (
    SELECT
        k.run_id, k.pass, k.rank,
        coalesce(sum(k.dur_ns) FILTER (k.attributed_by <> 'unattributed') / nullif(sum(k.dur_ns), 0), 0) AS share
    FROM own_device_rows k
    LEFT JOIN marked m USING (run_id, pass, rank)
    WHERE k.kind <> 'metal' OR (k.start_ns < m.last_ns AND k.start_ns + k.dur_ns > m.first_ns)
    GROUP BY ALL
),
called AS (
    SELECT o.run_id, o.pass, o.rank, o.repeat, o.phase, o.step, count(*) AS launches, count(k.launch_op_id) AS with_rows
    FROM ops o
    LEFT JOIN (SELECT DISTINCT run_id, launch_op_id FROM kernels) k ON k.run_id = o.run_id AND k.launch_op_id = o.op_id
    WHERE o.role = 'launch'
    GROUP BY ALL
)
SELECT
    p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step,
    CASE WHEN r.synchronised THEN p.start_ns ELSE d.first_ns END AS start_ns,
    CASE WHEN r.synchronised THEN p.start_ns + p.dur_ns ELSE d.last_ns END AS end_ns,
    coalesce(r.synchronised, false) AS synchronised,
    d.rows_all IS NOT NULL AND v.share >= 0.99 AND coalesce(c.with_rows >= 0.99 * c.launches, true) AS established
FROM phases p
JOIN ranks r USING (run_id, pass, rank)
JOIN covered v USING (run_id, pass, rank)
LEFT JOIN placed d USING (run_id, pass, rank, repeat, phase, step)
LEFT JOIN called c USING (run_id, pass, rank, repeat, phase, step);
COMMENT ON VIEW device_extent IS 'Where the device work of a phase is looked for, and whether its gaps may be called idle. One row a phase in passes with device rows.';
COMMENT ON COLUMN device_extent.run_id IS 'Run.';
COMMENT ON COLUMN device_extent.pass IS 'Pass.';
COMMENT ON COLUMN device_extent.rank IS 'Rank.';
COMMENT ON COLUMN device_extent.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN device_extent.phase IS 'Phase.';
COMMENT ON COLUMN device_extent.step IS 'Step.';
COMMENT ON COLUMN device_extent.start_ns IS 'Begin: of the phase in a synchronised loop, else of the first device row that it launched; NULL when it launched none.';
COMMENT ON COLUMN device_extent.end_ns IS 'End: of the phase in a synchronised loop, else of the last device row that it launched.';
COMMENT ON COLUMN device_extent.synchronised IS 'At least 99 % of the rank''s attributed device rows lie inside the wall time of their phase.';
COMMENT ON COLUMN device_extent.established IS 'Gaps may be called idle: at least 99 % of the rank''s device time is attributed, and at least 99 % of the phase''s launches have a device row.';
