-- Does a decode step get slower as the cache grows? Least squares over the medians of the steps (clean pass), the first step
-- left out because it is compared with the others. Standard error and interval: of the slope in simple linear regression with
-- n - 2 degrees of freedom. Quantile of Student's t at 97.5 %: the expansion in 1/n of Abramowitz and Stegun, Handbook of
-- Mathematical Functions (1964), 26.7.5, with z = 1.959964; off by less than 0.2 % from 5 degrees of freedom on.
CREATE VIEW decode_trend AS
WITH points AS (
    SELECT run_id, step, cached_tokens, median_ns, repeats, step = min(step) OVER (PARTITION BY run_id) AS is_first
    FROM step_latency
    WHERE phase = 'decode' AND cached_tokens IS NOT NULL
),
fit AS (
    SELECT
        run_id,
        count(*) AS steps,
        sum(repeats)::BIGINT AS measurements,
        min(cached_tokens) AS first_cached_tokens,
        max(cached_tokens) AS last_cached_tokens,
        regr_slope(median_ns, cached_tokens) AS slope_ns_per_token,
        regr_intercept(median_ns, cached_tokens) AS intercept_ns,
        regr_r2(median_ns, cached_tokens) AS r2,
        sqrt(greatest(0, regr_syy(median_ns, cached_tokens)
            - regr_sxy(median_ns, cached_tokens) ** 2 / nullif(regr_sxx(median_ns, cached_tokens), 0))
            / nullif(count(*) - 2, 0) / nullif(regr_sxx(median_ns, cached_tokens), 0)) AS stderr_ns_per_token,
        count(*) - 2 AS degrees_of_freedom,
        median(median_ns) AS others_median_ns
    FROM points
    WHERE NOT is_first
    GROUP BY run_id
),
bounded AS (
    SELECT
        *,
        CASE WHEN degrees_of_freedom >= 5 THEN
            1.959964 + 2.372272 / degrees_of_freedom + 2.822499 / degrees_of_freedom ** 2
            + 2.555852 / degrees_of_freedom ** 3 + 1.589534 / degrees_of_freedom ** 4
        END AS t_quantile
    FROM fit
)
SELECT
    b.run_id, b.steps, b.measurements, b.first_cached_tokens, b.last_cached_tokens, b.slope_ns_per_token, b.intercept_ns, b.r2,
    b.stderr_ns_per_token, b.degrees_of_freedom, b.t_quantile,
    b.slope_ns_per_token - b.t_quantile * b.stderr_ns_per_token AS slope_low_ns_per_token,
    b.slope_ns_per_token + b.t_quantile * b.stderr_ns_per_token AS slope_high_ns_per_token,
    CASE
        WHEN b.t_quantile IS NULL OR b.stderr_ns_per_token IS NULL THEN 'not established'
        WHEN b.slope_ns_per_token - b.t_quantile * b.stderr_ns_per_token > 0 THEN 'slower'
        WHEN b.slope_ns_per_token + b.t_quantile * b.stderr_ns_per_token < 0 THEN 'faster'
        ELSE 'no trend seen'
    END AS verdict,
    f.median_ns AS first_step_ns,
    b.others_median_ns,
    f.median_ns / nullif(b.others_median_ns, 0) AS first_step_ratio
FROM bounded b
LEFT JOIN points f ON f.run_id = b.run_id AND f.is_first;
COMMENT ON VIEW decode_trend IS 'Clean decode latency against cached tokens: slope with its 95 % interval, and the first step against the others. One row a run.';
COMMENT ON COLUMN decode_trend.run_id IS 'Run.';
COMMENT ON COLUMN decode_trend.steps IS 'Steps in the fit: all decode steps but the first, each by its median over the repeats.';
COMMENT ON COLUMN decode_trend.measurements IS 'Measurements behind these medians.';
COMMENT ON COLUMN decode_trend.first_cached_tokens IS 'Cached tokens of the first step in the fit.';
COMMENT ON COLUMN decode_trend.last_cached_tokens IS 'Cached tokens of the last step.';
COMMENT ON COLUMN decode_trend.slope_ns_per_token IS 'Change of the step''s latency for each cached token more.';
COMMENT ON COLUMN decode_trend.intercept_ns IS 'Latency that the line has at no cached tokens: an extrapolation.';
COMMENT ON COLUMN decode_trend.r2 IS 'Share of the variance that the line explains, 0 to 1.';
COMMENT ON COLUMN decode_trend.stderr_ns_per_token IS 'Standard error of the slope.';
COMMENT ON COLUMN decode_trend.degrees_of_freedom IS 'steps less 2.';
COMMENT ON COLUMN decode_trend.t_quantile IS 'Quantile 97.5 % of Student''s t for these degrees of freedom; NULL below 5.';
COMMENT ON COLUMN decode_trend.slope_low_ns_per_token IS 'Lower end of the slope''s 95 % interval; steps of one run share its noise, so it may be too narrow.';
COMMENT ON COLUMN decode_trend.slope_high_ns_per_token IS 'Upper end of it.';
COMMENT ON COLUMN decode_trend.verdict IS 'slower or faster where the interval leaves out zero, no trend seen where it holds zero, not established under 7 steps.';
COMMENT ON COLUMN decode_trend.first_step_ns IS 'Median latency of the first decode step.';
COMMENT ON COLUMN decode_trend.others_median_ns IS 'Median over the medians of the other steps.';
COMMENT ON COLUMN decode_trend.first_step_ratio IS 'The first over the others.';
