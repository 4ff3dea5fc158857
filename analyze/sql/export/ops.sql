-- Host-side slices of one pass and rank, a track for each thread and layer; arrows to the kernels that they launched.
SELECT
    coalesce(t.thread_name, t.process_name, 'thread') || CASE WHEN contains(t.thread_name, t.tid) THEN ''
        ELSE coalesce(' ' || t.tid, '') END || ' · '
        || CASE o.layer WHEN 'operator' THEN 'operators' WHEN 'python' THEN 'Python' ELSE 'annotations' END AS track,
    o.name, coalesce(o.category, o.layer) AS category, o.start_ns, o.dur_ns, o.args, k.flows
FROM ops o
LEFT JOIN threads t USING (run_id, pass, rank, thread_id)
LEFT JOIN (
    SELECT launch_op_id, list(kernel_id ORDER BY kernel_id) AS flows FROM kernels
    WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND launch_op_id IS NOT NULL
    GROUP BY launch_op_id
) k ON k.launch_op_id = o.op_id
WHERE o.run_id = $run_id AND o.pass = $pass AND o.rank = $rank
ORDER BY o.thread_id, o.layer, o.op_id
