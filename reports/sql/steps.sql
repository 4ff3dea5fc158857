-- Clean latency of every step over the repeats; profiled_ns is the same step with the profiler on, only to compare.
SELECT phase, step, cached_tokens, repeats, median_ns, p5_ns, p95_ns, min_ns, max_ns, cpu_percent, profiled_ns
FROM step_latency
WHERE run_id = $run_id
ORDER BY phase = 'prefill' DESC, phase, step
