-- Counters of a trace or a recording, as they were written, and the memory that Metal had allocated for each process.
SELECT track, unit, t_ns, value FROM counters
WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND value IS NOT NULL
UNION ALL
SELECT 'Metal allocated · ' || coalesce(process, 'no process'), 'bytes', start_ns, allocated_bytes::DOUBLE
FROM metal_allocated_size
WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND allocated_bytes IS NOT NULL
ORDER BY track, unit, t_ns
