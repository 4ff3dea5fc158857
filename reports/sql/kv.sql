-- KV-cache bytes: measured in the cache object, and computed from the architecture.
SELECT DISTINCT phase, step, cached_tokens, measured_bytes, computed_bytes, measured_bytes - computed_bytes AS difference_bytes, verdict
FROM kv_check
WHERE run_id = $run_id
ORDER BY cached_tokens, step
