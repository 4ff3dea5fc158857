-- The same steps profiled and clean: medians of both passes.
SELECT
    median(profiled_ns) FILTER (phase = 'prefill') AS prefill_profiled_ns,
    median(median_ns) FILTER (phase = 'prefill') AS prefill_clean_ns,
    median(profiled_ns / median_ns) FILTER (phase = 'prefill') AS prefill_ratio,
    median(profiled_ns) FILTER (phase = 'decode') AS decode_profiled_ns,
    median(median_ns) FILTER (phase = 'decode') AS decode_clean_ns,
    median(profiled_ns / median_ns) FILTER (phase = 'decode') AS decode_ratio,
    count(*) FILTER (phase = 'decode' AND profiled_ns IS NOT NULL) AS decode_steps
FROM step_latency
WHERE run_id = $run_id
