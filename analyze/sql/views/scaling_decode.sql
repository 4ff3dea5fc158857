CREATE VIEW scaling_decode AS
WITH fitted AS (
    -- A run is one point: the steps inside a run follow each other and are not independent measurements.
    SELECT
        series, batch_size,
        count(*) AS points,
        count(DISTINCT decode_cached_tokens) AS contexts,
        min(decode_cached_tokens) AS shortest_tokens,
        max(decode_cached_tokens) AS longest_tokens,
        regr_slope(decode_ns, decode_cached_tokens) AS slope,
        regr_intercept(decode_ns, decode_cached_tokens) AS intercept,
        regr_r2(decode_ns, decode_cached_tokens) AS r2,
        regr_syy(decode_ns, decode_cached_tokens) AS syy,
        regr_sxx(decode_ns, decode_cached_tokens) AS sxx
    FROM scaling_points
    WHERE decode_ns IS NOT NULL AND decode_cached_tokens IS NOT NULL
    GROUP BY series, batch_size
)
SELECT
    series, batch_size, points, contexts, shortest_tokens, longest_tokens,
    CASE WHEN contexts >= 2 THEN slope END AS ns_per_cached_token,
    CASE WHEN contexts >= 2 THEN intercept END AS ns_at_empty_cache,
    CASE WHEN contexts >= 3 THEN r2 END AS r_squared,
    CASE WHEN contexts >= 3 THEN sqrt(greatest(0, (1 - r2) * syy) / (points - 2) / sxx) END AS standard_error_ns
FROM fitted;
COMMENT ON VIEW scaling_decode IS 'Latency of a decode step against cached tokens: a straight line by least squares, for each series and batch.';
COMMENT ON COLUMN scaling_decode.series IS 'Series of scaling_points.';
COMMENT ON COLUMN scaling_decode.batch_size IS 'Sequences at once.';
COMMENT ON COLUMN scaling_decode.points IS 'Runs in the fit; a run is one point.';
COMMENT ON COLUMN scaling_decode.contexts IS 'Different numbers of cached tokens among them.';
COMMENT ON COLUMN scaling_decode.shortest_tokens IS 'Fewest cached tokens.';
COMMENT ON COLUMN scaling_decode.longest_tokens IS 'Most cached tokens; the line says nothing beyond them.';
COMMENT ON COLUMN scaling_decode.ns_per_cached_token IS 'Slope: what one more cached token adds to a step; NULL below two contexts.';
COMMENT ON COLUMN scaling_decode.ns_at_empty_cache IS 'Intercept: the line''s value at an empty cache, a constant of the line and no measurement.';
COMMENT ON COLUMN scaling_decode.r_squared IS 'Share of the variance that the line explains; NULL below three contexts.';
COMMENT ON COLUMN scaling_decode.standard_error_ns IS 'Standard error of the slope from the residuals; its interval is t with points - 2 degrees of freedom; NULL below three contexts.';
