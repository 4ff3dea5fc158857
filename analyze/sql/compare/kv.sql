-- Bytes in the KV cache after each call, measured and computed.
SELECT DISTINCT cached_tokens, measured_bytes, computed_bytes, verdict
FROM kv_check
WHERE run_id = $run_id AND measured_bytes IS NOT NULL AND cached_tokens IS NOT NULL
ORDER BY cached_tokens
