-- How the computed bytes come about, for the last number of cached tokens, or why there are none.
SELECT cached_tokens, computed_bytes, reason
FROM kv_expected
WHERE run_id = $run_id
ORDER BY cached_tokens DESC
LIMIT 1
