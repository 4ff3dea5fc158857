-- Growth of the cache for each token more, from step to step.
WITH points AS (
    SELECT cached_tokens, max(measured_bytes) AS bytes
    FROM kv_check
    WHERE run_id = $run_id AND measured_bytes IS NOT NULL AND cached_tokens IS NOT NULL
    GROUP BY cached_tokens
),
growth AS (
    SELECT
        cached_tokens, bytes,
        (bytes - lag(bytes) OVER w) / (cached_tokens - lag(cached_tokens) OVER w) AS bytes_per_token
    FROM points
    WINDOW w AS (ORDER BY cached_tokens)
)
SELECT
    count(*) AS points,
    min(cached_tokens) AS first_cached_tokens,
    max(cached_tokens) AS last_cached_tokens,
    min(bytes_per_token) AS least_growth_bytes,
    max(bytes_per_token) AS most_growth_bytes,
    arg_min(bytes, cached_tokens) / min(cached_tokens) AS first_average_bytes
FROM growth
