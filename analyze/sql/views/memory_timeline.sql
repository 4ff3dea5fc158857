CREATE VIEW memory_timeline AS
SELECT
    s.run_id, s.pass, s.repeat, s.phase, s.step, s.t_ns,
    c.counter,
    c.bytes,
    c.bytes IS NOT NULL AND NOT (c.bytes = 0 AND c.counter IN ('tensor', 'driver') AND r.device = 'cpu') AS available
FROM samples s
LEFT JOIN runs r USING (run_id),
LATERAL (
    VALUES
        ('kv_cache', s.kv_cache_bytes), ('tensor', s.tensor_bytes), ('driver', s.driver_bytes),
        ('resident', s.resident_bytes), ('footprint', s.footprint_bytes), ('peak', s.peak_bytes),
        ('recommended_max', s.recommended_max_bytes)
) c (counter, bytes);
COMMENT ON VIEW memory_timeline IS 'Memory counters at phase edges, one row a counter. They count different things and do not add up.';
COMMENT ON COLUMN memory_timeline.run_id IS 'Run.';
COMMENT ON COLUMN memory_timeline.pass IS 'Pass.';
COMMENT ON COLUMN memory_timeline.repeat IS 'Repeat inside the pass.';
COMMENT ON COLUMN memory_timeline.phase IS 'before_prefill, after_prefill or after_decode.';
COMMENT ON COLUMN memory_timeline.step IS 'Step after which it was taken.';
COMMENT ON COLUMN memory_timeline.t_ns IS 'Time, from the beginning of the pass.';
COMMENT ON COLUMN memory_timeline.counter IS 'kv_cache, tensor, driver, resident, footprint, peak or recommended_max: the columns of samples.';
COMMENT ON COLUMN memory_timeline.bytes IS 'Bytes; NULL where the machine has no such counter.';
COMMENT ON COLUMN memory_timeline.available IS 'False where the counter does not exist: NULL, or the explicit zero of tensor and driver bytes on cpu.';
