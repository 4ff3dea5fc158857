CREATE VIEW memory_ladder AS
WITH samples_at AS (
    SELECT s.run_id, s.pass, s.repeat, s.phase, s.step, s.t_ns, p.cached_tokens, k.computed_bytes AS kv_computed_bytes,
           s.kv_cache_bytes,
           -- A device without counters of its own writes zeros.
           CASE WHEN r.device IN ('mps', 'cuda') THEN s.tensor_bytes END AS tensor_bytes,
           CASE WHEN r.device IN ('mps', 'cuda') THEN s.driver_bytes END AS driver_bytes,
           s.footprint_bytes, s.resident_bytes
    FROM samples s
    LEFT JOIN runs r USING (run_id)
    LEFT JOIN phases p ON p.run_id = s.run_id AND p.pass = s.pass AND p.repeat = s.repeat AND p.step = s.step
     AND s.phase = 'after_' || p.phase AND p.rank = 0
    LEFT JOIN kv_expected k ON k.run_id = s.run_id AND k.cached_tokens = p.cached_tokens
)
SELECT *, driver_bytes - tensor_bytes AS allocator_kept_bytes,
       CASE WHEN kv_computed_bytes > tensor_bytes THEN 'does not hold: KV by architecture is over live tensors'
            WHEN tensor_bytes > driver_bytes THEN 'does not hold: live tensors are over driver memory'
            WHEN driver_bytes > footprint_bytes THEN 'does not hold: driver memory is over the footprint'
            WHEN tensor_bytes IS NULL OR driver_bytes IS NULL OR footprint_bytes IS NULL OR kv_computed_bytes IS NULL
                THEN 'not established'
            ELSE 'holds' END AS verdict
FROM samples_at;
COMMENT ON VIEW memory_ladder IS 'Memory on a Mac as a ladder: KV by architecture <= live tensors <= driver memory <= physical footprint of the process.';
COMMENT ON COLUMN memory_ladder.run_id IS 'Run.';
COMMENT ON COLUMN memory_ladder.pass IS 'Pass.';
COMMENT ON COLUMN memory_ladder.repeat IS 'Repeat.';
COMMENT ON COLUMN memory_ladder.phase IS 'before_prefill, after_prefill or after_decode.';
COMMENT ON COLUMN memory_ladder.step IS 'Step.';
COMMENT ON COLUMN memory_ladder.t_ns IS 'Time, from the beginning of the pass.';
COMMENT ON COLUMN memory_ladder.cached_tokens IS 'Tokens in the cache of one sequence; NULL before there are any.';
COMMENT ON COLUMN memory_ladder.kv_computed_bytes IS 'What the architecture asks for the cache.';
COMMENT ON COLUMN memory_ladder.kv_cache_bytes IS 'What the cache holds, measured.';
COMMENT ON COLUMN memory_ladder.tensor_bytes IS 'In live tensors on the device; NULL where the device has no counter.';
COMMENT ON COLUMN memory_ladder.driver_bytes IS 'Held by the driver for the process, pools included; NULL where the device has no counter.';
COMMENT ON COLUMN memory_ladder.footprint_bytes IS 'What macOS charges to the process (phys_footprint); NULL elsewhere.';
COMMENT ON COLUMN memory_ladder.resident_bytes IS 'Resident set, which leaves out most GPU memory on a Mac.';
COMMENT ON COLUMN memory_ladder.allocator_kept_bytes IS 'driver_bytes less tensor_bytes: kept by the allocator and used by no tensor. MPS keeps a buffer for every distinct KV shape.';
COMMENT ON COLUMN memory_ladder.verdict IS 'holds, does not hold (with the rung), or not established (a rung is missing).';
