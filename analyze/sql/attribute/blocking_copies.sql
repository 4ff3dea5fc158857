-- A copy that returned after the device had done it blocked the host, whatever its name says (cudaMemcpyAsync does from
-- pageable memory). Where earlier work of the device ended only after most of that time, the call was a wait, not a copy.
UPDATE ops
SET role = 'synchronisation'
WHERE run_id = $run_id AND pass = $pass AND role = 'copy'
    AND op_id IN (
        SELECT o.op_id
        FROM ops o
        JOIN (
            SELECT
                launch_op_id, start_ns, start_ns + dur_ns AS end_ns,
                max(start_ns + dur_ns) OVER (
                    PARTITION BY rank, device ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS busy_until_ns
            FROM kernels
            WHERE run_id = $run_id AND pass = $pass
                -- without a copy there is nothing to put in order
                AND EXISTS (FROM ops WHERE run_id = $run_id AND pass = $pass AND role = 'copy')
        ) k ON k.launch_op_id = o.op_id
        WHERE o.run_id = $run_id AND o.pass = $pass AND o.role = 'copy'
            AND k.end_ns <= o.start_ns + o.dur_ns
            AND k.busy_until_ns IS NOT NULL AND 2 * (least(k.busy_until_ns, k.start_ns) - o.start_ns) > o.dur_ns
    )
