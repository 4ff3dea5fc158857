-- Slope of the clean step latency against cached tokens, with its 95 % interval, and what it adds up to over the run.
SELECT
    100 * slope_ns_per_token * (last_cached_tokens - first_cached_tokens) / others_median_ns AS change_percent,
    100 * slope_low_ns_per_token * (last_cached_tokens - first_cached_tokens) / others_median_ns AS change_low_percent,
    100 * slope_high_ns_per_token * (last_cached_tokens - first_cached_tokens) / others_median_ns AS change_high_percent,
    last_cached_tokens - first_cached_tokens AS added_tokens,
    steps, slope_ns_per_token, slope_low_ns_per_token, slope_high_ns_per_token, first_step_ratio,
    (SELECT min(cpu_percent) FROM clean_cpu WHERE run_id = $run_id AND busy_elsewhere) AS busy_cpu_percent
FROM decode_trend
WHERE run_id = $run_id
