-- Measured KV bytes after prefill and after the last step of each run.
SELECT batch_size, cached_tokens, phase, measured_bytes, computed_bytes, verdict
FROM scaling_kv_points
WHERE series = $series
QUALIFY step = 0 OR step = max(step) OVER (PARTITION BY run_id)
ORDER BY batch_size, cached_tokens
