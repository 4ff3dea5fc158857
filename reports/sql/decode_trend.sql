-- Clean latency of a decode step against cached tokens: slope with its 95 % interval, and the first step against the others.
SELECT steps, first_cached_tokens, last_cached_tokens, slope_ns_per_token, slope_low_ns_per_token, slope_high_ns_per_token,
    intercept_ns, verdict, first_step_ns, others_median_ns, first_step_ratio
FROM decode_trend
WHERE run_id = $run_id
