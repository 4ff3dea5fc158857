-- What the driver holds for the process beyond the bytes in tensors, after the last step.
SELECT
    max(t.last_bytes) AS tensor_bytes,
    max(d.last_bytes) AS driver_bytes,
    max(d.last_bytes - t.last_bytes) AS kept_bytes,
    max(100.0 * (d.last_bytes - t.last_bytes) / d.last_bytes) AS kept_percent
FROM memory_growth t
JOIN memory_growth d USING (run_id, pass, rank, repeat, source)
WHERE run_id = $run_id AND source = 'samples' AND t.counter = 'tensor' AND d.counter = 'driver' AND d.last_bytes > 0
    AND pass = (SELECT min(pass) FROM memory_growth WHERE run_id = $run_id AND counter = 'driver' AND pass IN ('memory', 'profiled'))
