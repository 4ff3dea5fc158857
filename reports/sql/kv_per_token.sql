-- What one more cached token adds to the KV cache, measured: the median over neighbouring points.
WITH points AS (
    SELECT DISTINCT cached_tokens, measured_bytes FROM kv_check
    WHERE run_id = $run_id AND measured_bytes IS NOT NULL AND cached_tokens > 0
), growth AS (
    SELECT (measured_bytes - lag(measured_bytes) OVER by_tokens) / (cached_tokens - lag(cached_tokens) OVER by_tokens) AS bytes
    FROM points
    WINDOW by_tokens AS (ORDER BY cached_tokens)
)
SELECT median(bytes) AS bytes_per_token, min(bytes) AS least, max(bytes) AS most, count(bytes) AS points
FROM growth
