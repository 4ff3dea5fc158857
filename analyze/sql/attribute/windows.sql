-- The phases of the pass as windows of time, and how far each reaches beyond its own thread.
-- everywhere: work on every thread of the rank belongs to it by time. So for one phase over a whole trace; for the
-- profiler's own steps, which bracket the process; for our engine, whose loop does nothing else meanwhile and waits
-- for the device at both ends; and where the marks lie on one thread that itself does no work while others do (a
-- scheduler beside its worker).
CREATE OR REPLACE TEMP TABLE phase_windows AS
WITH marks AS (
    SELECT rank, thread_id, start_ns, start_ns + dur_ns AS end_ns, repeat, phase, step, source, name
    FROM phases
    WHERE run_id = $run_id AND pass = $pass AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
),
marked AS (
    SELECT rank, count(DISTINCT thread_id) AS threads, any_value(thread_id) AS thread_id
    FROM marks
    GROUP BY rank
),
working AS (
    SELECT o.rank, bool_or(o.thread_id = m.thread_id) AS marked_works, bool_or(o.thread_id <> m.thread_id) AS others_work
    FROM ops o
    JOIN marked m USING (rank)
    WHERE o.run_id = $run_id AND o.pass = $pass AND o.layer = 'operator'
        AND (lower(o.category) IN ('cpu_op', 'operator') OR NOT EXISTS (FROM marks k WHERE k.name = o.name))
    GROUP BY o.rank
)
SELECT
    marks.*,
    source IN ('annotation', 'profiler_step', 'whole_trace')
    OR coalesce(marked.threads = 1 AND NOT working.marked_works AND working.others_work, false) AS everywhere,
    source = 'annotation' OR marks.thread_id IS NULL AND source <> 'whole_trace' AS holds_device_work
FROM marks
JOIN marked USING (rank)
LEFT JOIN working USING (rank)
