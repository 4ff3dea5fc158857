-- The thread whose time a phase is: its own; for a phase that a timer or the whole trace gave, the rank's busiest; none for a range of
-- a device's stream and in a pass without operators. A phase that begins inside an earlier one of its thread is left out.
CREATE VIEW phase_threads AS
WITH traced AS (
    SELECT run_id, pass, rank, thread_id, sum(self_ns) AS busy_ns
    FROM ops WHERE layer = 'operator' AND role IS NOT NULL
    GROUP BY ALL
),
main_thread AS (SELECT run_id, pass, rank, arg_max(thread_id, (busy_ns, -thread_id)) AS thread_id FROM traced GROUP BY ALL),
device_passes AS (SELECT DISTINCT run_id, pass, rank FROM kernels),
placed AS (
    SELECT
        p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, p.start_ns, p.dur_ns,
        CASE
            WHEN m.run_id IS NULL THEN NULL
            WHEN p.thread_id IS NOT NULL THEN p.thread_id
            WHEN p.source IN ('timer', 'whole_trace') THEN m.thread_id
        END AS thread_id,
        coalesce(e.synchronised AND e.established, false) AS idle_known
    FROM phases p
    LEFT JOIN main_thread m USING (run_id, pass, rank)
    LEFT JOIN device_passes d USING (run_id, pass, rank)
    LEFT JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    WHERE p.start_ns IS NOT NULL AND p.dur_ns > 0 AND (m.run_id IS NOT NULL OR d.run_id IS NOT NULL)
)
SELECT *
FROM placed
QUALIFY start_ns >= coalesce(max(start_ns + dur_ns) OVER (
    PARTITION BY run_id, pass, rank, thread_id ORDER BY start_ns, dur_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
), start_ns);
COMMENT ON VIEW phase_threads IS 'The thread whose time each phase is split into by time_budget; passes without operators and device rows have no row.';
COMMENT ON COLUMN phase_threads.run_id IS 'Run.';
COMMENT ON COLUMN phase_threads.pass IS 'Pass.';
COMMENT ON COLUMN phase_threads.rank IS 'Rank.';
COMMENT ON COLUMN phase_threads.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN phase_threads.phase IS 'Phase; one that begins inside an earlier one of its thread is left out.';
COMMENT ON COLUMN phase_threads.step IS 'Step.';
COMMENT ON COLUMN phase_threads.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN phase_threads.dur_ns IS 'Wall time.';
COMMENT ON COLUMN phase_threads.thread_id IS 'That of the phase''s range, else the one with most operator time; NULL for ranges of a device''s stream and passes without operators.';
COMMENT ON COLUMN phase_threads.idle_known IS 'Whether the loop is synchronised and its device rows are attributed, so that device idle may be said.';
