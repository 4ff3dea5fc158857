-- What the CPU spent encoding work for Metal, by process and thread.
SELECT
    'encoding · ' || coalesce(thread, process, 'thread ' || tid, 'unknown thread') AS track,
    coalesce(nullif(encoder_label, ''), 'encoder') AS name, 'metal_encode' AS category, start_ns, dur_ns,
    json_object('cmdbuffer_id', cmdbuffer_id, 'encoder_id', encoder_id, 'process', process)::VARCHAR AS args,
    NULL::BIGINT[] AS flows
FROM metal_encoders
WHERE run_id = $run_id AND pass = $pass AND rank = $rank
ORDER BY start_ns
