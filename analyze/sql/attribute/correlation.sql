-- A device row belongs to the call with its correlation id: one launch to many rows under graphs. 0 is no id.
UPDATE kernels
SET launch_op_id = called.op_id, launch_delay_ns = kernels.start_ns - called.start_ns,
    repeat = called.repeat, phase = called.phase, step = called.step, attributed_by = 'correlation'
FROM (
    SELECT DISTINCT ON (rank, correlation_id) rank, correlation_id, op_id, start_ns, repeat, phase, step
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND role <> 'operator' AND correlation_id <> 0
    ORDER BY rank, correlation_id, role NOT IN ('launch', 'copy'), start_ns
) called
WHERE kernels.run_id = $run_id AND kernels.pass = $pass
    AND kernels.rank = called.rank AND kernels.correlation_id = called.correlation_id
