-- own: not what Metal recorded for other processes (see view own_device_rows).
CREATE OR REPLACE TEMP TABLE run_device AS
WITH found AS (
    SELECT pass, rank, kernel_id, name, kind, device, start_ns, dur_ns, launch_op_id, repeat, phase, step, attributed_by
    FROM kernels
    WHERE run_id = $run_id
),
queues AS (
    SELECT pass, rank, device, row_number() OVER (ORDER BY pass, rank, device)::INTEGER AS queue
    FROM (SELECT DISTINCT pass, rank, device FROM found)
),
of_others AS (
    SELECT m.kernel_id
    FROM metal_gpu_intervals m
    LEFT JOIN instruments_recordings r USING (run_id, pass, rank)
    WHERE m.run_id = $run_id AND NOT coalesce(m.pid = r.target_pid, false)
)
SELECT
    r.rank_no, q.queue, p.phase_no, k.kernel_id, k.name, k.kind, k.device, k.start_ns, k.dur_ns, k.start_ns + k.dur_ns AS end_ns,
    k.launch_op_id, k.phase, k.attributed_by, k.kind <> 'metal' OR f.kernel_id IS NULL AS own
FROM found k
JOIN run_ranks r ON r.pass = k.pass AND r.rank = k.rank
JOIN queues q ON q.pass = k.pass AND q.rank = k.rank AND q.device IS NOT DISTINCT FROM k.device
LEFT JOIN run_phases p
    ON p.rank_no = r.rank_no AND p.repeat = k.repeat AND p.phase = k.phase AND p.step = k.step
LEFT JOIN of_others f ON f.kernel_id = k.kernel_id
