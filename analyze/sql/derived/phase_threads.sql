-- The thread whose time a phase is: its own; for a phase that a timer or the whole trace gave, the rank's busiest; none for a range of
-- a device's stream and in a pass without operators. A phase that begins inside an earlier one of its thread is left out.
INSERT INTO phase_threads
WITH traced AS (SELECT rank_no, thread_id, sum(self_ns) AS busy_ns FROM run_host GROUP BY ALL),
main_thread AS (SELECT rank_no, arg_max(thread_id, (busy_ns, -thread_id)) AS thread_id FROM traced GROUP BY rank_no),
device_ranks AS (SELECT DISTINCT rank_no FROM run_device),
placed AS (
    SELECT
        p.pass, p.rank, p.repeat, p.phase, p.step, p.start_ns, p.dur_ns,
        CASE
            WHEN m.rank_no IS NULL THEN NULL
            WHEN p.thread_id IS NOT NULL THEN p.thread_id
            WHEN p.source IN ('timer', 'whole_trace') THEN m.thread_id
        END AS thread_id,
        coalesce(e.synchronised AND e.established, false) AS idle_known
    FROM run_phases p
    LEFT JOIN main_thread m USING (rank_no)
    LEFT JOIN device_ranks d USING (rank_no)
    LEFT JOIN (FROM device_extent WHERE run_id = $run_id) e USING (pass, rank, repeat, phase, step)
    WHERE p.start_ns IS NOT NULL AND p.dur_ns > 0 AND (m.rank_no IS NOT NULL OR d.rank_no IS NOT NULL)
)
SELECT $run_id, *
FROM placed
QUALIFY start_ns >= coalesce(max(start_ns + dur_ns) OVER (
    PARTITION BY pass, rank, thread_id ORDER BY start_ns, dur_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
), start_ns)
