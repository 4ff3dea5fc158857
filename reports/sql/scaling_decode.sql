-- Decode against cached tokens: a straight line by least squares, a run a point, for each batch size.
SELECT
    batch_size, points, contexts, shortest_tokens, longest_tokens, ns_per_cached_token, standard_error_ns,
    ns_at_empty_cache, r_squared
FROM scaling_decode
WHERE series = $series
ORDER BY batch_size
