CREATE VIEW scaling_prefill AS
WITH fitted AS (
    -- Least squares on log-log axes: ln(prefill_ns) = ln_ns_at_one_token + exponent * ln(prompt_tokens).
    SELECT
        series, batch_size,
        count(*) AS points,
        count(DISTINCT prompt_tokens) AS lengths,
        min(prompt_tokens) AS shortest_tokens,
        max(prompt_tokens) AS longest_tokens,
        regr_slope(ln(prefill_ns), ln(prompt_tokens)) AS slope,
        regr_intercept(ln(prefill_ns), ln(prompt_tokens)) AS intercept,
        regr_r2(ln(prefill_ns), ln(prompt_tokens)) AS r2,
        regr_syy(ln(prefill_ns), ln(prompt_tokens)) AS syy,
        regr_sxx(ln(prefill_ns), ln(prompt_tokens)) AS sxx
    FROM scaling_points
    WHERE prefill_ns > 0 AND prompt_tokens > 0
    GROUP BY series, batch_size
)
SELECT
    series, batch_size, points, lengths, shortest_tokens, longest_tokens,
    CASE WHEN lengths >= 2 THEN slope END AS exponent,
    CASE WHEN lengths >= 2 THEN intercept END AS ln_ns_at_one_token,
    CASE WHEN lengths >= 3 THEN r2 END AS r_squared,
    CASE WHEN lengths >= 3 THEN sqrt(greatest(0, (1 - r2) * syy) / (points - 2) / sxx) END AS standard_error
FROM fitted;
COMMENT ON VIEW scaling_prefill IS 'Prefill latency against prompt length: a power law fitted by least squares on log-log axes, for each series and batch.';
COMMENT ON COLUMN scaling_prefill.series IS 'Series of scaling_points.';
COMMENT ON COLUMN scaling_prefill.batch_size IS 'Sequences at once.';
COMMENT ON COLUMN scaling_prefill.points IS 'Runs in the fit.';
COMMENT ON COLUMN scaling_prefill.lengths IS 'Different prompt lengths among them.';
COMMENT ON COLUMN scaling_prefill.shortest_tokens IS 'Shortest prompt.';
COMMENT ON COLUMN scaling_prefill.longest_tokens IS 'Longest prompt; the fit says nothing beyond it.';
COMMENT ON COLUMN scaling_prefill.exponent IS 'Fitted exponent: 1 is linear in the prompt, 2 quadratic; NULL below two lengths.';
COMMENT ON COLUMN scaling_prefill.ln_ns_at_one_token IS 'Natural logarithm of the fitted nanoseconds at one token; the other constant of the line, no prediction.';
COMMENT ON COLUMN scaling_prefill.r_squared IS 'Share of the variance on log-log axes that the line explains; NULL below three lengths.';
COMMENT ON COLUMN scaling_prefill.standard_error IS 'Standard error of the exponent from the residuals; its interval is t with points - 2 degrees of freedom; NULL below three lengths.';
