-- The ranges whose names are marks.
SELECT o.rank, o.thread_id, o.start_ns, o.start_ns + o.dur_ns AS end_ns, o.name
FROM ops o
JOIN mark_names USING (name)
WHERE o.run_id = $run_id AND o.pass = $pass AND o.layer IN ('annotation', 'operator')
ORDER BY o.rank, o.thread_id, o.start_ns, end_ns DESC, o.depth
