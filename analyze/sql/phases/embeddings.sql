-- Calls of aten::embedding with recorded shapes, and where the work of their thread ends.
WITH ends AS (
    SELECT rank, thread_id, max(start_ns + dur_ns) AS end_ns
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND layer = 'operator'
    GROUP BY ALL
)
SELECT o.rank, o.thread_id, o.start_ns, e.end_ns, o.shapes
FROM ops o
JOIN ends e USING (rank, thread_id)
WHERE o.run_id = $run_id AND o.pass = $pass AND o.name = 'aten::embedding' AND o.shapes IS NOT NULL
ORDER BY o.rank, o.thread_id, o.start_ns
