-- Samples in which each counter holds the one before it: KV cache, tensors, driver memory, physical footprint of the process.
WITH rungs AS (
    SELECT s.kv_cache_bytes AS kv, s.tensor_bytes AS tensor, s.driver_bytes AS driver, s.footprint_bytes AS footprint
    FROM samples s
    JOIN runs r USING (run_id)
    WHERE s.run_id = $run_id AND r.device <> 'cpu' AND s.phase <> 'before_prefill'
        AND s.tensor_bytes IS NOT NULL AND s.driver_bytes IS NOT NULL
)
SELECT
    count(*) AS samples,
    count(*) FILTER (kv > tensor) AS kv_above_tensors,
    count(*) FILTER (tensor > driver) AS tensors_above_driver,
    count(*) FILTER (driver > footprint) AS driver_above_footprint,
    count(*) FILTER (kv > 1.01 * tensor) AS kv_above_tensors_by_1_percent,
    count(*) FILTER (tensor > 1.01 * driver) AS tensors_above_driver_by_1_percent,
    count(*) FILTER (driver > 1.01 * footprint) AS driver_above_footprint_by_1_percent,
    count(footprint) AS with_footprint,
    max(kv) AS kv_bytes, max(tensor) AS tensor_bytes, max(driver) AS driver_bytes, max(footprint) AS footprint_bytes
FROM rungs
