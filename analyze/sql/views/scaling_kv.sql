CREATE VIEW scaling_kv AS
WITH ends AS (
    SELECT
        series,
        count(*) AS points,
        count(DISTINCT cached_tokens) AS lengths,
        count(DISTINCT batch_size) AS batches,
        min(cached_tokens) AS shortest_tokens,
        max(cached_tokens) AS longest_tokens,
        arg_min(sequence_bytes, cached_tokens) AS first_bytes,
        arg_max(sequence_bytes, cached_tokens) AS last_bytes,
        count(*) FILTER (verdict = 'equal') AS equal_to_computed
    FROM scaling_kv_points
    GROUP BY series
),
-- Whole numbers all the way: a point is on the line through the two ends, for every batch, or it is not.
checked AS (
    SELECT
        e.series,
        count(*) FILTER (
            p.sequence_bytes IS NULL
            OR (p.cached_tokens = e.shortest_tokens AND p.sequence_bytes <> e.first_bytes)
            OR (p.sequence_bytes - e.first_bytes)::HUGEINT * (e.longest_tokens - e.shortest_tokens)
            <> (e.last_bytes - e.first_bytes)::HUGEINT * (p.cached_tokens - e.shortest_tokens)
        ) AS off_the_line
    FROM ends e
    JOIN scaling_kv_points p USING (series)
    GROUP BY e.series
)
SELECT
    e.series, e.points, e.lengths, e.batches, e.shortest_tokens, e.longest_tokens,
    c.off_the_line,
    CASE
        WHEN e.lengths < 2 THEN 'not established'
        WHEN c.off_the_line > 0 OR e.last_bytes = e.first_bytes THEN 'does not hold'
        ELSE 'holds'
    END AS linear_in_length,
    CASE
        WHEN e.batches < 2 THEN 'not established'
        WHEN c.off_the_line > 0 THEN 'does not hold'
        ELSE 'holds'
    END AS linear_in_batch,
    CASE
        WHEN c.off_the_line = 0 AND e.lengths >= 2
            AND (e.last_bytes - e.first_bytes) % (e.longest_tokens - e.shortest_tokens) = 0
            THEN (e.last_bytes - e.first_bytes) // (e.longest_tokens - e.shortest_tokens)
    END AS bytes_per_token,
    e.first_bytes - bytes_per_token * e.shortest_tokens AS fixed_bytes,
    e.equal_to_computed
FROM ends e
JOIN checked c USING (series);
COMMENT ON VIEW scaling_kv IS 'Whether measured KV-cache bytes are linear in cached tokens and in the batch, checked on whole numbers and not fitted.';
COMMENT ON COLUMN scaling_kv.series IS 'Series of scaling_points.';
COMMENT ON COLUMN scaling_kv.points IS 'Measured points: every step of every run.';
COMMENT ON COLUMN scaling_kv.lengths IS 'Different numbers of cached tokens.';
COMMENT ON COLUMN scaling_kv.batches IS 'Different batch sizes.';
COMMENT ON COLUMN scaling_kv.shortest_tokens IS 'Fewest cached tokens.';
COMMENT ON COLUMN scaling_kv.longest_tokens IS 'Most cached tokens.';
COMMENT ON COLUMN scaling_kv.off_the_line IS 'Points whose bytes of one sequence are not exactly on the line through the shortest and the longest.';
COMMENT ON COLUMN scaling_kv.linear_in_length IS 'holds, does not hold, or not established with fewer than two lengths. A static or sliding cache does not grow linearly.';
COMMENT ON COLUMN scaling_kv.linear_in_batch IS 'holds (every sequence costs the same in every batch), does not hold, or not established with one batch size.';
COMMENT ON COLUMN scaling_kv.bytes_per_token IS 'Bytes that one more cached token of one sequence takes; NULL where growth is not linear.';
COMMENT ON COLUMN scaling_kv.fixed_bytes IS 'Bytes of one sequence that do not grow with tokens: the line at no token; 0 where the cache is proportional to its tokens.';
COMMENT ON COLUMN scaling_kv.equal_to_computed IS 'Points that equal the bytes computed from the architecture.';
