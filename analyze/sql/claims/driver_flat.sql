-- Bytes that the driver holds, from after prefill to after the last decode step, beside the growth of the cache.
WITH edges AS (
    SELECT repeat, step, driver_bytes, kv_cache_bytes
    FROM samples s
    JOIN runs r USING (run_id)
    WHERE s.run_id = $run_id AND s.phase IN ('after_prefill', 'after_decode') AND r.device <> 'cpu'
        AND s.pass = (SELECT min(pass) FROM samples WHERE run_id = $run_id AND pass IN ('memory', 'profiled') AND driver_bytes IS NOT NULL)
),
repeats AS (
    SELECT
        repeat,
        arg_max(driver_bytes, step) - arg_min(driver_bytes, step) AS driver_growth,
        max(driver_bytes) - min(driver_bytes) AS driver_range,
        arg_max(kv_cache_bytes, step) - arg_min(kv_cache_bytes, step) AS kv_growth,
        min(driver_bytes) AS driver_least,
        count(driver_bytes) AS samples
    FROM edges
    GROUP BY repeat
)
SELECT
    sum(samples)::BIGINT AS samples,
    max(driver_growth) AS driver_growth_bytes,
    max(driver_range) AS driver_range_bytes,
    max(kv_growth) AS kv_growth_bytes,
    min(driver_least) AS driver_bytes
FROM repeats
