-- Device rows of one pass and rank, a track for each device and stream, and on Metal for each process, the recorded one first.
SELECT
    'GPU ' || coalesce(k.device, '?') || ' · ' || if(k.kind = 'metal', '', 'stream ') || coalesce(k.stream, '?')
        || CASE WHEN k.kind <> 'metal' THEN '' ELSE ' · ' || coalesce(k.process, 'no process') END AS track,
    k.name, k.kind AS category, k.start_ns, k.dur_ns,
    json_object(
        'phase', k.phase, 'step', k.step, 'attributed_by', k.attributed_by, 'correlation_id', k.correlation_id,
        'launch_delay_ns', k.launch_delay_ns, 'bytes', k.bytes, 'queueing_ns', m.start_latency_ns,
        'cmdbuffer_id', m.cmdbuffer_id, 'encoder_id', m.encoder_id
    )::VARCHAR AS args,
    CASE WHEN k.launch_op_id IS NOT NULL THEN [k.kernel_id] END AS flows
FROM kernels k
LEFT JOIN metal_gpu_intervals m USING (run_id, pass, rank, kernel_id)
LEFT JOIN instruments_recordings r USING (run_id, pass, rank)
WHERE k.run_id = $run_id AND k.pass = $pass AND k.rank = $rank
ORDER BY m.pid IS DISTINCT FROM r.target_pid, k.device, k.stream, k.start_ns, k.kernel_id
